"""Functions over Arrow batches that are pickled once and applied to every micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as DataFrameOf
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import StructType
from pyspark.util import PythonEvalType

from penstock.engine.schemas import check_arrow, quoted

ArrowFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class ArrowMap:
    """What ``df.mapInArrow`` does, with a function that is not pickled again for every DataFrame.

    The function's parameters must not hold anything that changes from batch to batch.
    """

    def __init__(self, function: ArrowFunction, returns: StructType) -> None:
        self._function = pandas_udf(  # type: ignore[call-overload]
            function, returnType=returns, functionType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
        )

    def apply(self, df: DataFrame) -> DataFrame:
        """Return what the function makes of the rows of a DataFrame, partition by partition."""
        call: Any = self._function(*[df[quoted(name)] for name in df.columns])
        java: Any = df._jdf
        return DataFrameOf(java.mapInArrow(call._jc, False, None), df.sparkSession)


class ArrowMaps:
    """The maps of one operator over rows that begin with keys: one for each step and keys' types.

    Raises ``TopologyError`` for keys of a type that can't travel to Python.
    """

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self._maps: dict[tuple[str, str], ArrowMap] = {}

    def apply(
        self,
        step: str,
        df: DataFrame,
        key_columns: int,
        function: Callable[[], ArrowFunction],
        after_keys: StructType,
    ) -> DataFrame:
        """Return what a step makes of rows; ``function`` makes it where it is not there yet."""
        keys = df.schema.fields[:key_columns]
        name = (step, StructType(keys).json())
        if name not in self._maps:
            check_arrow(self._operator, StructType(keys))
            self._maps[name] = ArrowMap(function(), StructType([*keys, *after_keys.fields]))
        return self._maps[name].apply(df)
