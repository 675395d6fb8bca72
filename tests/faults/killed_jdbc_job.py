"""Upserts into PostgreSQL, run as a process of its own so that it can be killed. Not a test.

Where it dies is a step of the engine's, or one of the sink's: ``staged`` is between the staging
table and the merge, ``merged`` between the database's commit and the engine's.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from killed_session import session

import penstock as ps
from penstock.sinks.jdbc_sink import JdbcSink
from penstock.testing import kill_at

ROWS = "seq bigint, account bigint, balance double"


def booked(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "balance": row["balance"] / 2}


def die(*_: object) -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def die_around_the_merge(where: str) -> None:
    merge = JdbcSink._merge

    def then_die(self: JdbcSink, *given: Any) -> None:
        merge(self, *given)
        die()

    JdbcSink._merge = die if where == "staged" else then_die  # type: ignore[method-assign]


def main(where: str, step: str, _: str) -> None:
    in_sink = step in ("staged", "merged")
    if in_sink:
        die_around_the_merge(step)
    spark = session()
    spark.sql(f"ADD JAR '{os.environ['PENSTOCK_TEST_JAR']}'")
    files = spark.readStream.schema(ROWS).option("maxFilesPerTrigger", 1).parquet(f"{where}/in")
    sink = ps.sinks.jdbc(
        os.environ["PENSTOCK_TEST_URL"],
        "accounts",
        ["account"],
        order_by="seq",
        user="postgres",
        password=os.environ["PENSTOCK_TEST_PASSWORD"],
    )
    print("ready", flush=True)
    ps.run(
        ps.Stream.read(files).map(booked, ROWS).to(sink),
        checkpoint=f"{where}/checkpoint",
        available_now=True,
        on_step=None if in_sink or step == "never" else kill_at(step),
    ).await_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
