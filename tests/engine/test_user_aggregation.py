from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.aggregate import Aggregate
from penstock.engine.aggregate_steps import Limits
from penstock.engine.columns import KEY, PANE
from penstock.engine.failures import as_query_error
from penstock.engine.user_aggregation import UserAggregation
from penstock.errors import OperatorError


class CountAndSum(Aggregate):
    state = pa.schema([pa.field("n", pa.int64(), nullable=False), ("total", pa.float64())])
    result = "n bigint NOT NULL, total double"
    columns = ("v",)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        own = self._state(batch.num_rows, batch["v"])
        return own if state is None else self.consolidate([state, own])

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches(states)
        return self._state(pc.sum(table["n"]).as_py(), table["total"])

    def finish(self, state: pa.RecordBatch) -> dict[str, Any]:
        (row,) = state.to_pylist()
        return row

    def _state(self, n: int, values: Any) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"n": [n], "total": [pc.sum(values).as_py()]}, self.state)


class Median(Aggregate):
    """The state is all values that there are: as many rows as the key has."""

    state = "v double"
    result = "median double"
    columns = ("v",)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        own = batch.select(["v"]).filter(pc.is_valid(batch["v"]))
        return self.consolidate([own] if state is None else [state, own])

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        return pa.concat_batches(states)

    def finish(self, state: pa.RecordBatch) -> pa.RecordBatch:
        middle = pc.quantile(state["v"], 0.5)
        return pa.RecordBatch.from_arrays([middle], names=["median"])


class Tags(Aggregate):
    """Strings, lists, timestamps and nulls, in the state and in the result."""

    state = (
        "seen array<struct<tag: string NOT NULL>> NOT NULL, longest string, nulls int, at timestamp"
    )
    result = "tags array<string>, longest string, nulls bigint, latest timestamp"
    columns = ("tag", "at")

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        tags = batch["tag"].to_pylist()
        own = self._state(
            {tag for tag in tags if tag is not None}, tags.count(None), pc.max(batch["at"]).as_py()
        )
        return own if state is None else self.consolidate([state, own])

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        rows = [row for state in states for row in state.to_pylist()]
        times = [row["at"] for row in rows if row["at"] is not None]
        return self._state(
            {each["tag"] for row in rows for each in row["seen"]},
            sum(row["nulls"] for row in rows),
            max(times, default=None),
        )

    def finish(self, state: pa.RecordBatch) -> dict[str, Any]:
        (row,) = state.to_pylist()
        tags = sorted(each["tag"] for each in row["seen"])
        return {"tags": tags, "longest": row["longest"], "nulls": row["nulls"], "latest": row["at"]}

    def _state(self, tags: set[str], nulls: int, at: datetime | None) -> pa.RecordBatch:
        longest = max(tags, key=lambda tag: (len(tag), tag), default=None)
        at_type = pa.timestamp("us", "UTC")
        return pa.RecordBatch.from_pydict(
            {
                "seen": [[{"tag": tag} for tag in sorted(tags)]],
                "longest": [longest],
                "nulls": [nulls],
                "at": pa.array([at], at_type),
            }
        )


KEYS = ("_penstock_pane", "area", "x.y `z", "level", "box", "list", "price", "day", "moment", "on")


