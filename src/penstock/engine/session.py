"""The Spark session as the engine needs it."""

from __future__ import annotations

import pyspark
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError

ENGINE_SETTINGS = {
    # Adaptive execution would put its own partition counts in the place of the plan's.
    "spark.sql.adaptive.enabled": "false",
    # More than this many directories of the pane store would be listed by a job of their own.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}

_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


def configure(session: SparkSession) -> None:
    """Set what the engine needs on the session that a micro-batch runs in, and nowhere else."""
    for key, value in ENGINE_SETTINGS.items():
        session.conf.set(key, value)


def check_timestamps(session: SparkSession) -> None:
    """Refuse to store partials with less than Spark's own precision of times."""
    kind = session.conf.get(_TIMESTAMPS)
    if kind == "TIMESTAMP_MILLIS":
        raise ConfigurationError(
            f"{_TIMESTAMPS} is {kind}, which would cut the microseconds off times in the partial "
            f"results of windows. Write spark.conf.set('{_TIMESTAMPS}', 'TIMESTAMP_MICROS')."
        )


def spark_version() -> str:
    """Return PySpark's version."""
    return str(pyspark.__version__)
