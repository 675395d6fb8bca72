"""The Kafka sink beside Spark's own writer, on a broker of this machine, in one run.

python benchmarks/kafka_sink.py --rows 500000 --rounds 3
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import session, show
from pyspark.sql import DataFrame, SparkSession

import penstock as ps

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "kafka"))

from kafka_broker import KafkaBroker, running_broker
from kafka_jars import add_jars, broker_jars, connector_jars

from penstock.sinks.session_classes import session_classes

Way = Callable[[DataFrame, int], None]


def rows_of(spark: SparkSession, rows: int, tasks: int) -> DataFrame:
    """Clicks of some 100 bytes each as JSON."""
    return spark.range(0, rows, 1, tasks).selectExpr(
        "id",
        "concat('user-', id % 10007) AS user",
        "concat('/shop/', id % 997, '/', md5(string(id))) AS page",
    )


def ways(broker: KafkaBroker) -> dict[str, Way]:
    """Spark's own writer, and the sink with and without columns that tell rows apart."""

    def spark_writer(df: DataFrame, batch_id: int) -> None:
        records = df.selectExpr("user AS key", "to_json(struct(*)) AS value")
        with session_classes(df.sparkSession):
            (
                records.write.format("kafka")
                .option("kafka.bootstrap.servers", broker.servers)
                .option("topic", plain)
                .save()
            )

    plain = broker.make_topic("plain", 4)
    by_content = ps.sinks.kafka(broker.servers, broker.make_topic("content", 4), key="user")
    by_column = ps.sinks.kafka(
        broker.servers, broker.make_topic("column", 4), key="user", unique_by=["id"]
    )
    for sink in (by_content, by_column):
        sink.open("benchmark")
    return {
        "Spark's writer": spark_writer,
        "sink, unique_by": by_column.write,
        "sink": by_content.write,
    }


def measure(
    spark: SparkSession, broker: KafkaBroker, rows: int, rounds: int
) -> list[dict[str, Any]]:
    """Take turns, so that whatever else the machine does is shared; the first round warms up."""
    df = rows_of(spark, rows, spark.sparkContext.defaultParallelism)
    found = ways(broker)
    seconds: dict[str, list[float]] = {name: [] for name in found}
    for number in range(rounds + 1):
        for name, write in found.items():
            started = time.perf_counter()
            write(df, number)
            if number:
                seconds[name].append(time.perf_counter() - started)
    base = statistics.median(seconds["Spark's writer"])
    return [
        {
            "way": name,
            "seconds": statistics.median(times),
            "rows_a_second": round(rows / statistics.median(times)),
            "times_Spark's_writer": statistics.median(times) / base,
        }
        for name, times in seconds.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    spark = session(options.master)
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    add_jars(spark, connector_jars(spark))
    with running_broker(broker_jars(spark)) as broker:
        table = measure(spark, broker, options.rows, options.rounds)
    show(table, f"{options.rows:,} rows into Kafka", options.json)
    spark.stop()


if __name__ == "__main__":
    main()
