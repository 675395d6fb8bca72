from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.batch_windows import windowed
from penstock.errors import ConfigurationError, TopologyError
from penstock.windows import aggregates as ps
from penstock.windows.specs import WindowSpec, sliding, tumbling
from window_oracle import assert_same, by_window, frame, moment, native, random_rows

# Every aggregate beside Spark's own expression of the same meaning.
CASES: dict[str, tuple[ps.WindowAggregate, str]] = {
    "rows": (ps.count(), "count(*)"),
    "n": (ps.count("v"), "count(v)"),
    "n_some": (ps.count(where="i > 0"), "count_if(i > 0)"),
    "n_column": (ps.count("s", where="b"), "count(s) FILTER (WHERE b)"),
    "sum_int": (ps.sum("i"), "sum(i)"),
    "sum_long": (ps.sum("l"), "sum(l)"),
    "sum_double": (ps.sum("v"), "sum(v)"),
    "sum_decimal": (ps.sum("d"), "sum(d)"),
    "sum_some": (ps.sum("100 / i", where="i <> 0"), "sum(100 / nullif(i, 0))"),
    "sum_wide": (ps.sum("w"), "sum(w)"),
    "sum_interval": (
        ps.sum("make_dt_interval(0, 0, 0, i)"),
        "sum(make_dt_interval(0, 0, 0, i))",
    ),
    "avg_interval": (
        ps.avg("make_dt_interval(0, 0, 0, i)", where="b"),
        "avg(make_dt_interval(0, 0, 0, i)) FILTER (WHERE b)",
    ),
    "min_double": (ps.min("v"), "min(v)"),
    "max_double": (ps.max("v"), "max(v)"),
    "min_string": (ps.min("s"), "min(s)"),
    "max_day": (ps.max("day"), "max(day)"),
    "max_decimal": (ps.max("d", where="b"), "max(d) FILTER (WHERE b)"),
    "avg_int": (ps.avg("i"), "avg(i)"),
    "avg_long": (ps.avg("l"), "avg(l)"),
    "avg_double": (ps.avg("v"), "avg(v)"),
    "avg_float": (ps.avg("f"), "avg(f)"),
    "avg_decimal": (ps.avg("d"), "avg(d)"),
    "avg_wide": (ps.avg("w"), "avg(w)"),
    "variance_double": (ps.variance("v"), "var_samp(v)"),
    "variance_int": (ps.variance("i", where="b"), "var_samp(i) FILTER (WHERE b)"),
    "stddev_decimal": (ps.stddev("d"), "stddev_samp(d)"),
    "distinct": (ps.count_distinct("s"), "count(DISTINCT s)"),
    "distinct_double": (ps.count_distinct("v"), "count(DISTINCT v)"),
    "distinct_exact": (ps.count_distinct("v", exact=True), "count(DISTINCT v)"),
    "distinct_day": (
        ps.count_distinct("day", where="b"),
        "count(DISTINCT day) FILTER (WHERE b)",
    ),
    "median_int": (ps.quantile("i", 0.5), "approx_percentile(i, 0.5, 100000)"),
    "quantiles": (
        ps.quantile("v", [0, 0.25, 1]),
        "approx_percentile(if(isnan(v), NULL, v), array(0D, 0.25D, 1D), 100000)",
    ),
    "median_decimal": (ps.quantile("d", 0.5), "approx_percentile(d, 0.5, 100000)"),
    "median_day": (ps.quantile("day", 0.5), "approx_percentile(day, 0.5, 100000)"),
    "late_at": (ps.quantile("at", 0.75), "approx_percentile(at, 0.75, 100000)"),
    "top": (ps.top_k("v", 3), "slice(sort_array(collect_list(v), false), 1, 3)"),
    "top_by": (
        ps.top_k("s", 2, by="i"),
        "transform(slice(sort_array(collect_list(struct(i, s)) FILTER (WHERE i IS NOT NULL), "
        "false), 1, 2), e -> e.s)",
    ),
    "frequent": (
        ps.frequent("s", 2, where="b"),
        "transform(slice(array_sort(transform(collect_set(if(b, s, NULL)), e -> "
        "struct(-size(filter(collect_list(if(b, s, NULL)), x -> x = e)) AS n, e AS item))), 1, 2), "
        "e -> struct(e.item AS item, cast(-e.n AS bigint) AS count))",
    ),
    "frequent_double": (
        ps.frequent("v", 3),
        "transform(slice(array_sort(transform(collect_set(v), e -> "
        "struct(-size(filter(collect_list(v), x -> x = e)) AS n, e AS item))), 1, 3), "
        "e -> struct(e.item AS item, cast(-e.n AS bigint) AS count))",
    ),
    "first": (ps.first("i"), "min(struct(ts, i)).i"),
    "first_known": (
        ps.first("i", ignore_nulls=True),
        "(min(struct(ts, i)) FILTER (WHERE i IS NOT NULL)).i",
    ),
    "last": (ps.last("s"), "max(struct(ts, s)).s"),
    "last_some": (ps.last("d", where="b"), "(max(struct(ts, d)) FILTER (WHERE b)).d"),
    "all": (
        ps.collect("s"),
        "transform(sort_array(collect_list(struct(ts, s)) FILTER (WHERE s IS NOT NULL)), e -> e.s)",
    ),
}
PLAIN = ("rows", "sum_int", "sum_double", "max_double", "avg_decimal", "first", "top", "all")


