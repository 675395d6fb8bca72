"""Queries whose paths one of two executors does not see, or can't write to. Not a test."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine.cluster_view import ClusterView
from penstock.engine.executors import Executor
from penstock.engine.pinning import pinned
from penstock.engine.steps import OnStep, Step


def run(spark: SparkSession, where: str, hidden: str, read_only: str) -> dict[str, Any]:
    spark.range(200).write.parquet(f"{where}/in")
    stream = ps.Stream.read(spark.readStream.schema("id bigint").parquet(f"{where}/in"))

    def start(checkpoint: str, *sinks: str) -> ps.Query:
        outlets = [
            stream.to(ps.sinks.parquet(sink), name=f"out_{n}") for n, sink in enumerate(sinks)
        ]
        return ps.run(*outlets, checkpoint=checkpoint, available_now=True, unused="ignore")

    refused = {
        "checkpoint": refusal(lambda: start(f"{hidden}/a/checkpoint", f"{where}/a")),
        "sinks": refusal(lambda: start(f"{where}/b", f"{where}/c", f"file://{hidden}/out")),
        "read_only": refusal(lambda: start(f"{where}/d", f"{read_only}/out")),
    }
    left = [sorted(os.listdir(path)) for path in (where, hidden, read_only)]
    query = start(f"{where}/checkpoint", f"{where}/out")
    query.await_termination(120)
    late, again = come_late(spark, f"{where}/in", hidden)
    return {
        "late": late,
        "again": again,
        "refused": refused,
        "left": left,
        "marks": [name for name in os.listdir(f"{where}/checkpoint") if "seen" in name],
        "rows": spark.read.parquet(f"{where}/out").count(),
    }


def come_late(spark: SparkSession, rows: str, hidden: str) -> tuple[str, int]:
    """Let the executor that does not see a directory come when a query runs that writes there."""
    Path(hidden, "shown").touch()
    view = ClusterView(spark.sparkContext)
    there = view.executors().values()
    (blind,) = (each.id for each in there if not sees(spark, each, hidden))
    checkpoint, sink = f"{hidden}/checkpoint", f"{hidden}/out"

    def send_away(executor: str) -> None:
        view.request(1)
        view.release([executor])
        wait_until(lambda: executor not in view.registered())

    def have_two(step: Step, batch_id: int) -> None:
        if (step, batch_id) == (Step.COMPILE, 1):
            view.request(2)
            wait_until(lambda: len(view.registered()) == 2)

    def run_on(on_step: OnStep | None = None) -> str:
        df = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 1).parquet(rows)
        query = ps.run(
            ps.Stream.read(df).to(ps.sinks.parquet(sink)),
            checkpoint=checkpoint,
            available_now=True,
            on_step=on_step,
        )
        try:
            query.await_termination(120)
        except ps.QueryError as error:
            return str(error)
        return "was not refused"

    send_away(blind)
    late = run_on(have_two)
    (blind,) = (each.id for each in view.executors().values() if not sees(spark, each, hidden))
    send_away(blind)
    run_on()
    rows_again = spark.read.parquet(sink).select("id").distinct().count()
    view.request(2)
    wait_until(lambda: len(view.registered()) == 2)
    return late, rows_again


def sees(spark: SparkSession, executor: Executor, directory: str) -> bool:
    look = f"[ -e '{directory}/shown' ] && echo yes || echo no"
    lines = pinned(spark, "", "java.lang.String", [executor]).pipe(["sh", "-c", look]).collect()
    return [str(line) for line in lines] == ["yes"]


def wait_until(is_so: Callable[[], bool], within_seconds: float = 60) -> None:
    deadline = time.monotonic() + within_seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError("an executor did not come, or did not go")
        time.sleep(0.1)


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except ps.ConfigurationError as error:
        return str(error)
    return "was not refused"
