"""Which runs count as Penstock's own."""

from __future__ import annotations

from penstock.engine import own_queries
from penstock.engine.own_queries import is_own, note_ended, note_own


def test_a_run_is_known_while_it_runs_and_for_its_last_reports() -> None:
    note_own("own run")
    assert (is_own("own run"), is_own("another's")) == (True, False)
    note_ended("own run")
    assert is_own("own run")


def test_runs_that_ended_long_ago_are_forgotten() -> None:
    note_own("lives")
    for number in range(own_queries._ENDED_KEPT + 1):
        note_own(f"ended {number}")
        note_ended(f"ended {number}")
        note_ended(f"never known {number}")
    assert (is_own("ended 0"), is_own("ended 1"), is_own("lives")) == (False, True, True)
    assert not is_own("never known 1000")
    note_ended("lives")
    assert not any(run.startswith("ended") for run in own_queries._running)
