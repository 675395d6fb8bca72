"""The Spark session of a job that is killed: quiet, small, soon there."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession


def session() -> SparkSession:
    """Start Spark on two cores of this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config(
            "spark.driver.extraJavaOptions",
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
        )
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark
