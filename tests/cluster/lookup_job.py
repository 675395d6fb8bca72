"""Looks keys up on a cluster and notes which executor asked for which. Not a test."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql import SparkSession

import penstock as ps

KEYS = 40
BATCHES = 8


def run(spark: SparkSession, where: str) -> dict[str, Any]:
    """Run micro-batches that each have every key once, so that nobody asks for one at once."""

    def load(keys: list[int]) -> dict[int, dict[str, int]]:
        executor = os.environ["SPARK_LOCAL_DIRS"]
        with open(f"{where}/asked", "a") as file:
            file.write("".join(f"{executor} {os.getpid()} {key}\n" for key in keys))
        return {key: {"double": key * 2} for key in keys}

    for _ in range(BATCHES):
        spark.range(KEYS, numPartitions=1).write.mode("append").parquet(f"{where}/in")
    read = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 1)
    found = ps.Stream.read(read.parquet(f"{where}/in")).map_batches(
        ps.Lookup(load).onto("id", ["double"]), "id bigint, double bigint"
    )
    sink = ps.sinks.parquet(f"{where}/out")
    query = ps.run(found.to(sink), checkpoint=f"{where}/checkpoint", available_now=True)
    query.await_termination(240)
    with open(f"{where}/asked") as file:
        return {"asked": [line.split() for line in file]}
