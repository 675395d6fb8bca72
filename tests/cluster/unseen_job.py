"""Queries whose paths one of two executors does not see, or can't write to. Not a test."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

import penstock as ps


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
    return {
        "refused": refused,
        "left": left,
        "marks": [name for name in os.listdir(f"{where}/checkpoint") if "seen" in name],
        "rows": spark.read.parquet(f"{where}/out").count(),
    }


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except ps.ConfigurationError as error:
        return str(error)
    return "was not refused"
