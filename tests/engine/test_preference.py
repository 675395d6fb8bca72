from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
import preference_oracle as oracle
from penstock.engine.steps import Step
from penstock.errors import QueryError
from penstock.testing import fail_at
from penstock.windows.consolidation import MAX_ENUMERATED
from window_oracle import EPOCH, moment

Finish = Callable[..., ps.Query]
Feed = Callable[..., DataFrame]
Rows = list[dict[str, Any]]
Windows = dict[Any, Rows]

COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("team", pa.string()),
        ("price", pa.float64()),
        ("days", pa.int32()),
        ("rating", pa.float64()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
BETTER: Any = {"minimize": ["price", "days"], "maximize": ["rating"]}
SLIDING = ps.sliding("1 second", "200 milliseconds")
TUMBLING = ps.tumbling("2 seconds")


def some_rows(seed: int, count: int, around: float, late: float = 0.0) -> Rows:
    """Rows with ties and duplicates, two seconds out of order, some of them later still."""
    dice = random.Random(seed)
    return [
        {
            "id": seed * 10_000 + number,
            "team": dice.choice(["red", "blue", None]),
            "price": dice.randrange(40) / 4,
            "days": dice.randrange(1, 8),
            "rating": float(dice.randrange(20)),
            "ts": moment(
                around
                + number / count * 3
                - dice.random() * 2
                - (6 * dice.random() if dice.random() < late else 0)
            ),
        }
        for number in range(count)
    ]


def tables(batches: Iterable[Rows]) -> list[pa.Table]:
    return [pa.Table.from_pylist(rows, schema=COLUMNS) for rows in batches]


def windows_of(
    batches: Iterable[Rows], spec: ps.WindowSpec, delay: float, by: Sequence[str] = ()
) -> tuple[Windows, int]:
    """The rows of each window that closes, and how many rows missed one, by the definition.

    A row misses the windows that ended at or before the mark of the batches before its own.
    """
    held: Windows = defaultdict(list)
    mark = EPOCH
    missed = 0
    length, slide = (timedelta(microseconds=n) for n in (spec.length_micros, spec.slide_micros))
    for rows in batches:
        for row in rows:
            start = EPOCH + (row["ts"] - EPOCH) // slide * slide
            starts = [start - slide * n for n in range(length // slide)]
            missed += any(each + length <= mark for each in starts)
            for each in starts:
                if each + length > mark:
                    held[(each, each + length, *(row[k] for k in by))].append(row)
        newest = max((row["ts"] for row in rows), default=mark)
        mark = max(mark, newest - timedelta(seconds=delay))
    return {key: rows for key, rows in held.items() if key[1] <= mark}, missed


def came_out(df: DataFrame, by: Sequence[str] = ()) -> Windows:
    """Rows that came out, by their window and key, in the order of their id."""
    found: Windows = defaultdict(list)
    for row in df.drop("batch_id").collect():
        values = row.asDict()
        window = values.pop("window")
        values.pop("window_name", None)
        key = (utc(window.start), utc(window.end), *(values[name] for name in by))
        found[key].append({**values, "ts": utc(values["ts"])})
    return ordered(found)


def utc(local: datetime) -> datetime:
    return local.astimezone(EPOCH.tzinfo)


def ordered(windows: Windows) -> Windows:
    return {key: sorted(rows, key=lambda row: row["id"]) for key, rows in windows.items()}


def skylines(windows: Windows, better: Any = BETTER) -> Windows:
    return ordered({key: list(oracle.skyline(rows, **better)) for key, rows in windows.items()})


def pair(one: dict[str, Any], other: dict[str, Any]) -> tuple[Any, Any]:
    return (one["price"], one["rating"]), (other["price"], other["rating"])


@pytest.mark.slow
def test_windows_hold_the_best_of_their_rows(
    feed: Feed, finish: Finish, spark: SparkSession, tmp_path: Path
) -> None:
    batches = [
        some_rows(1, 200, 100.0),
        some_rows(2, 150, 103.0, late=0.1),
        [],  # panes that nothing comes to
        some_rows(3, 200, 115.0, late=0.2),
        some_rows(4, 40, 118.0),
    ]
    read = feed(tables(batches), partitions=2)
    stream = ps.Stream.read(read, time="ts", watermark="2 seconds")
    by_team = stream.group_by("team")

    def clearly_cheaper(one: Any, other: Any) -> Any:
        return one[0] + 1.5 < other[0] and one[1] <= other[1]

    outlets = {
        "own": stream.window(SLIDING).skyline(
            minimize=["price", "rating"], dominates=clearly_cheaper, name="own"
        ),
        "teams": by_team.window(SLIDING, TUMBLING).skyline(**BETTER, name="teams"),
        "top": stream.window(SLIDING).top_dominant(4, **BETTER, k_column="k", name="top"),
        "late": stream.late_rows(),
    }
    finish(*(each.to(ps.sinks.parquet(str(tmp_path / n))) for n, each in outlets.items()))
    out = {name: spark.read.parquet(str(tmp_path / name)) for name in outlets}
    expected, missed = windows_of(batches, SLIDING, 2.0)
    assert missed >= 5
    assert out["late"].filter("size(_missed) > 0").count() >= missed
    for spec in (SLIDING, TUMBLING):
        teams, _ = windows_of(batches, spec, 2.0, by=["team"])
        ours = out["teams"].filter(out["teams"].window_name == spec.name)
        assert came_out(ours, by=["team"]) == skylines(teams)
    assert came_out(out["own"]) == ordered(
        {
            key: [r for r in rows if not any(clearly_cheaper(*pair(o, r)) for o in rows)]
            for key, rows in expected.items()
        }
    )
    best = {key: oracle.top_dominant(rows, 4, **BETTER) for key, rows in expected.items()}
    assert came_out(out["top"]) == ordered(
        {key: [{**row, "k": k} for row in rows] for key, (rows, k) in best.items()}
    )


def test_windows_are_the_same_after_runs_that_broke_off_and_open_ones_come_out_early(
    feed: Feed, finish: Finish, spark: SparkSession, tmp_path: Path
) -> None:
    batches = [some_rows(n, 120, 100.0 + 3 * n, late=0.1) for n in range(4)]
    dice = random.Random(7)
    for row in (row for rows in batches for row in rows):
        if dice.random() < 0.2:
            row[dice.choice(["price", "rating"])] = dice.choice([None, math.nan])
    read = feed(tables(batches))
    stream = ps.Stream.read(read, time="ts", watermark="2 seconds")
    open_too = stream.group_by("team").window(SLIDING, emit="every_batch")
    best = open_too.skyline(**BETTER, missing="last")
    outlet = best.to(ps.sinks.parquet(str(tmp_path / "out")))
    for step, batch in ((Step.WINDOWS, 1), (Step.SINKS, 2)):
        with pytest.raises(QueryError, match="broken off"):
            finish(outlet, on_step=fail_at(step, batch))
    finish(outlet)
    out = spark.read.parquet(str(tmp_path / "out"))
    expected, _ = windows_of(batches, SLIDING, 2.0, by=["team"])
    final = came_out(out.filter("is_final").drop("is_final"), by=["team"])
    assert as_text(final) == as_text(skylines(expected))
    first = came_out(out.filter("batch_id = 0").drop("is_final"), by=["team"])
    seen, _ = windows_of([*batches[:1], some_rows(9, 1, 900.0)], SLIDING, 0.0, by=["team"])
    assert as_text(first) == as_text(
        skylines({k: v for k, v in seen.items() if k[1] < moment(500)})
    )


def as_text(windows: Windows) -> dict[Any, str]:
    """Windows in which NaN equals itself."""
    return {key: repr([sorted(row.items()) for row in rows]) for key, rows in windows.items()}


def test_windows_that_are_many_are_formed_by_arithmetic(
    feed: Feed, finish: Finish, spark: SparkSession, tmp_path: Path
) -> None:
    spread = [{**row, "ts": moment(100 + row["id"] % 600 / 4)} for row in some_rows(5, 600, 0.0)]
    batches = [spread, some_rows(6, 100, 260.0)]
    assert len(windows_of(batches, SLIDING, 1.0)[0]) > MAX_ENUMERATED
    read = feed(tables(batches), partitions=2)
    stream = ps.Stream.read(read, time="ts", watermark=ps.KSlack(at_least="1 second"))
    best = stream.window(SLIDING).top_dominant(3, **BETTER)
    finish(best.to(ps.sinks.parquet(str(tmp_path / "out"))))
    expected, _ = windows_of(batches, SLIDING, 1.0)
    ours = came_out(spark.read.parquet(str(tmp_path / "out")))
    assert ours == ordered(
        {key: list(oracle.top_dominant(rows, 3, **BETTER)[0]) for key, rows in expected.items()}
    )


def test_a_row_without_a_number_stops_the_query(feed: Feed, finish: Finish) -> None:
    rows = some_rows(1, 50, 100.0)
    rows[20]["price"] = math.nan
    stream = ps.Stream.read(feed(tables([rows])), time="ts", watermark="2 seconds")
    best = stream.group_by("team").window(SLIDING).skyline(**BETTER, name="best")
    with pytest.raises(ps.OperatorError) as failed:
        finish(best.to(ps.sinks.memory()))
    assert failed.value.operator == "best"
    assert '"id": 10020' in failed.value.row
    assert "column 'price' has no number" in failed.value.reason
