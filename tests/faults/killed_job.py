"""A small job, run as a process of its own so that it can be killed. Not a test.

#                        +-> halved -> parquet
# files -> select -> tripled
#            |           +-> odd (filter) -> named -> parquet
#            +-> windows, sliding and tumbling -> parquet
#            +-> running totals by key -> parquet
"""

from __future__ import annotations

import sys
from typing import Any

from killed_session import session

import penstock as ps
from penstock.testing import kill_at

SCHEMA = "id bigint, value double"
TOTALS = "bucket bigint, n bigint, total bigint"


def tripled(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "value": row["value"] * 3}


def halved(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "value": row["value"] / 2}


def named(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "name": f"n{row['id']}"}


def totals(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
    before = state.value or {"n": 0, "total": 0}
    state.update(n=before["n"] + len(rows), total=before["total"] + sum(row["id"] for row in rows))
    return {**key, **state.value}


def main(where: str, step: str, after_seconds: str) -> None:
    spark = session()
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{where}/in")
    timed = files.selectExpr("id", "value", "timestamp_seconds(1700000000 + id) AS ts")
    read = ps.Stream.read(timed, time="ts", watermark="5 seconds").select("id", "value", "ts")
    shared = read.map(tripled, SCHEMA)
    a = shared.map(halved, SCHEMA)
    b = shared.filter("id % 2 = 1", name="odd").map(named, "id bigint, name string")
    windows = read.window(ps.sliding("200 seconds", "20 seconds"), ps.tumbling("30 seconds"))
    c = windows.aggregate(n=ps.count(), s=ps.sum("value"), most=ps.max("id"))
    d = read.select("id", "id % 11 AS bucket").group_by("bucket")
    d = d.process(totals, state="n bigint, total bigint", schema=TOTALS, groups=8)
    on_step = None if step == "never" else kill_at(step, after_seconds=float(after_seconds))
    print("ready", flush=True)
    query = ps.run(
        a.to(ps.sinks.parquet(f"{where}/a")),
        b.to(ps.sinks.parquet(f"{where}/b")),
        c.to(ps.sinks.parquet(f"{where}/c")),
        d.to(ps.sinks.parquet(f"{where}/d")),
        checkpoint=f"{where}/checkpoint",
        available_now=True,
        on_step=on_step,
    )
    query.await_termination()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
