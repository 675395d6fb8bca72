"""A query into a table, in a session that was made with the driver's jar. Not a test."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import penstock as ps


def main(url: str, password: str, where: str, jar: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.jars", jar)
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    read = spark.readStream.schema("id bigint, v bigint").option("maxFilesPerTrigger", 1)
    sink = ps.sinks.jdbc(
        url,
        "t",
        ["id"],
        user="postgres",
        password=password,
        options={"batchsize": "5"},  # statements of five rows, so that some are written before
        retries=200,
        retry_seconds=0.1,
    )
    query = ps.run(
        ps.Stream.read(read.parquet(f"{where}/in")).to(sink),
        checkpoint=f"{where}/checkpoint",
        journal=f"{where}/journal",
        available_now=True,
    )
    query.await_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
