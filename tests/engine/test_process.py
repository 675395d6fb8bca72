"""Keyed state on real Spark, against a fold over the same rows in plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from keyed_model import folded
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.engine.steps import Step
from penstock.testing import fail_at

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]

STATE = "n long, total double, first timestamp"
OUT = "user string, n long, total double, first timestamp, ids array<long>"


def count(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
    """Counts a key's rows over all batches, and names those of this one in their order."""
    before = state.value or {"n": 0, "total": 0.0, "first": rows[0]["ts"]}
    state.update(
        n=before["n"] + len(rows),
        total=before["total"] + sum(row["rate"] for row in rows),
        first=before["first"],
    )
    return {**key, **state.value, "ids": [row["id"] for row in rows]}


class Restless:
    """Another number of tasks after every batch."""

    def __init__(self, seed: int = 3) -> None:
        self._random = random.Random(seed)

    def decide(self, observation: ps.Observation) -> ps.Decision:
        slots = self._random.randint(1, 4)
        return ps.Decision(slots, f"a roll of the dice: {slots}")


def dicts(df: DataFrame) -> list[dict[str, Any]]:
    """Return rows as a function of ``process`` gets them."""
    return [row.asDict() | {"ts": row.ts.astimezone(UTC)} for row in df.collect()]


def batches_of(table: DataFrame, rows: int) -> list[list[dict[str, Any]]]:
    """Return the rows of every micro-batch: one file of ``rows`` rows each."""
    every = dicts(table.orderBy("id"))
    return [every[start : start + rows] for start in range(0, len(every), rows)]


def shown(rows: list[Any]) -> list[tuple[Any, ...]]:
    dicts = [row if isinstance(row, dict) else row.asDict() for row in rows]
    return sorted(
        (row["user"], row["n"], row["total"], row["first"].timestamp(), tuple(row["ids"]))
        for row in dicts
    )


def expected(table: DataFrame, rows: int) -> list[tuple[Any, ...]]:
    batches = batches_of(table, rows)
    made = folded(count, batches, ("user",), ("n", "total", "first"))
    return shown([row for batch in made for row in batch])


def test_states_are_those_of_a_fold_over_the_rows(events: Events, finish: Finish) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(events(5, 40), time="ts", watermark="5 seconds")
    s = s.group_by("user").process(count, state=STATE, schema=OUT, groups=8)
    finish(s.to(sink))
    assert shown(sink.rows()) == expected(events.table, 40)


def test_states_stay_right_while_the_number_of_tasks_changes(
    events: Events, finish: Finish
) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(events(12, 30), time="ts", watermark="5 seconds")
    s = s.group_by("user").process(count, state=STATE, schema=OUT, groups=16)
    finish(s.to(sink), policy=Restless())
    assert shown(sink.rows()) == expected(events.table, 30)


@pytest.mark.parametrize("step", [s for s in Step if s is not Step.SHARE])
def test_a_run_that_breaks_off_after_any_step_goes_on_with_the_states_of_the_last_commit(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path, step: Step
) -> None:
    out = str(tmp_path / "out")
    df = events(4, 25)

    def branch() -> ps.Outlet:
        s = ps.Stream.read(df, time="ts", watermark="5 seconds").group_by("user")
        return s.process(count, state=STATE, schema=OUT, groups=4).to(ps.sinks.parquet(out))

    with pytest.raises(ps.QueryError):
        finish(branch(), on_step=fail_at(step, 2), policy=Restless(5))
    finish(branch(), policy=Restless(6))
    assert shown(spark.read.parquet(out).collect()) == expected(events.table, 25)


def quiet_after(
    key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
) -> dict[str, Any] | None:
    """Tells how many rows a key had when it had none for ten seconds."""
    if state.timed_out:
        told = {**key, "n": state.value["n"]}
        state.clear()
        return told
    state.update(n=(state.value or {"n": 0})["n"] + len(rows))
    when = rows[-1]["ts"] + timedelta(seconds=10)
    if state.watermark is None or when > state.watermark:
        state.set_timer(when)
    return None


def test_timers_come_when_the_watermark_has_reached_them(
    spark: SparkSession, finish: Finish, tmp_path: Path
) -> None:
    # Every batch is a minute; users come and go.
    for batch in range(8):
        users = [user for user in range(30) if (user + batch) % 3 == 0 or user % 7 == batch]
        rows = [
            (batch * 100 + user, f"u{user}", 0.5, 1_700_000_000 + batch * 60 + user)
            for user in users
        ]
        spark.createDataFrame(rows, "id long, user string, rate double, s long").selectExpr(
            "id", "user", "rate", "timestamp_seconds(s) AS ts"
        ).coalesce(1).write.mode("append").parquet(str(tmp_path / "timed"))
    schema = "id bigint, user string, rate double, ts timestamp"
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    df = files.parquet(str(tmp_path / "timed"))
    s = ps.Stream.read(df, time="ts", watermark="5 seconds").group_by("user")
    sink = ps.sinks.memory()
    finish(
        s.process(quiet_after, state="n long", schema="user string, n long", groups=8).to(sink),
        policy=Restless(1),
    )
    table = dicts(spark.read.parquet(str(tmp_path / "timed")))
    batches = [[row for row in table if row["id"] // 100 == batch] for batch in range(8)]
    made = folded(quiet_after, batches, ("user",), ("n",), timedelta(seconds=5))
    told = sorted((row["user"], row["n"]) for batch in made for row in batch)
    assert len(told) > 50
    assert sorted((row.user, row.n) for row in sink.rows()) == told
