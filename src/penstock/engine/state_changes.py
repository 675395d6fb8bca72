"""What a micro-batch changed in the state of keys, as pieces in files of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.engine.keyed_call import Change, KeyedResult, KeysAtHand
from penstock.engine.state_files import StateFiles, StateWriter
from penstock.engine.state_manifest import FULL, PieceAt, StateFile, file_name, to_merge
from penstock.engine.state_pieces import Piece, PieceShape, joined, merged


def pieces_by_group(
    hand: KeysAtHand, result: KeyedResult, shape: PieceShape
) -> dict[int, pa.RecordBatch]:
    """Return what changed as pieces, one for each group, sorted by hash."""
    changes = result.changes
    if not changes:
        return {}
    whole = _piece(hand, changes, result.values, shape)
    groups = np.array([hand.groups[change.number] for change in changes])
    order = np.lexsort((whole.column(0).to_numpy(), groups))
    whole = whole.take(pa.array(order))
    found, starts = np.unique(groups[order], return_index=True)
    ends = [*starts[1:].tolist(), len(order)]
    return {
        group: whole.slice(start, end - start)
        for group, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True)
    }


def _piece(
    hand: KeysAtHand, changes: list[Change], values: pa.RecordBatch, shape: PieceShape
) -> pa.RecordBatch:
    has_value = [change.value is not None for change in changes]
    positions = np.cumsum(has_value) - 1
    taken = pa.array(positions, mask=~np.array(has_value))
    columns = [
        pa.array([hand.hashes[change.number] for change in changes], pa.int64()),
        pa.array([change.timer_micros for change in changes], pa.int64()),
        pa.array([change.is_gone for change in changes], pa.bool_()),
        pa.array(has_value, pa.bool_()),
        *_keys(hand, changes, shape).columns,
        *(column.take(taken) for column in values.columns),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=shape.schema)


def _keys(hand: KeysAtHand, changes: list[Change], shape: PieceShape) -> pa.RecordBatch:
    """Return the keys of what changed: from a row, or from the state where there is no row."""
    assert hand.found is not None
    of_rows = hand.key_columns(shape.keys.names)
    stored = shape.keys_of(hand.found)
    plain = pa.schema([pa.field(each.name, each.type) for each in shape.keys])
    both = joined([_as(of_rows, plain), _as(stored, plain)], plain)
    places = []
    for change in changes:
        rows, place = hand.rows[change.number], hand.places[change.number]
        places.append(rows[0] if rows else of_rows.num_rows + (place or 0))
    return both.take(pa.array(places))


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


@dataclass(slots=True)
class StateChanges:
    """The files that a task writes: one for each level of its pieces."""

    files: StateFiles
    shape: PieceShape
    batch: int
    attempt: int
    writers: dict[int, StateWriter] = field(default_factory=dict)
    held: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(
        self, group: int, change: pa.RecordBatch, at: Sequence[PieceAt], pieces: Sequence[Piece]
    ) -> None:
        """Write what changed in a group, together with earlier pieces where it is their turn."""
        if not pieces:
            self._write(FULL, group, 0, change)
            return
        sizes = [
            (where.level, piece.batch.num_rows) for where, piece in zip(at, pieces, strict=True)
        ]
        depth = to_merge(self.batch, group, change.num_rows, sizes)
        if not depth:
            self._write(0, group, self.batch, change)
            return
        is_full = depth == len(pieces)
        older = [piece.batch for piece in pieces[:depth]]
        whole = merged(self.shape, [change, *older], is_full=is_full)
        level = FULL if is_full else min(FULL - 1, 1 + max(each.level for each in at[:depth]))
        self._write(level, group, at[depth - 1].since, whole)

    def close(self) -> list[StateFile]:
        """End all files, and return what is in each."""
        made = []
        for level, writer in self.writers.items():
            groups, since = zip(*self.held[level], strict=True)
            name = file_name(self.batch, level, self.attempt)
            size, checksum = writer.close()
            made.append(StateFile(name, size, groups, since, checksum))
        return made

    def _write(self, level: int, group: int, since: int, batch: pa.RecordBatch) -> None:
        if level not in self.writers:
            name = file_name(self.batch, level, self.attempt)
            self.writers[level] = self.files.writer(name, self.shape.schema)
        self.writers[level].add(batch)
        self.held.setdefault(level, []).append((group, since))
