"""Which rows of the pane store go into which result, as a relation that Spark can join with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.columns import PANE, SEGMENT, SIGN, TARGET, WIDTH
from penstock.windows.segments import Piece, Segment, directory_of

_OF, _WIDE, _FIRST, _END = (f"_penstock_piece_{name}" for name in ("of", "wide", "first", "end"))
_PIECES = pa.schema(
    [
        (_OF, pa.int64()),
        (_WIDE, pa.int32()),
        (_FIRST, pa.int64()),
        (_END, pa.int64()),
        (TARGET, pa.int32()),
        (SIGN, pa.int32()),
    ]
)
# Entries of one width may lie in one directory on two grids; a piece takes those of its own.
_BELONGS = (
    f"{SEGMENT} = {_OF} AND {WIDTH} = {_WIDE} AND {PANE} >= {_FIRST} AND {PANE} < {_END} "
    f"AND pmod({PANE} - {_FIRST}, greatest({_WIDE}, 1)) = 0"
)
_SAID_IN_SQL = 300
_MOST_PLACES = 64
_MOST_ENTRIES = 4_096
_WIDTHS = 2**24
_IS_FOUND = f"{TARGET} IS NOT NULL"


Place = tuple[int, int]
"""A directory, and a width of entries in it."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The results that entries of a place go into, one pane after the other from ``first`` on."""

    first: int
    results: list[list[int]]


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

    @property
    def bounds(self) -> str:
        """A condition that all rows of the pieces meet, with which Parquet skips others."""
        pieces = [piece for some in self.pieces for piece in some]
        first, end = min(piece.first for piece in pieces), max(piece.end for piece in pieces)
        return f"{PANE} >= {first} AND {PANE} < {end}"

    def rows_at_most(self, segments: Iterable[Segment]) -> int:
        """Return how many rows all results together take from the segments, at the most."""
        rows = {segment.name: segment.rows for segment in segments}
        return sum(rows[piece.segment] for some in self.pieces for piece in some)

    def assigned(self, rows: DataFrame) -> DataFrame:
        """Give every row of the store the results it belongs to, in ``TARGET``; others go.

        ``SIGN`` is there too where something is subtracted.
        """
        found = None if self.subtracts else self._entries()
        if found is None:
            return rows.join(F.broadcast(self._relation(rows.sparkSession)), F.expr(_BELONGS))
        return rows.withColumn(TARGET, F.expr(_looked_up_in(found))).filter(_IS_FOUND)

    def _entries(self) -> dict[Place, Entries] | None:
        """Return the results of every entry that may be there, None where those are very many."""
        spans: dict[Place, tuple[int, int]] = {}
        for piece in (piece for some in self.pieces for piece in some):
            place = (directory_of(piece.segment), piece.width)
            first, end = spans.get(place, (piece.first, piece.end))
            spans[place] = min(first, piece.first), max(end, piece.end)
        if len(spans) > _MOST_PLACES or sum(b - a for a, b in spans.values()) > _MOST_ENTRIES:
            return None
        found = {place: Entries(a, [[] for _ in range(a, b)]) for place, (a, b) in spans.items()}
        results = 0
        for number, some in enumerate(self.pieces):
            for piece in some:
                entries = found[directory_of(piece.segment), piece.width]
                for pane in range(piece.first, piece.end, max(1, piece.width)):
                    entries.results[pane - entries.first].append(number)
                    results += 1
                if results > _MOST_ENTRIES:
                    return None
        return found

    def _relation(self, session: SparkSession) -> DataFrame:
        rows = [
            (directory_of(piece.segment), piece.width, piece.first, piece.end, number, piece.sign)
            for number, some in enumerate(self.pieces)
            for piece in some
        ]
        # Either way it is a relation in the driver's memory, which is broadcast without a job. As
        # text it takes fewer calls to the JVM, and longer to parse.
        if len(rows) <= _SAID_IN_SQL:
            values = ",".join(f"({s}L,{w},{f}L,{e}L,{n},{sign})" for s, w, f, e, n, sign in rows)
            return session.sql(f"SELECT * FROM VALUES {values} AS t({','.join(_PIECES.names)})")
        columns = zip(*rows, strict=True)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, _PIECES, strict=True)]
        return session.createDataFrame(pa.Table.from_arrays(arrays, schema=_PIECES))


def looked_up(values: Iterable[int | bool], type_: str = "bigint") -> Column:
    """Return a column with the value that belongs to the row's result."""
    return F.expr(lookup(values, type_))


def lookup(values: Iterable[int | bool], type_: str) -> str:
    """Say the same in SQL: the values are one array, which is not written into generated code.

    >>> lookup([30, 60], "bigint")
    'element_at(cast(array(30,60) AS array<bigint>), _penstock_target + 1)'
    """
    listed = ",".join(str(value).lower() for value in values)
    return f"element_at(cast(array({listed}) AS array<{type_}>), {TARGET} + 1)"


def _looked_up_in(found: Mapping[Place, Entries]) -> str:
    """Return SQL that looks the results of a row up, with no join and so no job for one.

    A row's directory and width are at a position in arrays that say which panes have results, and
    where those are in an array of all. What has none is at the first position, which is empty.
    Arrays are not written into the code that Spark generates, so that it is seldom another.
    """
    places = sorted(found)
    codes = _array(number * _WIDTHS + width for number, width in places)
    at = f"CAST(array_position({codes}, {SEGMENT} * {_WIDTHS} + {WIDTH}) AS INT) + 1"
    firsts, ends, shifts = [0], [0], [0]
    results: list[list[int]] = []
    for entries in (found[place] for place in places):
        firsts.append(entries.first)
        ends.append(entries.first + len(entries.results))
        shifts.append(len(results) + 1 - entries.first)
        results += entries.results
    is_one = all(len(each) <= 1 for each in results)
    listed = json.dumps([each[0] if each else None for each in results] if is_one else results)
    of_all = f"from_json('{listed}', '{'array<int>' if is_one else 'array<array<int>>'}')"
    first, end, shift = (f"element_at({_array(each)}, {at})" for each in (firsts, ends, shifts))
    own = f"element_at({of_all}, CAST({PANE} + {shift} AS INT))"
    own = f"if({PANE} >= {first} AND {PANE} < {end}, {own}, NULL)"
    return own if is_one else f"explode({own})"


def _array(values: Iterable[int]) -> str:
    """Return an array as one literal, which Spark reads much faster than numbers one by one."""
    return f"from_json('{list(values)}', 'array<bigint>')"
