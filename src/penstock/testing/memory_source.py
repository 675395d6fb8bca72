"""A streaming source whose micro-batches a test writes down, row by row.

Underneath it is Spark's own file source with one small file for every micro-batch: it starts a
second faster than a source in Python, and Spark keeps its offsets as for any other.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import uuid
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from penstock.arguments import checked, shown
from penstock.errors import ConfigurationError
from penstock.testing.session import given_or_own
from penstock.testing.source_rows import Batch, as_table, rows_of, schema_for

_FIRST_FILE_SECONDS = 1_000_000_000
# Spark takes no file that is a week older than those it has read, or than 1970 at the start. It
# still reads one that it has chosen, so that a pause breaks no micro-batch that is under way.
_PAUSED_SECONDS = -1_000_000_000
_FAILS = "_penstock_fails"
_TRY = "_penstock_try"
_PROPERTY = "reflect('java.lang.System', 'getProperty', concat({key}, '{name}'), '{default}')"


class MemorySource:
    """A source for tests: every micro-batch takes exactly the next list of rows.

    ``df()`` is a streaming DataFrame like any other. A query that starts again from its checkpoint
    is handed the same rows for the same offsets. On a test's demand the source pauses, fails, and
    hands out rows again.

    Parameters
    ----------
    batches
        What to hand out first; ``add`` hands out more. A batch is a list of dicts, of tuples in the
        order of the columns or of ``Row`` objects, or a pandas or a Spark DataFrame.
    schema
        The columns, as DDL text or a ``StructType``. Without it Spark tells them from the first
        rows.
    directory
        Where the rows are kept, so that another process can go on with them; a temporary directory
        that goes with this object unless said.
    spark
        The session; that of ``spark_session()`` unless said.

    Examples
    --------
    >>> source = MemorySource([[{"n": 1}], [{"n": 2}, {"n": 3}]], "n bigint")
    >>> source.df().isStreaming
    True
    >>> source.add([(4,)])
    >>> len(source)
    3
    >>> source.close()

    """

    @checked
    def __init__(
        self,
        batches: Iterable[Batch] = (),
        schema: str | StructType | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
        spark: SparkSession | None = None,
    ) -> None:
        self._spark = given_or_own(spark)
        given = list(batches)
        self.schema = schema_for(schema, given, self._spark)
        self._lock = threading.RLock()
        self._is_paused = False
        self._failing: set[int] = set()
        self._properties = f"penstock.testing.{uuid.uuid4().hex}"
        self._directory = Path(directory or tempfile.mkdtemp(prefix="penstock-source-"))
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"MemorySource can't keep its rows in {shown(str(directory))} ({error.strerror}). "
                "Name another directory, or leave it out."
            ) from None
        forget = shutil.rmtree if directory is None else _keep
        self._remove = weakref.finalize(self, forget, self._directory, ignore_errors=True)
        # What is there already was handed out by another process.
        self._order = [_batch_of(path) for path in self._files()]
        self.add(*given)

    def __len__(self) -> int:
        """Return how many batches there are, each counted once."""
        return max(self._order, default=-1) + 1

    @property
    def is_paused(self) -> bool:
        """Whether nothing is handed out now."""
        return self._is_paused

    def df(self) -> DataFrame:
        """Return the streaming DataFrame, for ``Stream.read`` or for Spark itself.

        Its columns may all be null, as those of files.
        """
        columns = StructType([*self.schema.fields, StructField(_FAILS, StringType())])
        reader = self._spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        # With files that it has listed before, Spark would not see a pause.
        rows = reader.option("maxCachedFiles", 0).parquet(str(self._directory))
        # Spark draws other numbers whenever it tries a micro-batch, and the same within a try.
        rows = rows.withColumn(_TRY, F.format_string("%018.16f ", F.rand()))
        return rows.filter(_unless_it_fails()).drop(_FAILS, _TRY)

    def add(self, *batches: Batch) -> None:
        """Hand out more batches, after all that there are; an empty list is an empty micro-batch.

        While the source is paused they wait.
        """
        with self._lock:
            for batch in batches:
                number = len(self)
                rows = rows_of(batch, self.schema, self._spark, f"batch {number}")
                self._put(number, as_table(rows, self.schema))

    def pause(self) -> None:
        """Hand out nothing, so that no micro-batch comes, until ``resume``.

        A micro-batch that Spark has begun is brought to its end.
        """
        with self._lock:
            self._is_paused = True
            for path in self._files():
                _date(path, _PAUSED_SECONDS)

    def resume(self) -> None:
        """Go on where ``pause`` stopped, with what was added since."""
        with self._lock:
            self._is_paused = False
            for number, path in enumerate(self._files()):
                _date(path, _FIRST_FILE_SECONDS + number)

    @checked
    def fail(self, batch: int, times: int = 1) -> None:
        """Let the next ``times`` tries to read a batch raise, which end the query.

        A query that is started again tries it again. The batch need not be there yet. Failures are
        those of this process: in another the batch can be read.
        """
        if batch < 0 or times < 1:
            raise ConfigurationError(
                f"fail({batch}, times={times}) fails nothing. Batches count from 0, times from 1."
            )
        with self._lock:
            self._system().clearProperty(f"{self._key(batch)}.tries")
            self._system().setProperty(f"{self._key(batch)}.times", str(times))
            self._failing.add(batch)
            for path in self._files():
                if _batch_of(path) == batch:
                    self._write(path, _rows_in(path, self.schema), batch)

    @checked
    def failures(self, batch: int) -> int:
        """Return how many tries to read a batch were made to fail since ``fail`` was called."""
        tries = self._system().getProperty(f"{self._key(batch)}.tries", "")
        return len(str(tries).split())

    @checked
    def rewind(self, to_batch: int = 0) -> None:
        """Hand out all batches from ``to_batch`` on once more, as a source does that goes back.

        They come after those that were handed out so far, in new micro-batches.
        """
        with self._lock:
            if not 0 <= to_batch < len(self):
                raise ConfigurationError(
                    f"there is no batch {to_batch} to go back to. The source has {len(self)}, "
                    "counted from 0."
                )
            first = {number: path for path in self._files() for number in [_batch_of(path)]}
            for number in range(to_batch, len(self)):
                self._put(number, _rows_in(first[number], self.schema))

    def close(self) -> None:
        """Remove the rows, unless they are in a directory of yours."""
        for batch in self._failing:
            for name in ("tries", "times"):
                self._system().clearProperty(f"{self._key(batch)}.{name}")
        self._remove()

    def __enter__(self) -> MemorySource:
        """Return the source itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _put(self, batch: int, table: pa.Table) -> None:
        number = len(self._order)
        self._write(self._directory / f"{number:08}-{batch:08}.parquet", table, batch)
        self._order.append(batch)

    def _write(self, path: Path, table: pa.Table, batch: int) -> None:
        """Write a file whole or not at all; a batch that is to fail has one row more that does."""
        table = table.append_column(_FAILS, pa.nulls(table.num_rows, pa.string()))
        if batch in self._failing:
            failing = {_FAILS: pa.array([self._key(batch)])}
            one = pa.table({n: failing.get(n, pa.nulls(1)) for n in table.column_names})
            nullable = pa.schema([field.with_nullable(True) for field in table.schema])
            # In front: which number a row draws depends on the rows before it.
            table = pa.concat_tables([one.cast(nullable), table.cast(nullable)])
        aside = path.with_name(f".{path.name}")
        pq.write_table(table, aside)
        number = int(path.name.partition("-")[0])
        _date(aside, _PAUSED_SECONDS if self._is_paused else _FIRST_FILE_SECONDS + number)
        os.replace(aside, path)

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("[0-9]*.parquet"))

    def _key(self, batch: int) -> str:
        return f"{self._properties}.{batch}"

    def _system(self) -> Any:
        java: Any = self._spark.sparkContext._jvm
        return java.java.lang.System


