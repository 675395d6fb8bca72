"""A job from topic to topic, run as a process of its own so that it can be killed. Not a test."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import penstock as ps
from penstock.testing import kill_at


def outlets(spark: SparkSession, servers: str, topic: str, copied: str) -> list[ps.Outlet]:
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 40)
        .load()
    )
    # Rows with equal content are rows too: five values for all of them.
    words = ps.Stream.read(records.selectExpr("string(value) AS word"))
    return [words.to(ps.sinks.kafka(servers, copied, key="word", value="word"))]


def main(servers: str, topic: str, copied: str, checkpoint: str, jars: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = (
        SparkSession.builder.master("local[3]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.jars", jars)
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    query = ps.run(
        *outlets(spark, servers, topic, copied),
        checkpoint=checkpoint,
        available_now=True,
        slots=ps.LocalSlots(max=3),
        on_step=kill_at("sinks", batch=1),
    )
    query.await_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
