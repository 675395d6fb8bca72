from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.columns import PANE, WIDTH
from penstock.engine.pane_rows import SHARE, missed_windows, paned_rows
from penstock.windows.panes import Panes, paned
from penstock.windows.specs import sliding, tumbling

MICRO = 1_000_000
# Start and end in microseconds: points, whole panes, moments before a boundary, before 1970.
SPANS: list[tuple[int | None, int | None]] = [
    (0, 0),
    (0, 1),
    (-1, 0),
    (-1, 5 * MICRO),
    (3 * MICRO, 5 * MICRO),
    (5 * MICRO, 10 * MICRO),
    (5 * MICRO - 1, 10 * MICRO + 1),
    (-37 * MICRO + 7, -2 * MICRO),
    (-40 * MICRO, 61 * MICRO + 3),
    (44 * MICRO, None),
    (None, 50 * MICRO),
    (None, None),
]
SPECS = {
    "sliding": [sliding(20, 5)],
    "mixed": [sliding(60, 20, offset=10), tumbling(15), sliding(25, 10, offset=5)],
}
CLOSED = [None, -12, 0, 3, 1000]


def floor_pane(micros: int, panes: Panes) -> int:
    return micros // panes.micros


def reach(start: int, end: int | None, spans: str) -> tuple[int, int]:
    """The first and last microsecond that a row is in."""
    last = start if end is None or end == start else end - 1
    if spans == "start":
        return start, start
    return (last, last) if spans == "end" else (start, last)


def held_by(panes: Panes, first: int, last: int) -> list[tuple[str, int, int]]:
    """All windows that hold a pane of [first, last], as (name, start, end) in panes."""
    found = []
    for spec in panes.specs:
        for start in range(first - spec.length + 1, last + 1):
            if (start - spec.offset) % spec.slide == 0:
                found.append((spec.spec.name, start, start + spec.length))
    return found


def expected_panes(panes: Panes, spans: str, closed: int | None) -> Counter[tuple[int, int, int]]:
    """Rows as (number, pane, width), by the definition."""
    found: Counter[tuple[int, int, int]] = Counter()
    for number, (start, end) in enumerate(SPANS):
        if start is None:
            continue
        first, last = (floor_pane(at, panes) for at in reach(start, end, spans))
        entries = [(pane, 1) for pane in range(first, last + 1 if spans == "split" else first + 1)]
        if spans == "each":
            starts = {w for _, w, _ in held_by(panes, first, last) if first < w <= last}
            entries += [(boundary, 0) for boundary in starts]
        for pane, width in entries:
            holders = held_by(panes, pane, pane)
            if width == 0:
                holders = [each for each in holders if each[1] == pane]
            if closed is None or any(until > closed for _, _, until in holders):
                found[(number, pane, width)] += 1
    return found


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    listed = [(number, a, z) for number, (a, z) in enumerate(SPANS)]
    df = spark.createDataFrame(listed, "number int, a bigint, z bigint")
    made = df.selectExpr("number", "timestamp_micros(a) AS a", "timestamp_micros(z) AS z").cache()
    yield made
    made.unpersist()


def boundary(closed: int | None) -> Any:
    return None if closed is None else F.lit(closed).cast("bigint")


@pytest.mark.parametrize("spans", ["start", "end", "each", "split"])
@pytest.mark.parametrize("specs", SPECS)
def test_rows_get_their_panes(rows: DataFrame, specs: str, spans: Any) -> None:
    panes = paned(SPECS[specs])
    for closed in CLOSED if spans == "each" else CLOSED[:3]:
        df = paned_rows(rows, panes, ("a", "z"), spans, boundary(closed))
        got = Counter(tuple(row) for row in df.select("number", PANE, WIDTH).collect())
        assert got == expected_panes(panes, spans, closed), closed
        assert df.schema[PANE].dataType.simpleString() == "bigint"
        assert df.schema[WIDTH].dataType.simpleString() == "int"


def test_shares_are_the_overlap_and_sum_to_one(rows: DataFrame) -> None:
    panes = paned(SPECS["mixed"])
    df = paned_rows(rows, panes, ("a", "z"), "split", None)
    got: dict[int, dict[int, float]] = {}
    for row in df.select("number", PANE, SHARE).collect():
        got.setdefault(row[0], {})[row[1]] = row[2]
    assert len(got) == 10
    for number, shares in got.items():
        start, end = SPANS[number]
        assert start is not None
        first, last = reach(start, end, "split")
        assert sum(shares.values()) == pytest.approx(1, rel=1e-12)
        for pane, share in shares.items():
            low, high = pane * panes.micros, (pane + 1) * panes.micros
            covered = min(high, last + 1) - max(low, first)
            assert share == pytest.approx(covered / (last + 1 - first), rel=1e-12)


@pytest.mark.parametrize("spans", ["start", "end", "each", "split"])
def test_missed_windows_are_those_that_are_closed(rows: DataFrame, spans: Any) -> None:
    panes = paned(SPECS["mixed"])
    for closed in (-12, 3, 1000):
        missed = missed_windows(rows, panes, ("a", "z"), spans, F.lit(closed).cast("bigint"))
        assert rows.select(missed).schema.fields[0].dataType.simpleString() == (
            "array<struct<name:string,start:timestamp,end:timestamp>>"
        )
        for row in rows.select("number", missed.alias("missed")).collect():
            start, end = SPANS[row.number]
            expected = []
            if start is not None:
                first, last = (floor_pane(at, panes) for at in reach(start, end, spans))
                windows = held_by(panes, first, last)
                expected = [each for each in windows if each[2] <= closed]
            got = [
                (name, in_panes(low, panes), in_panes(high, panes)) for name, low, high in row[1]
            ]
            assert got == expected


def in_panes(moment: Any, panes: Panes) -> int:
    seconds = round(moment.replace(tzinfo=UTC).timestamp())
    assert seconds * MICRO % panes.micros == 0
    return int(seconds * MICRO // panes.micros)


def test_a_window_counts_at_its_last_moment(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT named_struct('start', timestamp_seconds(id * 10), 'end', "
        "timestamp_seconds(id * 10 + 10)) AS window FROM range(-2, 3)"
    )
    got = paned_rows(df, paned([tumbling(5)]), "window", "start", None)
    expected = [(at * 10 + 10 - 1) // 5 for at in range(-2, 3)]
    assert sorted(row[PANE] for row in got.collect()) == expected


def test_the_boundary_may_be_any_column(spark: SparkSession, rows: DataFrame) -> None:
    table = spark.createDataFrame([(5,)], "closed bigint").crossJoin(rows)
    df = paned_rows(table, paned(SPECS["mixed"]), ("a", "z"), "each", F.col("closed"))
    panes = paned(SPECS["mixed"])
    got = Counter(tuple(row) for row in df.select("number", PANE, WIDTH).collect())
    assert got == expected_panes(panes, "each", 5)
