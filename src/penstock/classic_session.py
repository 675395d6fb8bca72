"""The Spark session that a user gave, or why it can't be one."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError


def require_session(spark: object, what: str, instead: str) -> SparkSession:
    """Return a session of PySpark Classic; ``what`` was given it, ``instead`` is what to write."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise ConfigurationError(
            f"this is a Spark Connect session, with which {what} can't work. Start a classic "
            "session: SparkSession.builder.master(...), without remote(...)."
        )
    if not isinstance(spark, SparkSession):
        raise ConfigurationError(
            f"{what} takes a SparkSession, not a {type(spark).__name__}. Write {instead}."
        )
    return spark
