"""From Kafka to Kafka: clicks counted by page and minute, records nobody can read set aside.

penstock run examples/kafka_clicks.py --checkpoint clicks-ck --trigger "5 seconds" \
    --conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0

KAFKA_SERVERS names the brokers. The topics clicks, clicks-by-page and clicks-failed must exist; a
record of clicks is JSON such as {"user": "ann", "page": "home"}, and its time is Kafka's own.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession

import penstock as ps

SERVERS = os.environ.get("KAFKA_SERVERS", "127.0.0.1:9092")
TOPIC = os.environ.get("KAFKA_TOPIC", "clicks")


def records(spark: SparkSession) -> DataFrame:
    """Read the topic from its beginning at the first start, and then on from the checkpoint."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", SERVERS)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 100_000)
        .load()
    )


def read_click(row: dict[str, Any]) -> dict[str, Any]:
    """Take a record apart. One that is no click fails here, and goes to the dead letters."""
    click = json.loads(row["value"])
    return {"ts": row["ts"], "user": click["user"], "page": click["page"]}


def build(spark: SparkSession) -> list[ps.Outlet]:
    # Partition and offset go along, so that a dead letter says where its record is.
    columns = ["timestamp AS ts", "value", "partition", "offset"]
    raw = ps.Stream.read(
        records(spark).selectExpr(*columns), time="ts", watermark="1 minute", name="clicks"
    )
    clicks = raw.map(read_click, "ts timestamp, user string, page string", on_error="dead_letter")
    by_page = clicks.group_by("page").window(ps.tumbling("1 minute")).aggregate(clicks=ps.count())
    counts = by_page.select("page", "window.start AS minute", "clicks")
    return [
        # A window closes once, so page and minute tell its row from all others.
        counts.to(
            ps.sinks.kafka(SERVERS, f"{TOPIC}-by-page", key="page", unique_by=["page", "minute"])
        ),
        clicks.dead_letters().to(ps.sinks.kafka(SERVERS, f"{TOPIC}-failed")),
    ]


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    connector = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    session = (
        SparkSession.builder.master("local[2]")
        .appName("kafka_clicks")
        .config("spark.jars.packages", connector)
        .getOrCreate()
    )
    query = ps.run(*build(session), checkpoint="clicks-checkpoint", available_now=True)
    query.await_termination()
    print(query.status())
