from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.executor_leaving import (
    HOLDS_ONLY_COPY,
    RUNS_A_TASK,
    Leave,
    Waiting,
    free_to_go,
)
from penstock.engine.executors import Executor


def some(*names: str, running_tasks: int = 0) -> dict[str, Executor]:
    return {name: Executor(name, "host", 1, running_tasks) for name in names}


def test_one_that_runs_a_task_stays() -> None:
    leaving = [*some("1").values(), *some("2", running_tasks=1).values()]
    assert free_to_go(leaving, {}) == Leave(("1",), {"2": RUNS_A_TASK})


def test_a_copy_on_one_that_is_already_going_is_none() -> None:
    leaving = some("2").values()
    assert free_to_go(leaving, {"rdd_1_0": {"1", "2"}}) == Leave(("2",), {})
    assert free_to_go(leaving, {"rdd_1_0": {"1", "2"}}, gone={"1"}) == Leave(
        (), {"2": HOLDS_ONLY_COPY}
    )


names = st.sampled_from("0123456")


@given(
    st.sets(names),
    st.dictionaries(st.text("ab", max_size=3), st.sets(names, min_size=1), max_size=8),
    st.sets(names),
)
def test_no_cached_block_is_ever_lost(
    leaving: set[str], cached: dict[str, set[str]], busy: set[str]
) -> None:
    executors = [Executor(each, "host", 1, running_tasks=int(each in busy)) for each in leaving]
    leave = free_to_go(executors, cached)
    going = set(leave.free)
    assert going | set(leave.kept) == leaving
    assert {each for each, why in leave.kept.items() if why == RUNS_A_TASK} == leaving & busy
    assert going <= leaving - busy
    assert all(holders - going for holders in cached.values())
    # Whoever holds nothing and runs nothing goes.
    held = set().union(*cached.values()) if cached else set()
    assert leaving - busy - held <= going


def test_patience_is_of_each_executor_by_itself() -> None:
    waiting = Waiting(patience_seconds=10)
    assert waiting.overdue({"1"}, now=0) == frozenset()
    assert waiting.overdue({"1", "2"}, now=10) == {"1"}
    assert waiting.overdue({"2"}, now=15) == frozenset()
    assert waiting.overdue({"1", "2"}, now=20) == {"2"}  # the first stayed, and leaves anew
