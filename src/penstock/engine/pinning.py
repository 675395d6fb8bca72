"""Partitions that are best computed on executors of one's choice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from penstock.engine.executors import Executor


def pinned(
    spark: SparkSession, element: Any, java_class: str, executors: Iterable[Executor]
) -> Any:
    """Return a JavaRDD with an element for each executor, in a partition best computed there.

    Spark prefers that executor, and goes elsewhere if it stays busy for ``spark.locality.wait``.
    """
    jvm: Any = spark._jvm
    context: Any = spark.sparkContext
    to_sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    # The way in which Spark itself names the executor that holds a cached block.
    places = [to_sequence([f"executor_{each.host}_{each.id}"]) for each in executors]
    elements = to_sequence([jvm.scala.Tuple2(element, place) for place in places])
    tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName(java_class))
    return context._jsc.sc().makeRDD(elements, tag).toJavaRDD()
