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
from penstock.engine.documents import WAY_OUT
from penstock.engine.file_checksums import directory_checksum, listing_checksum
from penstock.engine.parquet_reader import ParquetReader
from penstock.engine.state_files import local_path
from penstock.errors import CheckpointError
from penstock.sinks.filesystem import HadoopFiles

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
        """Return a checksum of a directory, which tells when a file of it is lost or damaged.

        File systems other than disks check the content of files themselves: there it is of their
        names and lengths.
        """
        path = self._path(number)
        local = local_path(path)
        return directory_checksum(local) if local else listing_checksum(self._files.lengths(path))

    def check(self, live: Collection[int], checksums: Mapping[int, str]) -> None:
        """Raise unless the directories that a record names are as they were at its commit.

        A file that is lost or damaged would be missing in results, or change them, in silence.
        """
        there = set(self._files.list(self._directory)) if live else set()
        for number in sorted(live):
            path = self._path(number)
            if f"{SEGMENT}={number}" not in there:
                raise CheckpointError(
                    f"'{path}' is missing, which the last commit needs. {WAY_OUT}"
                )
            if number in checksums and checksums[number] != self.checksum(number):
                raise CheckpointError(
                    f"a file in '{path}' is missing, damaged or was added since the last commit. "
                    f"{WAY_OUT}"
                )

    def delete(self, number: int) -> None:
        """Delete a directory."""
        self._files.delete(self._path(number), recursive=True)

    def sweep(self, live: set[int]) -> None:
        """Delete the directories that no record names."""
        for name in self._files.list(self._directory):
            number = name.removeprefix(f"{SEGMENT}=")
            if number.isdigit() and int(number) not in live:
                self.delete(int(number))

    def _path(self, number: int) -> str:
        return f"{self._directory}/{SEGMENT}={number}"
