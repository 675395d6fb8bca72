"""The driver that jobs of several tests share: a job on each line of its input. Not a test.

A job is a module with ``run(spark, *arguments)``; what it returns is told as JSON, on one line.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from cluster_session import session
from pyspark import cloudpickle
from pyspark.sql import SparkSession


def main(master: str) -> None:
    spark = session(master)
    tell({"executors": what_executors_have(spark)})
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            job = importlib.import_module(name)
            cloudpickle.register_pickle_by_value(job)
            tell({"told": job.run(spark, *arguments)})
        except Exception:
            tell({"failed": traceback.format_exc()})
        finally:
            for query in spark.streams.active:
                query.stop()
    spark.stop()


def tell(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


def what_executors_have(spark: SparkSession) -> list[Any]:
    """Return the environments of the executors' Pythons, and whether Penstock is in them."""

    def look(rows: Iterator[Any]) -> Iterator[Any]:
        from importlib.util import find_spec

        yield sys.prefix, find_spec("penstock") is not None

    return sorted(spark.sparkContext.parallelize(range(8), 8).mapPartitions(look).collect())


if __name__ == "__main__":
    main(*sys.argv[1:])
