"""The jars of Spark's Kafka connector and of a broker, fetched by Spark's own Ivy from Maven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_KAFKA = "4.1.1"
BROKER = f"org.apache.kafka:kafka_2.13:{_KAFKA}"
_SHARED = ("scala-library", "slf4j-api", "log4j-slf4j2-impl", "log4j-api", "log4j-core")
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
# Repositories that mirror Maven may lack the newest release. These were tried on Spark 4.3
# together; each is fetched without what it depends on, since that is the list itself.
_OLDER = (
    f"{CONNECTOR}:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    f"org.apache.kafka:kafka-clients:{_KAFKA}",
    "org.apache.commons:commons-pool2:2.12.0",
)

# What Spark says of jars that Ivy did not find in any repository, or could not get from one.
_UNRESOLVED = ("unresolved dependency: ", "download failed: ")


class Unresolved(Exception):
    """Jars are not to be had here; all else that goes wrong is no reason to skip."""


def broker_jars(spark: SparkSession) -> list[str]:
    """Paths of the jars that a broker needs; skips where they can't be had."""
    # Spark's Ivy leaves out what Spark has itself: Scala, and where logs go.
    own = Path(pyspark.__file__).parent / "jars"
    shared = [str(path) for name in _SHARED for path in own.glob(f"{name}-[0-9]*.jar")]
    try:
        return [*shared, *_fetched(spark, BROKER)]
    except Unresolved as error:
        pytest.skip(str(error))


def connector_jars(spark: SparkSession) -> list[str]:
    """Paths of the connector and what it depends on, of this Spark or of the last one tried."""
    own = f"{CONNECTOR}:{pyspark.__version__}"
    try:
        return _fetched(spark, own)
    except Unresolved as error:
        unreachable = error
    try:
        return [path for each in _OLDER for path in _fetched(spark, f"{each}?transitive=false")]
    except Unresolved as error:
        pytest.skip(f"{unreachable}; {error}")


def add_jars(spark: SparkSession, paths: list[str]) -> None:
    """Let a session that runs on this machine alone use jars, as if it had started with them.

    Not by ADD JAR: the driver then can't read the errors of tasks whose class is in such a jar.
    """
    jvm: Any = spark._jvm
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    # After an ADD JAR it is one of the session's own, which tasks do not have.
    while "MutableURLClassLoader" in loader.getParent().getClass().getName():
        loader = loader.getParent()
    for path in paths:
        loader.addURL(jvm.java.io.File(path).toURI().toURL())


def _fetched(spark: SparkSession, coordinate: str) -> list[str]:
    jvm: Any = spark._jvm
    uri = jvm.java.net.URI(f"ivy://{coordinate}")
    try:
        found = jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(uri)
    except Py4JJavaError as error:
        said = str(error.java_exception.getMessage())
        if not any(words in said for words in _UNRESOLVED):
            raise
        raise Unresolved(f"Maven is not reachable or lacks {coordinate}: {said[:200]}") from None
    return [str(found.apply(at)) for at in range(found.size())]