def check(
    df: DataFrame, specs: list[WindowSpec], by: list[str], names: tuple[str, ...] | None = None
) -> DataFrame:
    chosen = {name: CASES[name] for name in names or CASES}
    aggs = {name: aggregate for name, (aggregate, _) in chosen.items()}
    sql = {name: text for name, (_, text) in chosen.items()}
    result = windowed(df, by=by, time="ts", windows=specs, aggs=aggs)
    expected = by_window(native(df, specs, by, sql), by)
    assert expected
    assert_same(by_window(result.collect(), by, specs[0].name), expected)
    return result


@pytest.fixture
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    df = frame(spark, random_rows(seed=7, count=400)).cache()
    yield df
    df.unpersist()


@pytest.mark.parametrize(
    "specs",
    [
        [sliding(60, 20, offset=7)],
        [sliding(300, 10), tumbling(90, name="a'b\\c"), sliding(70, 30, offset=25)],
    ],
    ids=["one", "three"],
)
def test_every_aggregate_gives_what_spark_gives(rows: DataFrame, specs: list[WindowSpec]) -> None:
    check(rows, specs, ["k"])


def test_result_types_are_those_of_spark(rows: DataFrame) -> None:
    aggs = {name: aggregate for name, (aggregate, _) in CASES.items()}
    ours = windowed(rows, by=["k", "b"], time="ts", windows=tumbling(60), aggs=aggs)
    sql = [F.expr(text).alias(name) for name, (_, text) in CASES.items()]
    theirs = rows.groupBy(F.window("ts", "60 seconds"), "k", "b").agg(*sql)
    assert ours.schema.simpleString() == theirs.schema.simpleString()


SECONDS = st.integers(1, 40)


@st.composite
def drawn_specs(draw: st.DrawFn) -> list[WindowSpec]:
    specs = []
    for number in range(draw(st.integers(1, 3))):
        slide = draw(SECONDS)
        length = slide + draw(st.integers(0, 200))
        specs.append(sliding(length, slide, offset=draw(st.integers(0, 60)), name=f"w{number}"))
    return specs


@given(
    specs=drawn_specs(),
    seed=st.integers(0, 10**6),
    around=st.sampled_from([0, -(10**7), 1_700_000_000]),
    by=st.sampled_from([[], ["k"], ["k", "b"], ["f"]]),
)
@settings(max_examples=6)
def test_any_specs_and_keys(
    spark: SparkSession, specs: list[WindowSpec], seed: int, around: int, by: list[str]
) -> None:
    check(frame(spark, random_rows(seed, 120, around, spread=150)), specs, by, PLAIN)


def test_variance_of_large_values_that_lie_close_together(spark: SparkSession) -> None:
    """Sums of squares would be off in the third digit here."""
    dice = random.Random(3)
    values = [1e9 + dice.uniform(-1000, 1000) for _ in range(600)]
    df = spark.createDataFrame(list(enumerate(values)), "id bigint, v double")
    df = df.selectExpr("timestamp_seconds(id) AS ts", "v")
    aggs = {"variance": ps.variance("v"), "dev": ps.stddev("v")}
    result = windowed(df, time="ts", windows=sliding(300, 20), aggs=aggs).collect()
    assert len(result) > 30
    for row in result:
        start = round(row.window.start.replace(tzinfo=UTC).timestamp())
        held = [Fraction(each) for each in values[max(0, start) : start + 300]]
        mean = sum(held) / len(held)
        variance = float(sum((each - mean) ** 2 for each in held) / (len(held) - 1))
        assert row.variance == pytest.approx(variance, rel=1e-9, abs=0)
        assert row.dev == pytest.approx(math.sqrt(variance), rel=1e-9, abs=0)


