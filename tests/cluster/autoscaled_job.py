"""A plain streaming query on a cluster, whose executors ps.autoscale looks after. Not a test."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from cluster_session import session
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock import journal

WAIT_SECONDS = 60


class ByRows:
    """A slot for few rows, two for many: not by time, so that slow machines decide the same."""

    def decide(self, observation: ps.Observation) -> ps.Decision:
        wanted = 2 if observation.rows_in > 50 else 1
        return ps.Decision(wanted, f"{observation.rows_in} rows take {wanted} slots")


def main(master: str, where: str) -> None:
    spark = session(master, spark__executor__cores="1")
    until(lambda: executors(spark) == 4)  # a standalone cluster begins with all it has
    slots = ps.ExecutorSlots(min=1, max=3)
    scaler = ps.autoscale(spark, policy=ByRows(), slots=slots, journal=f"{where}/journal")
    light = rows_every_second(spark, 1).writeStream.format("noop").queryName("light")
    light.trigger(processingTime="2 seconds").start()
    until(lambda: executors(spark) == 1)
    query = slow_query(spark)
    until(lambda: executors(spark) == 3 and len(scaler.status().queries) == 2)
    while_loaded = scaler.status()
    query.stop()
    until(lambda: executors(spark) == 1 and slots.counts is not None and slots.counts.observed == 1)
    after = scaler.status()
    failed = query.exception()
    scaler.stop()
    bodies = [event.body for event in journal.read(f"{where}/journal")]
    told = {
        "queries": [each.query for each in while_loaded.queries],
        "left": [each.query for each in after.queries],
        "reasons": [made.decision.reason for made in scaler.decisions()],
        "observed": [body.observed for body in bodies if isinstance(body, journal.SlotsChanged)],
        "faults": [body.detail for body in bodies if isinstance(body, journal.FaultSeen)],
        "failed": None if failed is None else str(failed),
        "listeners": len(spark.streams._jsqm.listListeners()),
    }
    print(json.dumps(told))
    spark.stop()


def slow_query(spark: SparkSession) -> Any:
    """Start a query whose rows take 20 ms of a slot each."""

    def wait(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            time.sleep(0.02 * len(frame))
            yield frame

    rows = rows_every_second(spark, 100)
    slow = rows.mapInPandas(wait, "timestamp timestamp, value bigint")
    writer = slow.writeStream.format("noop").queryName("slow")
    return writer.trigger(processingTime="2 seconds").start()


def rows_every_second(spark: SparkSession, rows: int) -> DataFrame:
    rate = spark.readStream.format("rate").option("rowsPerSecond", rows)
    return rate.option("numPartitions", 6).load()


def executors(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc
    return int(context.sc().getExecutorMemoryStatus().size()) - 1


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come to that")
        time.sleep(0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