def _unless_it_fails() -> str:
    """Return SQL that keeps the rows of the user, and raises on the row that is to fail.

    What it must remember is in properties of the JVM: how often to fail, and the numbers that the
    tries drew which did. Two jobs of one try draw the same number and count as one.
    """
    times = _PROPERTY.format(key=_FAILS, name=".times", default="0")
    tries = _PROPERTY.format(key=_FAILS, name=".tries", default="")
    noted = (
        f"reflect('java.lang.System', 'setProperty', concat({_FAILS}, '.tries'), "
        f"concat({tries}, {_TRY}))"
    )
    batch = f"substring_index({_FAILS}, '.', -1)"
    said = f"concat('MemorySource: the read of batch ', {batch}, ' fails, as the test asked')"
    return f"""CASE
        WHEN {_FAILS} IS NULL THEN true
        WHEN contains({tries}, {_TRY}) THEN raise_error({said})
        WHEN length({tries}) < length({_TRY}) * int({times})
            THEN raise_error(concat({said}, left(coalesce({noted}, ''), 0)))
        ELSE false END"""


def _rows_in(path: Path, schema: StructType) -> pa.Table:
    table = pq.read_table(path)
    return table.filter(table[_FAILS].is_null()).select(schema.names)


def _batch_of(path: Path) -> int:
    return int(path.stem.partition("-")[2])


def _date(path: Path, seconds: int) -> None:
    """Date a file: Spark reads the oldest first."""
    os.utime(path, (seconds, seconds))


def _keep(directory: Path, ignore_errors: bool) -> None:
    """Leave a directory of the user's alone."""
