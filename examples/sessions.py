"""User sessions that end after a pause: a state for every user, and a timer in event time.

penstock run examples/sessions.py --checkpoint sessions-ck --trigger "2 seconds"
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import penstock as ps

OUT = os.environ.get("SESSIONS_OUT", "sessions-out")
PAUSE = timedelta(seconds=3)


def sessions(
    key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
) -> list[dict[str, Any]]:
    """Add a user's clicks to the session that is open; return the sessions that have ended."""
    ended = []
    for row in rows:
        now = state.value
        if now is not None and row["ts"] - now["until"] > PAUSE:
            ended.append({**key, **now})
            state.clear()
            now = None
        if now is None:
            state.update(since=row["ts"], until=row["ts"], clicks=1)
        else:
            state.update(until=max(now["until"], row["ts"]), clicks=now["clicks"] + 1)
    open_session = state.value
    if open_session is None:
        return ended
    end = open_session["until"] + PAUSE
    if state.timed_out or (state.watermark is not None and end <= state.watermark):
        ended.append({**key, **open_session})
        state.clear()
    else:
        state.set_timer(end)
    return ended


def clicks(spark: SparkSession) -> DataFrame:
    """Stand in for a real source, such as spark.readStream.format("kafka")."""
    return ps.sources.generate(
        ps.sources.Steady(200),
        keys=ps.sources.ZipfKeys(500),
        duration_seconds=60,
        max_rows_per_batch=2_000,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    )


def build(spark: SparkSession) -> list[ps.Outlet]:
    stream = ps.Stream.read(clicks(spark), time="ts", watermark="1 second")
    ended = (
        stream.select("ts", "key AS user")
        .group_by("user")
        .process(
            sessions,
            state="since timestamp, until timestamp, clicks long",
            schema="user long, since timestamp, until timestamp, clicks long",
        )
    )
    return [ended.to(ps.sinks.parquet(f"{OUT}/sessions"))]


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").appName("sessions").getOrCreate()
    query = ps.run(*build(session), checkpoint=f"{OUT}/checkpoint", available_now=True)
    query.await_termination()
    session.read.parquet(f"{OUT}/sessions").orderBy("since").show()