@pytest.fixture
def small_batches(spark: SparkSession) -> Iterator[None]:
    """Let Arrow batches have 7 rows, in a zone that is not UTC."""
    changed = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
        "spark.sql.session.timeZone": "America/New_York",
    }
    before = {name: spark.conf.get(name) for name in changed}
    for name, value in changed.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """Keys of many types, with nulls and every kind of zero and NaN, over eight partitions."""
    made = (
        spark.range(0, 400, numPartitions=8)
        .selectExpr(
            "id",
            "id % 3 AS _penstock_pane",
            "CASE id % 5 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE concat('a', id % 5) END AS area",
            "CASE id % 6 WHEN 0 THEN 0.0D WHEN 1 THEN -0.0D WHEN 2 THEN double('NaN') "
            "WHEN 3 THEN NULL ELSE -1.5D END AS `x.y ``z`",
            "IF(id % 7 = 0, NULL, float(-0.0D * (id % 2))) AS level",
            "IF(id % 11 = 0, NULL, struct(int(id % 2) AS a, IF(id % 3 = 0, 0.0D, -0.0D) AS b)) "
            "AS box",
            "IF(id % 13 = 0, NULL, array(string(id % 2), NULL)) AS list",
            "decimal(id % 2) AS price",
            "date_add(DATE'2026-01-01', int(id % 2)) AS day",
            "timestamp_seconds(1700000000 + id % 2) AS moment",
            "id % 4 = 0 AS on",
            "IF(id % 9 = 0, NULL, (id * 37 % 101) / 4) AS v",
            "IF(id % 8 = 0, NULL, concat('t', id * 31 % 17)) AS tag",
            "IF(id % 10 = 0, NULL, timestamp_seconds(1600000000 + id * 41 % 97)) AS at",
        )
        .cache()
    )
    yield made
    made.unpersist()


def texts(df: DataFrame) -> list[str]:
    """Write every row down: NaN is equal to itself then, and -0.0 is not 0.0."""
    return sorted(repr(tuple(row)) for row in df.collect())


def whole(aggregation: UserAggregation, df: DataFrame, groups: Sequence[str]) -> DataFrame:
    partials = aggregation.partials(df, groups)
    return aggregation.finished(aggregation.merged(partials, groups), groups)


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


NATIVE = {
    CountAndSum: ["count(1) AS n", "sum(v) AS total"],
    Median: ["median(v) AS median"],
    Tags: [
        "sort_array(collect_set(tag)) AS tags",
        "max_by(tag, struct(length(tag), tag)) AS longest",
        "count_if(tag IS NULL) AS nulls",
        "max(at) AS latest",
    ],
}


def native(kind: type[Aggregate], df: DataFrame, groups: Sequence[str]) -> DataFrame:
    return df.groupBy(*[quote(name) for name in groups]).agg(*[F.expr(e) for e in NATIVE[kind]])


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("kind", [CountAndSum, Median, Tags])
@pytest.mark.parametrize("groups", [("_penstock_pane", "area", "x.y `z"), KEYS, ()])
def test_an_aggregate_gives_what_spark_gives(
    rows: DataFrame, kind: type[Aggregate], groups: tuple[str, ...]
) -> None:
    tiny = Limits(rows=1, groups=3)  # every Arrow batch by itself, partials given out often
    aggregation = UserAggregation.resolve("own", kind(), rows.limit(0), limits=tiny)
    found, expected = whole(aggregation, rows, groups), native(kind, rows, groups)
    assert found.columns == [*groups, *aggregation.schema.names]
    assert [f.dataType.simpleString() for f in found.schema] == [
        f.dataType.simpleString() for f in expected.schema
    ]
    assert texts(found) == texts(expected)


def test_partials_need_no_exchange_and_come_back_from_files_as_they_went(
    rows: DataFrame, tmp_path: Path
) -> None:
    groups = ("_penstock_pane", "area")
    aggregation = UserAggregation.resolve("own", Tags(), rows.limit(0))
    partials = aggregation.partials(rows, groups)
    assert partials.columns == [*groups, *aggregation.state.names] == [*groups, "_penstock_state"]
    plan = partials._jdf.queryExecution().executedPlan().toString()
    assert "MapInArrow" in plan
    assert "Exchange" not in plan
    partials.write.parquet(str(tmp_path / "partials"))
    kept = rows.sparkSession.read.parquet(str(tmp_path / "partials"))
    assert kept.count() == 8 * kept.select(*groups).distinct().count()
    # Merged in two rounds, as kept blocks are.
    halves = [aggregation.merged(kept.filter(f"_penstock_pane % 2 = {i}"), groups) for i in (0, 1)]
    again = aggregation.merged(halves[0].union(halves[1]).union(kept.limit(0)), groups)
    assert texts(aggregation.finished(again, groups)) == texts(native(Tags, rows, groups))


