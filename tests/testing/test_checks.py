"""The checks pass what keeps its promise, and catch what does not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps
from penstock.testing import check_aggregate, check_policy, check_sink


def test_sinks_of_our_own_pass(spark: SparkSession, tmp_path: Path) -> None:
    where = str(tmp_path / "out")
    memory = ps.sinks.memory()
    check_sink(memory, memory.rows, spark=spark)
    check_sink(ps.sinks.parquet(where), lambda: spark.read.parquet(where), spark=spark)


class Appending:
    """Forgets that a batch may come twice."""

    def __init__(self) -> None:
        self.held: list[Row] = []

    def open(self, query_id: str) -> None:
        pass

    def write(self, df: DataFrame, batch_id: int) -> None:
        self.held += df.collect()

    def describe(self) -> str:
        return "appending()"


class Swallowing(Appending):
    """Hides that a batch failed."""

    def write(self, df: DataFrame, batch_id: int) -> None:
        try:
            rows = df.collect()
        except Exception:
            return
        self.held = [row for row in self.held if row not in rows] + rows


class Forgetful(Swallowing):
    """Loses all when it is opened again."""

    def open(self, query_id: str) -> None:
        self.held = []


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        (Appending(), "batch 1 came a second time"),
        (Forgetful(), "the sink was opened again"),
        (Swallowing(), "took a batch whose rows could not be computed"),
        (print, "is no sink"),
    ],
)
def test_a_sink_that_breaks_the_promise_is_caught(
    spark: SparkSession, sink: Any, message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check_sink(sink, lambda: sink.held, spark=spark)


@pytest.mark.parametrize(
    "make",
    [ps.Static, lambda: ps.Fuzzy(interval=1), lambda: ps.ReplicaPool(interval=1), ps.QLearning],
)
def test_policies_of_our_own_pass(make: Any) -> None:
    check_policy(make)


class Erratic:
    def decide(self, observation: ps.Observation) -> ps.Decision:
        return ps.Decision(random.SystemRandom().randint(1, 1_000), "as the dice fall")


class Greedy:
    def decide(self, observation: ps.Observation) -> ps.Decision:
        return ps.Decision(1, "one slot", tasks={"parse": 4})


class Silent:
    def decide(self, observation: ps.Observation) -> ps.Decision:
        return ps.Decision(1, " ")


class Counting:
    """Saves nothing of what it counts."""

    def __init__(self) -> None:
        self.batches = 0

    def decide(self, observation: ps.Observation) -> ps.Decision:
        self.batches += 1
        return ps.Decision(self.batches, "one more each time")

    def save(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Erratic, "the same observations led to other decisions"),
        (Greedy, "'parse' gets 4 tasks, and there are 1 slots"),
        (Silent, "the decision has no reason"),
        (Counting, "put all that it learnt into save"),
        (object, "has no decide"),
    ],
)
def test_a_policy_that_breaks_the_promise_is_caught(make: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_policy(make)


class Mean(ps.Aggregate):
    state = pa.schema([("sum", pa.float64()), ("n", pa.int64())])
    result = "mean double"
    columns = ("v",)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        total, n = pc.sum(batch["v"]).as_py() or 0.0, batch.num_rows - batch["v"].null_count
        if state is not None:
            total, n = total + state["sum"][0].as_py(), n + state["n"][0].as_py()
        return pa.RecordBatch.from_pydict({"sum": [total], "n": [n]})

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches(states)
        sums = {name: [pc.sum(table[name]).as_py()] for name in ("sum", "n")}
        return pa.RecordBatch.from_pydict(sums)

    def finish(self, state: pa.RecordBatch) -> dict[str, Any]:
        row = state.to_pylist()[0]
        return {"mean": row["sum"] / row["n"] if row["n"] else None}


class MeanOfMeans(Mean):
    """Forgets how many rows each state stands for."""

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        means = [state["sum"][0].as_py() / (state["n"][0].as_py() or 1) for state in states]
        return pa.RecordBatch.from_pydict({"sum": [sum(means)], "n": [len(means)]})


class OnlyNew(Mean):
    """Drops the state that it is to go on from."""

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        return super().compute(None, batch)


VALUES = [{"v": v, "other": "x"} for v in (1.5, None, 2.0, 2.0, 40.0, -3.25)]


def test_an_aggregate_that_may_be_cut_anywhere_passes() -> None:
    check_aggregate(Mean(), VALUES)
    check_aggregate(Mean(), pa.Table.from_pylist(VALUES), tries=5, seed=7)


@pytest.mark.parametrize("wrong", [MeanOfMeans(), OnlyNew()])
def test_an_aggregate_that_depends_on_the_cuts_is_caught(wrong: ps.Aggregate) -> None:
    with pytest.raises(AssertionError, match="must not depend on the order or the grouping"):
        check_aggregate(wrong, VALUES)


def test_one_row_tells_nothing() -> None:
    with pytest.raises(AssertionError, match="at least two rows"):
        check_aggregate(Mean(), VALUES[:1])
