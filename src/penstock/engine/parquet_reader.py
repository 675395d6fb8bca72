"""Reading many directories that never change, each listed once."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as DataFrameOf
from pyspark.sql.types import StructField, StructType

from penstock.errors import CheckpointError


class ParquetReader:
    """Reads Parquet files in directories ``<directory>/<column>=<value>``.

    ``SparkSession.read`` asks for every directory whether it is there, on threads of its own, and
    lists it, each time it is read: 20 ms for ten of them. Here Spark lists a directory once and
    remembers it, in the bounded memory that it has for listings: 3 ms. So a directory must not
    change any more when it is first read.
    """

    def __init__(
        self, session: SparkSession, directory: str, columns: StructType, partition: StructField
    ) -> None:
        self._session = session
        jvm: Any = session._jvm
        # Every dot is a question to the JVM, so what is needed for each read is looked up once.
        self._path_of = jvm.org.apache.hadoop.fs.Path
        self._sequence = jvm.PythonUtils.toSeq
        self._java: Any = session._jsparkSession
        self._directory = directory
        self._partition = partition.name
        sources = jvm.org.apache.spark.sql.execution.datasources
        self._index_of, self._relation_of = sources.InMemoryFileIndex, sources.HadoopFsRelation
        self._listings = sources.FileStatusCache.getOrCreate(self._java)
        self._format = sources.parquet.ParquetFileFormat()
        # Whatever the session says of other files: what is missing here is missing in results.
        strict = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
        self._options = jvm.PythonUtils.toScalaMap({"basePath": directory, **strict})
        self._nothing = jvm.scala.Option.empty()
        self._columns = self._typed(columns)
        self._partitions = self._typed(StructType([partition]))
        every = self._typed(StructType([*columns.fields, partition]))
        self._every = jvm.scala.Option.apply(every)

    def read(self, values: Collection[int]) -> DataFrame:
        """Return the rows of some directories, with the value of each in the last column.

        Raises ``CheckpointError`` where one is missing or empty; Spark alone would pass over it.
        """
        paths = self._sequence([self._path(value) for value in values])
        index = self._index_of(
            self._java,
            paths,
            self._options,
            self._every,
            self._listings,
            self._nothing,
            self._nothing,
        )
        if index.partitionSpec().partitions().size() != len(values):
            raise self._missing(index, values)
        relation = self._relation_of(
            index,
            self._partitions,
            self._columns,
            self._nothing,
            self._format,
            self._options,
            self._java,
        )
        return DataFrameOf(self._java.baseRelationToDataFrame(relation), self._session)

    def _missing(self, index: Any, values: Collection[int]) -> CheckpointError:
        found = re.findall(
            rf"{self._partition}=(\d+)", str(index.partitionSpec().partitions().mkString("\n"))
        )
        lost = sorted(set(values) - {int(value) for value in found})
        return CheckpointError(
            f"'{self._directory}' lacks the files of {self._partition}={lost[0]}, which the last "
            "commit needs: they were deleted or moved from outside. Bring them back, or start "
            "with a new checkpoint."
        )

    def _path(self, value: int) -> Any:
        return self._path_of(f"{self._directory}/{self._partition}={value}")

    def _typed(self, columns: StructType) -> Any:
        return self._java.parseDataType(columns.json())
