from __future__ import annotations

import pytest

from penstock.engine.executors import Executor
from penstock.engine.warming import what_is_missing


@pytest.mark.parametrize("ran_on", [["7"], ["7", "3", "3"], ["7", "7", "3"]])
def test_an_executor_is_not_ready_after_some_of_its_tasks(ran_on: list[str]) -> None:
    assert what_is_missing(Executor("7", "host", slots=3), ran_on) is not None


def test_an_executor_is_ready_after_as_many_tasks_as_it_has_slots() -> None:
    assert what_is_missing(Executor("7", "host", slots=3), ["7", "7", "7"]) is None
