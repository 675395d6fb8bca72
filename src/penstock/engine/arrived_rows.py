"""The rows of a keyed operator's task, in the order in which its keys are to see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.engine.state_pieces import NEVER, Hashes

CHUNK_ROWS = 32768
NO_ROW = -1  # the arrival number of a row that only says that timers of its group may have come


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some groups, and where their rows are in the order of all."""

    groups: list[int]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ArrivedRows:
    """A task's rows; ``order`` has their numbers by group, then time, then arrival."""

    table: pa.Table
    hashes: Hashes
    groups: NDArray[np.int64]
    order: NDArray[np.intp]
    touched: list[int]
    count: int

    @classmethod
    def of(
        cls,
        batches: list[pa.RecordBatch],
        names: tuple[str, ...],
        time: str | None,
        groups: int,
        empty: pa.Schema,
        due: Sequence[int] = (),
    ) -> ArrivedRows:
        """Sort rows that come with two columns more: the key's hash and the number of arrival.

        ``due`` are groups that have work to do also where no row comes; ``empty`` are the columns
        to have where none does.
        """
        if not batches:
            nothing = np.array([], np.int64)
            none = nothing.astype(np.intp)
            return cls(empty.empty_table(), nothing, nothing, none, list(due), 0)
        table = pa.Table.from_batches(batches)
        own, arrivals = (column.to_numpy() for column in table.columns[-2:])
        group_of = own % groups
        is_row = arrivals != NO_ROW
        times = [] if time is None else sort_keys(table.column(time))
        order = np.lexsort((arrivals, *times, group_of))
        order = order[is_row[order]]
        touched = np.unique(np.append(group_of, np.array(due, np.int64))).tolist()
        columns = table.select(list(names))
        return cls(columns, own, group_of, order, touched, int(is_row.sum()))

    def chunks(self) -> Iterator[Chunk]:
        """Cut the groups into runs that have not too many rows together."""
        bounds = np.searchsorted(self.groups[self.order], [*self.touched, NEVER])
        run: list[int] = []
        start = 0
        for group, end in zip(self.touched, bounds[1:].tolist(), strict=True):
            run.append(group)
            if end - start >= CHUNK_ROWS:
                yield Chunk(run, start, end)
                run, start = [], end
        if run:
            yield Chunk(run, start, len(self.order))


def sort_keys(times: pa.ChunkedArray) -> list[NDArray[np.int64]]:
    """Return times as numbers to sort by, the last the most important; unknown ones come last."""
    if pa.types.is_struct(times.type):  # the rows are windows, and happened when those ended
        return [key for name in ("start", "end") for key in sort_keys(pc.struct_field(times, name))]
    numbers = pc.fill_null(times.cast(pa.int64()), NEVER)
    return [numbers.to_numpy()]
