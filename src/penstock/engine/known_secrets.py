"""Finds out which secrets a query was given, so that nothing that is written names them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.secrets import keep_secrets_of


def learn_secrets(spark: SparkSession, frames: Iterable[DataFrame] = ()) -> None:
    """Hide the secrets in the settings of a session and in the options of what frames read.

    Nothing here may keep a query from starting: a source whose options can't be looked at is left
    to be recognised by its words.
    """
    with suppress(Exception):
        keep_secrets_of(dict(spark.sparkContext.getConf().getAll()))
        keep_secrets_of(spark.conf.getAll)
    for frame in frames:
        with suppress(Exception):
            _learn_options(spark, frame)


def _learn_options(spark: SparkSession, frame: DataFrame) -> None:
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    for position in range(leaves.size()):
        leaf: Any = leaves.apply(position)
        kind = leaf.getClass().getSimpleName()
        if kind == "StreamingRelation":
            keep_secrets_of(_as_dict(spark, leaf.dataSource().options()))
        elif kind in ("StreamingRelationV2", "DataSourceV2Relation"):
            options = leaf.extraOptions() if kind == "StreamingRelationV2" else leaf.options()
            keep_secrets_of(dict(options.asCaseSensitiveMap()))
        elif kind == "LogicalRelation" and "JDBCRelation" in leaf.relation().getClass().getName():
            keep_secrets_of(_as_dict(spark, leaf.relation().jdbcOptions().parameters()))


def _as_dict(spark: SparkSession, scala_map: Any) -> dict[str, str]:
    jvm: Any = spark._jvm
    return dict(jvm.scala.collection.JavaConverters.mapAsJavaMap(scala_map))
