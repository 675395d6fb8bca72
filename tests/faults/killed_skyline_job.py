"""Preference queries, run as a process of their own so that it can be killed. Not a test.

# files +-> skyline by group, sliding and tumbling -> parquet
#       +-> top dominant, sliding -> parquet
"""

from __future__ import annotations

import sys

from killed_session import session

import penstock as ps
from penstock.testing import kill_at

SCHEMA = "id bigint, price bigint, days bigint, rating double, ts timestamp"


def main(where: str, step: str, after_seconds: str) -> None:
    spark = session()
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{where}/in")
    rows = ps.Stream.read(files, time="ts", watermark="5 seconds")
    better = {"minimize": ["price", "days"], "maximize": ["rating"]}
    groups = rows.select("*", "id % 3 AS team").group_by("team")
    best = groups.window(ps.sliding("40 seconds", "10 seconds"), ps.tumbling("30 seconds"))
    top = rows.window(ps.sliding("40 seconds", "10 seconds"))
    on_step = None if step == "never" else kill_at(step, after_seconds=float(after_seconds))
    print("ready", flush=True)
    query = ps.run(
        best.skyline(**better, name="best").to(ps.sinks.parquet(f"{where}/best")),
        top.top_dominant(3, **better, k_column="k", name="top").to(
            ps.sinks.parquet(f"{where}/top")
        ),
        checkpoint=f"{where}/checkpoint",
        available_now=True,
        on_step=on_step,
    )
    query.await_termination()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
