"""Lets calls into Spark's JVM see every jar of the session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def session_classes(spark: SparkSession) -> Iterator[None]:
    """Let the JVM's side of this thread see every jar of the session.

    What looks for classes in the class loader of the calling thread, as Spark does for sources and
    JDBC drivers, finds those of spark.jars and spark.jars.packages; those of ADD JAR are there in
    one thread only.
    """
    jvm: Any = spark._jvm
    thread = jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(spark._jsparkSession.sharedState().jarClassLoader())
    try:
        yield
    finally:
        thread.setContextClassLoader(before)