def test_no_rows_give_no_result(rows: DataFrame) -> None:
    aggregation = UserAggregation.resolve("own", CountAndSum(), rows.limit(0))
    assert whole(aggregation, rows.limit(0), ()).collect() == []
    assert whole(aggregation, rows.limit(0), ("area",)).collect() == []


class Several(CountAndSum):
    """As many results as the remainder of the count says; the lone state is never touched."""

    result = "number int"

    def finish(self, state: pa.RecordBatch) -> Any:
        many = state["n"][0].as_py() % 3
        if many == 1:
            return {"number": 0}
        return [{"number": i} for i in range(many)]

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        raise AssertionError("there is one state of each key")

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        assert state is None, "all rows fit one Arrow batch"
        return super().compute(None, batch)


def test_a_key_may_have_no_result_or_several_and_a_state_alone_is_not_consolidated(
    spark: SparkSession,
) -> None:
    df = spark.range(6).selectExpr("int(sqrt(id)) AS k", "1.0D AS v").coalesce(1)  # 1, 3, 2 of them
    found = whole(UserAggregation.resolve("own", Several(), df.limit(0)), df, ("k",))
    assert sorted(map(tuple, found.collect())) == [(0, 0), (2, 0), (2, 1)]


class Pickled(CountAndSum):
    times = 0

    def __getstate__(self) -> dict[str, Any]:
        type(self).times += 1
        return {}


def test_a_function_is_pickled_once_however_many_micro_batches_there_are(rows: DataFrame) -> None:
    aggregation = UserAggregation.resolve("own", Pickled(), rows.limit(0))
    Pickled.times = 0
    for number in range(3):
        whole(aggregation, rows.filter(f"_penstock_pane = {number}"), ("area",))
    assert Pickled.times == 3  # compute, consolidate and finish
    whole(aggregation, rows, ("area", "on"))
    assert Pickled.times == 6


class Broken(CountAndSum):
    """Fails in one method for the keys whose values are negative."""

    def __init__(self, method: str) -> None:
        self.method = method

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._check("compute", batch["v"])
        return super().compute(state, batch)

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        self._check("consolidate", states[0]["total"])
        return super().consolidate(states)

    def finish(self, state: pa.RecordBatch) -> dict[str, Any]:
        self._check("finish", state["total"])
        return super().finish(state)

    def _check(self, method: str, values: pa.Array) -> None:
        if method == self.method and values[0].as_py() < 0:
            raise LookupError("a loss")


@pytest.mark.parametrize("method", ["compute", "consolidate", "finish"])
def test_an_error_names_the_aggregate_the_method_and_the_key(
    spark: SparkSession, method: str
) -> None:
    df = spark.range(0, 4, numPartitions=2).selectExpr(
        f"IF(id % 2 = 0, 'good', 'bad') AS {KEY}0",
        f"7L AS {PANE}",
        "IF(id % 2 = 0, 1D, -1D) AS v",
    )
    aggregation = UserAggregation.resolve("reduce", Broken(method), df.limit(0), ["k"])
    with pytest.raises(Exception, match="PENSTOCK-ROW-ERROR") as raised:
        whole(aggregation, df, (PANE, f"{KEY}0")).collect()
    told = as_query_error(raised.value)
    assert isinstance(told, OperatorError)
    assert (told.operator, told.error, told.row) == ("reduce", "LookupError", '{"k": "bad"}')
    assert told.reason == f"in Broken.{method}: a loss"
    assert "in _check" in told.user_traceback


class Reader(CountAndSum):
    columns = None

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        assert batch.schema.names == ["k", "v", "w"]
        return super().compute(state, batch)


def test_compute_gets_all_columns_of_the_stream_and_none_of_penstocks(spark: SparkSession) -> None:
    df = spark.sql("SELECT 'a' AS k, 1L AS _penstock_pane, 2D AS v, 'x' AS w")
    aggregation = UserAggregation.resolve("own", Reader(), df.drop("_penstock_pane").limit(0))
    assert whole(aggregation, df, ("_penstock_pane", "k")).collect() == [(1, "a", 1, 2.0)]
