"""Sessions and DataFrames as users give them, which must be of PySpark Classic."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import ConfigurationError


def require_classic(df: Any) -> DataFrame:
    """Return a DataFrame of PySpark Classic, or say why it can't be used."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    if isinstance(df, ClassicDataFrame):
        return df
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise ConfigurationError(
            "this DataFrame is of a Spark Connect session, which cannot steer a running query. "
            "Start a classic session: SparkSession.builder.master(...), without remote(...)."
        )
    raise ConfigurationError(
        f"expected a Spark DataFrame, got a {type(df).__name__}. "
        "Write for example Stream.read(spark.readStream.format('rate').load())."
    )


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
