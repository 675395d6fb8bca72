"""How busy an operator is said to be."""

from __future__ import annotations

from math import inf

import pytest

from penstock.dashboard.pages.topology import busy_of
from penstock.dashboard.sections import Shown
from penstock.history import operator_tables
from penstock.history.query_history import QueryHistory
from penstock.history.quick_lines import BatchNumbers, ObservedNumbers, OperatorNumbers


def busy(tasks: int, busy_seconds: float, slots: int) -> float:
    query = QueryHistory()
    for second in range(1, 11):
        mean = busy_seconds / tasks
        operator = OperatorNumbers("score", 1, 1, tasks, busy_seconds, mean, mean)
        seen = ObservedNumbers(second, slots, float(second), 1.0, 1.0, [operator])
        query.finish_batch(float(second), BatchNumbers(seen))
    return busy_of(Shown(query, "j", -inf, inf, 11.0), "score").utilisation


def test_tasks_with_a_slot_each_are_busy_for_their_part_of_the_time() -> None:
    assert busy(tasks=2, busy_seconds=1.0, slots=4) == pytest.approx(0.5)


def test_more_tasks_than_slots_that_keep_all_slots_busy_are_never_idle() -> None:
    assert busy(tasks=200, busy_seconds=4.0, slots=4) == pytest.approx(1.0)


def test_batches_that_were_put_together_count_as_many_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operator_tables, "_MOST_CELLS", 200)
    query = QueryHistory()
    for second in range(1, 201):
        # Six of ten ran in two tasks, one of which took twice the mean; the newest in four.
        tasks, slowest = (2, 0.4) if second <= 120 else (4, 0.2)
        operator = OperatorNumbers("score", 1, 1, tasks, 0.2 * tasks, slowest, 0.2)
        seen = ObservedNumbers(second, 4, float(second), 1.0, 1.0, [operator])
        query.finish_batch(float(second), BatchNumbers(seen))
    found = busy_of(Shown(query, "j", -inf, inf, 201.0), "score")
    assert found.tasks == pytest.approx(2.8)
    assert found.imbalance == pytest.approx(1.6)
