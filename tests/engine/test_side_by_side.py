from __future__ import annotations

import threading

import pytest

from penstock.engine.execution import run_jobs
from penstock.topology.jobs import Job


def job(name: str, *after: str) -> Job:
    return Job(name, writes=True, operators=(name,), after=after)


def test_jobs_that_wait_for_nothing_run_at_the_same_time_and_others_after_them() -> None:
    """a and b can only pass the barrier together; c comes when both are done."""
    together = threading.Barrier(2, timeout=30)
    order: list[str] = []
    cancelled: list[Job] = []

    def run(current: Job) -> None:
        if current.name in ("a", "b"):
            together.wait()
        order.append(current.name)

    run_jobs([job("a"), job("b"), job("c", "a", "b")], run, cancelled.append)
    assert sorted(order[:2]) == ["a", "b"]
    assert order[2:] == ["c"]
    assert cancelled == []


def test_a_failure_cancels_the_others_and_is_raised_when_they_have_ended() -> None:
    """b ends only when it is cancelled."""
    b_may_end, seen = threading.Event(), []

    def run(current: Job) -> None:
        if current.name == "a":
            raise ValueError("a broke")
        assert b_may_end.wait(30)
        seen.append(current.name)

    def cancel(current: Job) -> None:
        assert current.name == "b"
        b_may_end.set()

    with pytest.raises(ValueError, match="a broke"):
        run_jobs([job("a"), job("b"), job("c", "a"), job("d", "b")], run, cancel)
    assert seen == ["b"]


def test_a_line_of_jobs_stays_in_the_calling_thread() -> None:
    threads = []
    run_jobs(
        [job("a"), job("b", "a")],
        lambda _: threads.append(threading.current_thread()),
        lambda _: None,
    )
    assert threads == [threading.current_thread()] * 2
