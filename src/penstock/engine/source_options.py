"""The options that streams and tables are read with, out of Spark's plan of them."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def source_options(frame: DataFrame) -> list[dict[str, str]]:
    """Return the options of each source that a frame reads, where Spark's plan has them."""
    found = []
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    for position in range(leaves.size()):
        leaf: Any = leaves.apply(position)
        kind = leaf.getClass().getSimpleName()
        if kind == "StreamingRelation":
            found.append(_as_dict(frame, leaf.dataSource().options()))
        elif kind in ("StreamingRelationV2", "DataSourceV2Relation"):
            options = leaf.extraOptions() if kind == "StreamingRelationV2" else leaf.options()
            found.append(dict(options.asCaseSensitiveMap()))
        elif kind == "LogicalRelation" and "JDBCRelation" in leaf.relation().getClass().getName():
            found.append(_as_dict(frame, leaf.relation().jdbcOptions().parameters()))
    return found


def _as_dict(frame: DataFrame, scala_map: Any) -> dict[str, str]:
    jvm: Any = frame.sparkSession._jvm
    return dict(jvm.scala.collection.JavaConverters.mapAsJavaMap(scala_map))