def test_strange_names(spark: SparkSession) -> None:
    df = spark.range(60).selectExpr(
        "timestamp_seconds(id) AS `the time`", "id % 2 AS `a.b`", "id AS `c``d`"
    )
    aggs = {"my sum": ps.sum("c`d"), "n.n": ps.count(where="`c``d` > 3")}
    result = windowed(df, by="a.b", time="the time", windows=tumbling(60), aggs=aggs)
    assert result.columns == ["window", "a.b", "my sum", "n.n"]
    assert {tuple(row)[1:] for row in result.collect()} == {(0, 870, 28), (1, 900, 28)}


def test_columns_of_spark_as_arguments(rows: DataFrame) -> None:
    aggs = {
        "s": ps.sum(F.col("i") + 1, where=F.col("b")),
        "t": ps.sum("i + 1", where="b"),
        "n": ps.count(rows["i"], where=rows["b"]),
        "m": ps.count("i", where="b"),
    }
    result = windowed(rows, time="ts", windows=tumbling(60), aggs=aggs).collect()
    assert result
    assert all(row.s == row.t and row.n == row.m for row in result)


def test_windows_of_windows(rows: DataFrame) -> None:
    inner = windowed(
        rows, by="k", time="ts", windows=sliding(20, 10), aggs={"n": ps.count(), "s": ps.sum("i")}
    )
    outer = windowed(
        inner, time="window", windows=tumbling(60), aggs={"n": ps.sum("n"), "l": ps.last("n")}
    )
    spec = F.window(F.window_time("window"), "60 seconds")
    last = F.expr("max(struct(window.end, n)).n")
    theirs = inner.groupBy(spec.alias("w")).agg(F.sum("n").alias("n"), last.alias("l"))
    expected = by_window(theirs.withColumnRenamed("w", "window").collect(), [])
    assert_same(by_window(outer.collect(), []), expected)


SPANS = "a bigint, z bigint, v bigint"
LASTING = [(0, 25, 1), (5, 5, 2), (-30, 31, 4), (9, 10, 8), (10, 20, 16), (19, None, 32)]


@pytest.fixture
def lasting(spark: SparkSession) -> DataFrame:
    df = spark.createDataFrame(LASTING, SPANS)
    times = "timestamp_seconds(a) AS a", "timestamp_seconds(z) AS z", "v"
    return df.selectExpr(*times).repartition(2)


def touched(start: int, end: int, spans: str) -> Any:
    """What each row counts in the window [start, end)."""
    for a, z, v in LASTING:
        until = a if z is None else z
        if spans == "each":
            if a < end and (until > start or (until == a and a >= start)):
                yield v, 1.0
        elif spans == "split":
            shared = min(until, end) - max(a, start)
            if until == a:
                if start <= a < end:
                    yield v, 1.0
            elif shared > 0:
                yield v, shared / (until - a)
        else:
            at = a if spans == "start" else max(a, until - 1)
            if start <= at < end:
                yield v, 1.0


@pytest.mark.parametrize("spans", ["start", "end", "each", "split"])
def test_rows_that_span_time(lasting: DataFrame, spans: Any) -> None:
    specs = [sliding(10, 5, name="a"), tumbling(20, name="b"), sliding(9, 3, name="c")]
    aggs = {"n": ps.count(), "s": ps.sum("v"), "mean": ps.avg("v"), "top": ps.max("v")}
    result = windowed(lasting, time=("a", "z"), windows=specs, aggs=aggs, spans=spans)
    got = by_window(result.collect(), [])
    expected = {}
    for spec in specs:
        length, slide = spec.length_micros // 10**6, spec.slide_micros // 10**6
        for start in range(-60, 60):
            if start % slide:
                continue
            found = list(touched(start, start + length, spans))
            if found:
                bounds = [moment(at).replace(tzinfo=None) for at in (start, start + length)]
                weight = sum(share for _, share in found)
                total = sum(v * share for v, share in found)
                top = max(v for v, _ in found)
                expected[(spec.name, *bounds)] = (weight, total, total / weight, top)
    assert got.keys() == expected.keys()
    for key, values in expected.items():
        assert tuple(got[key].values()) == pytest.approx(values, rel=1e-12), key


def test_a_row_that_ends_before_it_starts_is_an_error(spark: SparkSession) -> None:
    df = spark.sql("SELECT timestamp_seconds(10) AS a, timestamp_seconds(5) AS z")
    result = windowed(
        df, time=("a", "z"), windows=tumbling(10), aggs={"n": ps.count()}, spans="each"
    )
    with pytest.raises(Exception, match="ends before it starts"):
        result.collect()


def test_a_row_that_lasts_too_long_is_an_error(spark: SparkSession) -> None:
    df = spark.sql("SELECT timestamp_seconds(0) AS a, timestamp_seconds(10000000) AS z")
    result = windowed(
        df, time=("a", "z"), windows=tumbling(1), aggs={"n": ps.count()}, spans="each"
    )
    with pytest.raises(Exception, match="lasts for more than"):
        result.collect()


