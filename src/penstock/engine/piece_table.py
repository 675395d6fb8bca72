"""Which rows of the pane store go into which result, as a relation that Spark can join with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engine.columns import PANE, SEGMENT, SIGN, TARGET, WIDTH
from penstock.windows.segments import Piece, Segment

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
_MOST_LAYERS = 8
_MOST_PLACES = 64
_WIDTHS = 2**24
_IS_FOUND = f"{TARGET} IS NOT NULL"


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
        layers = self._layers()
        if self.subtracts or len(layers) > _MOST_LAYERS or len(layers[0]) > _MOST_PLACES:
            return rows.join(F.broadcast(self._relation(rows.sparkSession)), F.expr(_BELONGS))
        return rows.withColumn(TARGET, F.expr(_looked_up_in(layers))).filter(_IS_FOUND)

    def _layers(self) -> list[dict[tuple[int, int], tuple[int, int, int]]]:
        """Sort pieces into layers with at most one for each directory and width.

        The first layer has all directories and widths.
        """
        layers: list[dict[tuple[int, int], tuple[int, int, int]]] = [{}]
        for number, some in enumerate(self.pieces):
            for piece in some:
                place = (directory_of(piece.segment), piece.width)
                free = next((layer for layer in layers if place not in layer), None)
                if free is None:
                    free = {}
                    layers.append(free)
                free[place] = (piece.first, piece.end, number)
        return layers

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


def _looked_up_in(layers: list[dict[tuple[int, int], tuple[int, int, int]]]) -> str:
    """Return SQL that looks the results of a row up, with no join and so no job for one.

    A row's directory and width are at a position in arrays that hold where the piece of a layer
    starts and ends, and its result. What is in no piece is at the first position, which is empty.
    The number of layers is rounded up, so that the code that Spark generates is seldom another.
    """
    places = sorted(layers[0])
    codes = _array(number * _WIDTHS + width for number, width in places)
    at = f"CAST(array_position({codes}, {SEGMENT} * {_WIDTHS} + {WIDTH}) AS INT) + 1"
    wanted = 1 << (len(layers) - 1).bit_length()
    cells = []
    for layer in [*layers, *[{}] * (wanted - len(layers))]:
        held = [(0, 0, 0), *[layer.get(place, (0, 0, 0)) for place in places]]
        first, end, target = (
            f"element_at({_array(values)}, {at})" for values in zip(*held, strict=True)
        )
        cells.append(
            f"if({PANE} >= {first} AND {PANE} < {end} AND "
            f"pmod({PANE} - {first}, greatest({WIDTH}, 1)) = 0, CAST({target} AS INT), NULL)"
        )
    return cells[0] if wanted == 1 else f"explode(array({','.join(cells)}))"


def _array(values: Iterable[int]) -> str:
    """Return an array as one literal, which Spark reads much faster than numbers one by one."""
    return f"from_json('{list(values)}', 'array<bigint>')"
