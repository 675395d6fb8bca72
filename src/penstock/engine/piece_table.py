"""Which rows of the pane store go into which result, as a relation that Spark can join with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.columns import PANE, SEGMENT, SIGN, TARGET, WIDTH
from penstock.windows.segments import Piece

_FIRST, _END = "_penstock_first", "_penstock_end"
_PIECES = pa.schema(
    [
        (SEGMENT, pa.int64()),
        (WIDTH, pa.int32()),
        (_FIRST, pa.int64()),
        (_END, pa.int64()),
        (TARGET, pa.int32()),
        (SIGN, pa.int32()),
    ]
)


def directory_of(segment: str) -> int:
    """Return the number of the directory that a segment lies in.

    >>> directory_of("12"), directory_of("13.2")
    (12, 13)
    """
    return int(segment.partition(".")[0])


@dataclass(frozen=True, slots=True)
class PieceTable:
    """Which rows of the store go into which result: the pieces of each, results numbered from 0."""

    pieces: tuple[tuple[Piece, ...], ...]

    @property
    def directories(self) -> list[int]:
        """The directories that are read."""
        names = {piece.segment for some in self.pieces for piece in some}
        return sorted({directory_of(name) for name in names})

    @property
    def subtracts(self) -> bool:
        """Whether anything is taken away from a kept window."""
        return any(piece.sign < 0 for some in self.pieces for piece in some)

    def assigned(self, rows: DataFrame, keep: Sequence[str] = ()) -> DataFrame:
        """Give every row of the store the results it belongs to, in ``TARGET``; others go.

        Columns of the row's place in the store go too, but for those in ``keep``.
        """
        pieces = F.broadcast(self._relation(rows.sparkSession))
        same = (rows[SEGMENT] == pieces[SEGMENT]) & (rows[WIDTH] == pieces[WIDTH])
        inside = (rows[PANE] >= pieces[_FIRST]) & (rows[PANE] < pieces[_END])
        gone = {PANE, WIDTH, SEGMENT} - set(keep)
        columns = [rows[name] for name in rows.columns if name not in gone]
        return rows.join(pieces, same & inside).select(*columns, pieces[TARGET], pieces[SIGN])

    def _relation(self, session: SparkSession) -> DataFrame:
        # As Arrow it becomes a relation in the driver's memory, which is broadcast without a job.
        rows = [
            (directory_of(piece.segment), piece.width, piece.first, piece.end, number, piece.sign)
            for number, some in enumerate(self.pieces)
            for piece in some
        ]
        columns = zip(*rows, strict=True)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, _PIECES, strict=True)]
        return session.createDataFrame(pa.Table.from_arrays(arrays, schema=_PIECES))


def looked_up(values: Iterable[int | bool]) -> Column:
    """Return a column with the value that belongs to the row's result.

    The values come as one array, which is not written into the code that Spark generates.
    """
    listed = list(values)
    is_flag = all(isinstance(value, bool) for value in listed)
    text = ",".join(str(value).lower() if is_flag else f"{value}L" for value in listed)
    return F.element_at(F.expr(f"array({text})"), F.col(TARGET) + 1)
