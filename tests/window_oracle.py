"""Rows and comparisons for tests of windows against Spark's own."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from penstock.windows.specs import WindowSpec

COLUMNS = (
    "k string, i int, l bigint, v double, f float, d decimal(12,2), w decimal(30,8), s string, "
    "b boolean, day date, at timestamp, ts timestamp"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def random_rows(seed: int, count: int, around: int = 0, spread: int = 400) -> list[tuple[Any, ...]]:
    """Rows with ties, nulls, NaN, infinities and both zeros, in no order."""
    dice = random.Random(seed)

    def some(value: Any, nulls: float = 0.15) -> Any:
        return None if dice.random() < nulls else value

    rows = []
    for _ in range(count):
        double = dice.choice([dice.randrange(-400, 400) / 4] * 12 + [0.0, -0.0, math.nan, math.inf])
        rows.append(
            (
                some(dice.choice("abc"), 0.1),
                some(dice.randrange(-50, 50)),
                some(dice.randrange(-(10**12), 10**12)),
                some(double),
                some(float(dice.randrange(-8, 8)) / 2),
                some(Decimal(dice.randrange(-(10**6), 10**6)) / 100),
                some(Decimal(dice.randrange(-(10**15), 10**15)) / 10**8),
                some(dice.choice(["", "x", "yy", "Zz", "é"])),
                some(dice.random() < 0.5),
                some(date(1969, 12, 25) + timedelta(days=dice.randrange(14))),
                some(moment(dice.randrange(-5000, 5000) / 8)),
                some(moment(around + dice.randrange(-spread * 4, spread * 4) / 4), 0.03),
            )
        )
    return rows


def frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    return spark.createDataFrame(list(rows), COLUMNS).repartition(3)


def native(
    df: DataFrame, specs: Iterable[WindowSpec], by: Sequence[str], sql: Mapping[str, str]
) -> list[Row]:
    """Spark's own windows, spec by spec, with the spec's name."""
    rows: list[Row] = []
    aggregates = [F.expr(text).alias(name) for name, text in sql.items()]
    for spec in specs:
        lengths = spec.length_micros, spec.slide_micros, spec.offset_micros
        window = F.window("ts", *[f"{length} microseconds" for length in lengths])
        result = df.groupBy(window, *by).agg(*aggregates)
        rows += result.withColumn("window_name", F.lit(spec.name)).collect()
    return rows


def by_window(rows: Iterable[Row], by: Sequence[str], name: str = "") -> dict[Any, dict[str, Any]]:
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        values = row.asDict()
        window = values.pop("window")
        key = (values.pop("window_name", name), window.start, window.end)
        key += tuple(values.pop(each) for each in by)
        assert key not in found, f"{key} is there twice"
        found[key] = values
    return found


def same(left: Any, right: Any) -> bool:
    """Equal; floating point within 1e-9 relative, NaN equal to itself."""
    if isinstance(left, list | tuple) and type(left) is type(right):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return (
            left == right
            or (math.isnan(left) and math.isnan(right))
            or math.isclose(left, right, rel_tol=1e-9)
        )
    return type(left) is type(right) and bool(left == right)


def assert_same(ours: dict[Any, dict[str, Any]], expected: dict[Any, dict[str, Any]]) -> None:
    assert ours.keys() == expected.keys()
    for key, values in expected.items():
        wrong = {n: (ours[key][n], v) for n, v in values.items() if not same(ours[key][n], v)}
        assert not wrong, f"{key}: (ours, Spark's) {wrong}"