@pytest.fixture
def settled(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose plans are shown as they will run."""
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield spark
    spark.conf.set("spark.sql.adaptive.enabled", str(before))


def plan_of(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


def test_the_plan_compiles_whole_and_exchanges_little(settled: SparkSession) -> None:
    rows = settled.range(10).selectExpr(
        "timestamp_seconds(id) AS ts", "id % 3 AS k", "id * 2D AS v"
    )
    aggs = {"n": ps.count(), "s": ps.sum("v"), "m": ps.max("v"), "a": ps.avg("v")}
    plan = plan_of(windowed(rows, by="k", time="ts", windows=sliding(600, 10), aggs=aggs))
    assert "SortAggregate" not in plan
    assert "ObjectHashAggregate" not in plan
    assert plan.count("Exchange hashpartitioning") == 2
    lines = [line for line in plan.splitlines() if "Aggregate" in line or "Generate" in line]
    assert len(lines) >= 5
    assert all("*(" in line for line in lines)


def test_a_tumbling_window_costs_one_exchange(settled: SparkSession) -> None:
    rows = settled.range(10).selectExpr("timestamp_seconds(id) AS ts", "id % 3 AS k")
    plan = plan_of(windowed(rows, by="k", time="ts", windows=tumbling(60), aggs={"n": ps.count()}))
    assert plan.count("Exchange") == 1


def test_nothing_runs_before_the_result_is_needed(spark: SparkSession) -> None:
    df = spark.sql("SELECT timestamp_seconds(id) AS ts, raise_error('ran') AS v FROM range(3)")
    made = windowed(df, time="ts", windows=tumbling(60), aggs={"n": ps.collect("v")})
    with pytest.raises(Exception, match="ran"):
        made.collect()


def wrong(df: DataFrame, **changes: Any) -> Any:
    asked: dict[str, Any] = {"time": "ts", "windows": tumbling(60), "aggs": {"n": ps.count()}}
    return windowed(df, **{**asked, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": "i"}, r"the time column 'i' is int. Timestamp columns here: at, ts"),
        ({"time": "nope"}, "the time column 'nope' is missing"),
        ({"time": 3}, "time is 3. Write time='ts'"),
        ({"spans": "each"}, "there is one time. Write time="),
        ({"spans": "all"}, "spans is 'all'"),
        ({"by": "nope"}, "no column 'nope' to group by"),
        ({"aggs": {}}, "there is no aggregate"),
        ({"aggs": {"x": "sum(i)"}}, "column 'x' is a str, not an aggregate"),
        ({"aggs": {"x": ps.sum("nope")}}, "unknown column `nope` in sum"),
        ({"aggs": {"x": ps.sum("i +")}}, r"Spark does not accept sum\(i \+\)"),
        ({"aggs": {"x": ps.sum("sum(i)")}}, "is an aggregate of an aggregate"),
        (
            {"aggs": {"x": ps.sum("sum(i) OVER (PARTITION BY k)")}},
            "is an aggregate of an aggregate",
        ),
        ({"aggs": {"x": ps.sum("explode(array(i))")}}, "several rows of one"),
        ({"aggs": {"x": ps.frequent("array(i)", 2)}}, r"approx_top_k\(array\(i\), 2"),
        ({"aggs": {"x": ps.sum("b")}}, r"count\(where='b'\)"),
        ({"aggs": {"x": ps.sum("day")}}, "over a column of type date"),
        ({"aggs": {"x": ps.variance("day")}}, "Write variance of a number"),
        ({"aggs": {"x": ps.quantile("s", 0.5), "y": ps.quantile("b", 0.5)}}, "type boolean"),
        ({"aggs": {"x": ps.max("map(i, s)")}}, "Spark does not accept the aggregate 'x'"),
        ({"aggs": {"x": ps.count(where="i")}}, "is int, not true or false"),
        ({"aggs": {"window": ps.count()}}, "none of them 'window'"),
        ({"by": "k", "aggs": {"K": ps.count()}}, "Name keys and aggregates apart"),
        ({"aggs": {"_penstock_n": ps.count()}}, "is Penstock's own"),
        (
            {"time": ("ts", "at"), "spans": "split", "aggs": {"x": ps.collect("i")}},
            "can't weigh rows",
        ),
    ],
)
def test_mistakes_are_told(rows: DataFrame, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        wrong(rows, **changes)


def test_streams_and_other_things_are_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    with pytest.raises(TopologyError, match=r"group_by.*window.*aggregate"):
        wrong(stream)
    with pytest.raises(ConfigurationError, match="expected a Spark DataFrame"):
        wrong("rows")  # type: ignore[arg-type]
