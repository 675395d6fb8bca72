"""Pieces of keyed state: Arrow batches sorted by the hash of the key, looked up without a loop.

A row is a key with its state and timer, or the mark that it has none any more. Nothing here imports
Spark: it runs in Spark's Python workers, where start-up time counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.engine.arrow_groups import row_keys

HASH, TIMER, IS_GONE, HAS_VALUE = "hash", "timer", "is_gone", "has_value"
_KEY, _VALUE = "key.", "value."
NEVER = np.iinfo(np.int64).max

Hashes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PieceShape:
    """The columns of a piece: those of the key and those of the state, under names of their own."""

    keys: pa.Schema
    state: pa.Schema

    @property
    def schema(self) -> pa.Schema:
        """All columns of a piece; a key may have a timer and no value, so any may be null."""
        own = [
            pa.field(HASH, pa.int64()),
            pa.field(TIMER, pa.int64()),
            pa.field(IS_GONE, pa.bool_()),
            pa.field(HAS_VALUE, pa.bool_()),
        ]
        keys = [pa.field(_KEY + field.name, field.type) for field in self.keys]
        state = [pa.field(_VALUE + field.name, field.type) for field in self.state]
        return pa.schema([*own, *keys, *state])

    def keys_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the key columns of a piece, as the stream names them."""
        return self._part(batch, 4, self.keys)

    def state_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the state columns of a piece, as the user named them."""
        return self._part(batch, 4 + len(self.keys), self.state)

    def key_bytes(self, batch: pa.RecordBatch) -> list[bytes]:
        """Return the key of every row as bytes."""
        keys: list[bytes] = row_keys(self.keys_of(batch).columns).to_pylist()
        return keys

    @staticmethod
    def _part(batch: pa.RecordBatch, start: int, fields: pa.Schema) -> pa.RecordBatch:
        columns = batch.columns[start : start + len(fields)]
        names = [field.name for field in fields]
        return pa.RecordBatch.from_arrays(columns, names=names)


@dataclass(frozen=True, slots=True)
class Piece:
    """A batch of keys with their states, sorted by hash, and the hashes as NumPy has them."""

    batch: pa.RecordBatch
    hashes: Hashes

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Piece:
        """Take the hashes out of a batch."""
        return cls(batch, batch.column(0).to_numpy())


class Lookup:
    """Looks keys up in the pieces of their groups, many at once, and remembers where each is.

    The newest piece that has a key's hash is taken to have the key; only where that is not so, as
    when two keys have one hash, are all pieces searched.
    """

    def __init__(self, shape: PieceShape) -> None:
        self._shape = shape
        self._taken: list[pa.RecordBatch] = []
        self._owners: list[NDArray[np.intp]] = []
        self._searches: list[tuple[Sequence[Piece], int, int]] = []
        self._hashes: list[Hashes] = []
        self._count = 0

    def add(self, pieces: Sequence[Piece], hashes: Hashes) -> None:
        """Look for keys of one group by their hashes; ``pieces`` are the newest first."""
        start = self._count
        self._count += len(hashes)
        self._hashes.append(hashes)
        self._searches.append((pieces, start, self._count))
        left = np.arange(len(hashes))
        for piece in pieces:
            if not len(left):
                break
            if not len(piece.hashes):
                continue
            wanted = hashes[left]
            at = np.searchsorted(piece.hashes, wanted)
            at[at == len(piece.hashes)] = 0
            is_hit = piece.hashes[at] == wanted
            if is_hit.any():
                self._taken.append(piece.batch.take(pa.array(at[is_hit])))
                self._owners.append(left[is_hit] + start)
                left = left[~is_hit]

    def found(self, keys: Sequence[bytes]) -> tuple[pa.RecordBatch, list[int | None]]:
        """Return the newest rows of all keys that have one, and for every key its row among them.

        ``keys`` are those whose hashes were added, in that order.
        """
        places: list[int | None] = [None] * self._count
        batch = joined(self._taken, self._shape.schema)
        owners = np.concatenate(self._owners) if self._owners else np.empty(0, np.intp)
        strays = []
        for row, (owner, key) in enumerate(
            zip(owners.tolist(), self._shape.key_bytes(batch), strict=True)
        ):
            if keys[owner] == key:
                places[owner] = row
            else:
                strays.append(owner)
        more: list[pa.RecordBatch] = []
        for owner in strays:
            row_alone = self._search(owner, keys[owner])
            if row_alone is not None:
                places[owner] = batch.num_rows + len(more)
                more.append(row_alone)
        return joined([batch, *more], self._shape.schema), places

    def _search(self, owner: int, key: bytes) -> pa.RecordBatch | None:
        wanted = np.concatenate(self._hashes)[owner]
        pieces = next(pieces for pieces, start, end in self._searches if start <= owner < end)
        for piece in pieces:
            first, last = (np.searchsorted(piece.hashes, wanted, side) for side in _SIDES)
            alike = piece.batch.slice(first, last - first)
            for row, found in enumerate(self._shape.key_bytes(alike)):
                if found == key:
                    return alike.slice(row, 1)
        return None


_SIDES: tuple[Any, Any] = ("left", "right")


def joined(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Put batches of one schema one after the other, in one."""
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches, schema=schema).combine_chunks()
    whole = table.to_batches()
    if len(whole) > 1:
        raise ValueError(
            "a column of one key group holds more than 2 GB. Write process(..., groups=...) with "
            "more groups, and start with a new checkpoint directory."
        )
    return whole[0] if whole else pa.RecordBatch.from_pylist([], schema=schema)


def merged(
    shape: PieceShape, batches: Sequence[pa.RecordBatch], *, is_full: bool
) -> pa.RecordBatch:
    """Put pieces together, the newest first: of every key the newest row, sorted by hash.

    Where the result is all that there is, keys that are gone are left out.
    """
    rows = joined(batches, shape.schema)
    codes = row_keys(shape.keys_of(rows).columns).dictionary_encode().indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    if is_full:
        is_gone = rows.column(IS_GONE).to_numpy(zero_copy_only=False)
        first = first[~is_gone[first]]
    hashes = rows.column(HASH).to_numpy()
    order = first[np.argsort(hashes[first], kind="stable")]
    return rows.take(pa.array(order))


def timed_before(pieces: Sequence[Piece], micros: int) -> list[pa.RecordBatch]:
    """Return the rows whose timer has come; newer pieces may say otherwise of the same key."""
    found = []
    for piece in pieces:
        timers = _timers(piece.batch)
        due = np.flatnonzero(timers <= micros)
        if len(due):
            found.append(piece.batch.take(pa.array(due)))
    return found


def next_timer(batches: Sequence[pa.RecordBatch], after_micros: int | None) -> int | None:
    """Return a time before which no timer comes, None where there is none.

    Timers that newer pieces have replaced count too: then a group is looked at once too often.
    """
    soonest = NEVER
    for batch in batches:
        timers = _timers(batch)
        if after_micros is not None:
            timers = timers[timers > after_micros]
        if len(timers):
            soonest = min(soonest, int(timers.min()))
    return None if soonest == NEVER else soonest


def _timers(batch: pa.RecordBatch) -> NDArray[np.int64]:
    column = batch.column(1)
    if column.null_count == len(column):
        return np.empty(0, np.int64)
    filled = pc.fill_null(column, NEVER) if column.null_count else column
    timers: NDArray[np.int64] = filled.to_numpy()
    return timers
