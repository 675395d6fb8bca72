"""Rows go to the task that had the least to do: on Spark, over batches and changing tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame

import penstock as ps
from penstock.engine.placing import Placing
from penstock.engine.python_step import Tally
from penstock.topology.components import Components

SIZE, BATCHES = 90, 6


def task_of(row: dict[str, Any]) -> dict[str, Any]:
    context = TaskContext.get()
    assert context is not None
    return {"id": row["id"], "task": context.partitionId()}


class Restless:
    """A policy that asks for another number of tasks after every batch."""

    def __init__(self) -> None:
        self._numbers = iter([2, 4, 1, 3] * 9)

    def decide(self, observation: ps.Observation) -> ps.Decision:
        return ps.Decision(next(self._numbers), "a number of the list")


@pytest.mark.parametrize("placement", [ps.LeastLoaded(), ps.KeyGroups()])
def test_no_row_is_lost_or_doubled_while_the_number_of_tasks_changes(
    feed: Callable[..., DataFrame], finish: Callable[..., ps.Query], placement: ps.Placement
) -> None:
    tables = [pa.table({"id": list(range(n * SIZE, (n + 1) * SIZE))}) for n in range(BATCHES)]
    sink = ps.sinks.memory()
    s = ps.Stream.read(feed(tables, 2)).map(task_of, "id bigint, task int", name="slow")
    finish(s.to(sink), placement=placement, policy=Restless())
    assert sorted(row.id for row in sink.rows()) == list(range(SIZE * BATCHES))
    assert set(Counter(row.task for row in sink.rows())) == {0, 1, 2, 3}


def test_the_task_that_had_least_gets_the_next_rows(
    feed: Callable[..., DataFrame], finish: Callable[..., ps.Query]
) -> None:
    """Equation 5 on what tasks measured: 60, 20 and 40 rows of 10 ms in an interval of a second."""
    df = feed([pa.table({"id": list(range(SIZE))})], 1)
    s = ps.Stream.read(df).map(task_of, "id bigint, task int", name="slow")
    query = finish(s.to(ps.sinks.memory()))
    topology = query.topology
    placing = Placing(ps.LeastLoaded(), topology, Components(topology), {})
    tallies = [Tally(rows_in=rows, busy_nanos=rows * 10_000_000) for rows in (60, 20, 40)]
    placing.learn({"slow": tallies}, {})
    learnt = placing._by_load["slow"]
    assert learnt.utilisations == pytest.approx((0.6, 0.2, 0.4))
    assert learnt.execution_seconds == pytest.approx(0.01)
