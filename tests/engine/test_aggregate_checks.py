from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.aggregate import Aggregate
from penstock.engine.user_aggregation import UserAggregation
from penstock.errors import TopologyError


class Fine(Aggregate):
    """Counts rows; what is wrong in a test is changed in it."""

    state = pa.schema([("n", pa.int64())])
    result = "n bigint"
    columns = ("v",)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        raise NotImplementedError

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        raise NotImplementedError

    def finish(self, state: pa.RecordBatch) -> dict[str, Any]:
        raise NotImplementedError


class Bare(Aggregate):
    pass


def changed(**attributes: Any) -> Aggregate:
    return type("Changed", (Fine,), attributes)()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("aggregate", "problem"),
    [
        (Fine, "Fine is a class, not an aggregate. Make one: reduce(Fine())"),
        (len, "a builtin_function_or_method is no aggregate. Write a class that has penstock.Agg"),
        (Bare(), "Bare has no compute. Write def compute(self, state, batch) in it"),
        (changed(finish=Aggregate.finish), "Changed has no finish. Write def finish(self, state)"),
        (changed(compute=lambda self, batch: batch), "Changed.compute can't be called: too many"),
        (changed(consolidate=5), "Changed.consolidate is a int. Write def consolidate(self, state"),
        (changed(state=None), "Changed declares no state. Write state = pa.schema("),
        (changed(state=pa.schema([])), "Changed.state names no columns. Write state = pa.schema("),
        (changed(state="n bigintt"), "Changed.state: the schema 'n bigintt' is not readable: "),
        (changed(state=7), "Changed.state: the schema is a int. Write state = pa.schema("),
        (
            changed(state=pa.schema([("n", pa.int64()), ("N", pa.int64())])),
            "column 'N' is there twice. Name each column of Changed.state once",
        ),
        (
            changed(state=pa.schema([("at", pa.timestamp("ns", "UTC"))])),
            "column 'at' of Changed.state is timestamp[ns, tz=UTC], which Spark would give back as "
            "timestamp[us, tz=UTC]. Write timestamp[us, tz=UTC] there",
        ),
        (
            changed(state=pa.schema([("n", pa.uint32())])),
            "column 'n' of Changed.state is uint32, which Spark can't keep. Use another type",
        ),
        (changed(result=None), "Changed declares no result. Write it like result = 'n bigint, "),
        (changed(result="n"), "Changed.result: the schema 'n' is not readable: "),
        (changed(result="_penstock_n int"), "Changed.result: the column name '_penstock_n' is Pen"),
        (changed(columns="v"), "Changed.columns is no tuple of names. Write columns = ("),
        (changed(columns=()), "Changed.columns is empty. Write columns = ("),
        (changed(columns=("v", "w")), "unknown column 'w' in Changed.columns. Columns here: k, v"),
        (changed(columns=("_penstock_pane",)), "unknown column '_penstock_pane' in Changed.colum"),
        (changed(columns=("odd",)), "column 'odd' is interval month, which can't travel between"),
    ],
)
def test_a_wrong_aggregate_is_refused_before_anything_runs(
    spark: SparkSession, aggregate: Any, problem: str
) -> None:
    empty = spark.sql("SELECT 'a' AS k, 1D AS v, 1L AS _penstock_pane, INTERVAL 1 MONTH AS odd")
    with pytest.raises(TopologyError) as raised:
        UserAggregation.resolve("reduce", aggregate, empty)
    assert str(raised.value).startswith(f"operator 'reduce': {problem}")


def test_an_aggregate_may_be_set_up_when_it_is_made(spark: SparkSession) -> None:
    aggregate = Fine()
    aggregate.state, aggregate.result = "m map<string, int> NOT NULL", "x double NOT NULL"
    resolved = UserAggregation.resolve("reduce", aggregate, spark.sql("SELECT 1D AS v"))
    assert resolved.schema.simpleString() == "struct<x:double>"
    assert not resolved.schema["x"].nullable
    assert resolved.state.simpleString() == (
        "struct<_penstock_state:array<struct<m:map<string,int>>>>"
    )
