"""The pane store: partials in columnar files, one directory for every time something was written.

A directory counts when the commit log names its segment, and not before: a try that failed leaves
one which the next try overwrites, and opening the store sweeps away what no record names. Nothing
is kept in memory but the segments of the newest record, and Spark's listings of what was read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from penstock.engine.columns import PANE, SEGMENT, WIDTH
from penstock.engine.committed_files import damaged_panes, pane_checksum
from penstock.engine.parquet_reader import ParquetReader
from penstock.sinks.filesystem import HadoopFiles
from penstock.windows.segments import directory_name, directory_number

# A directory that is not whole is never read, so files may appear in it one by one.
_WRITE_OPTIONS = {
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}


class PaneStore:
    """The partials of one windowed operator, in directories numbered by the caller.

    Columns: where an entry starts and how many panes it holds, the keys, and the state of the
    aggregates. The number of its directory comes with every row that is read.
    """

    def __init__(self, files: HadoopFiles, directory: str, columns: StructType) -> None:
        self._files = files
        self._directory = directory
        place = [StructField(PANE, LongType()), StructField(WIDTH, IntegerType())]
        self.columns = StructType([*place, *columns.fields])
        self._reader: ParquetReader | None = None

    def write(self, number: int, df: DataFrame) -> None:
        """Write one directory whole, in the place of what was there."""
        path = self._path(number)
        self._files.delete(path, recursive=True)
        options = _WRITE_OPTIONS | self._files.ready_for_job(path)
        df.write.mode("append").options(**options).parquet(path)

    def read(self, session: SparkSession, numbers: Collection[int]) -> DataFrame:
        """Return the rows of some directories, each with the number of its directory."""
        if self._reader is None:
            segment = StructField(SEGMENT, LongType())
            self._reader = ParquetReader(session, self._directory, self.columns, segment)
        return self._reader.read(numbers)

    def size_bytes(self, number: int) -> int:
        """Return the length of all files of a directory."""
        return self._files.directory_bytes(self._path(number))

    def checksum(self, number: int) -> str:
        """Return a checksum of a directory, which tells when a file of it is lost or damaged."""
        return pane_checksum(self._files, self._path(number))

    def check(self, live: Collection[int], checksums: Mapping[int, str]) -> None:
        """Raise unless the directories that a record names are as they were at its commit."""
        for error in damaged_panes(self._files, self._directory, live, checksums):
            raise error

    def delete(self, number: int) -> None:
        """Delete a directory."""
        self._files.delete(self._path(number), recursive=True)

    def sweep(self, live: set[int]) -> None:
        """Delete the directories that no record names."""
        for name in self._files.list(self._directory):
            number = directory_number(name)
            if number is not None and number not in live:
                self.delete(number)

    def _path(self, number: int) -> str:
        return f"{self._directory}/{directory_name(number)}"
