"""What runs in a Spark Python worker for ``process``: rows meet the state of their key.

A task gets the rows of some key groups. It looks up the states of their keys as of the last commit,
calls the user's function, and writes what changed to files of its own, which count when the batch
is committed. It holds the rows of its batch and the states of their keys, and nothing of the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.engine.arrived_rows import ArrivedRows, Chunk
from penstock.engine.arrow_groups import grouped
from penstock.engine.keyed_call import KeyedCall, KeyedResult, KeysAtHand
from penstock.engine.keyed_tally import GroupTally, KeyedTally
from penstock.engine.python_step import Failures, Tally, with_failures
from penstock.engine.state_changes import StateChanges, pieces_by_group
from penstock.engine.state_files import StateFiles
from penstock.engine.state_manifest import PieceAt
from penstock.engine.state_pieces import Hashes, Lookup, Piece, joined, next_timer, timed_before
from penstock.engine.task_orders import Orders


@dataclass(frozen=True, slots=True)
class ProcessStep:
    """The function that ``mapInArrow`` wants, for one keyed operator.

    The rows come with two columns more: the hash of the key and the number of arrival. ``orders``
    returns the batch's orders and a number that no other attempt of a task has.
    """

    call: KeyedCall
    columns: tuple[str, ...]
    time: str | None
    groups: int
    directory: str
    query_id: str
    sets_aside: bool
    orders: Callable[[], tuple[Orders, int]]
    report: Callable[[str, dict[str, Tally]], None]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run all rows of a task."""
        tally, keyed = Tally(), KeyedTally()
        tally.keyed = keyed
        try:
            arrived = [batch for batch in batches if batch.num_rows]
            if arrived:
                orders, attempt = self.orders()
                yield from _Task(self, orders, attempt, tally, keyed).run(arrived)
            keyed.is_whole = True
        finally:
            self.report(self.call.operator, {self.call.operator: tally})


class _Task:
    def __init__(
        self, step: ProcessStep, orders: Orders, attempt: int, tally: Tally, keyed: KeyedTally
    ) -> None:
        self._step = step
        self._orders = orders
        self._tally = tally
        self._keyed = keyed
        self._files = StateFiles(step.directory, step.query_id, orders.manifest.names)
        self._written = StateChanges(self._files, step.call.shape, orders.batch, attempt)
        self._pieces: dict[int, list[PieceAt]] = {}

    def run(self, arrived: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self._tally.timed():
            table = pa.Table.from_batches(arrived)
            rows = ArrivedRows.of(table, self._step.columns, self._step.time, self._step.groups)
            self._pieces = self._orders.manifest.pieces(rows.touched)
            chunks = iter(rows.chunks())
        while True:
            failures: Failures = []
            with self._tally.timed():
                chunk = next(chunks, None)
                if chunk is None:
                    break
                result = self._chunk(rows, chunk, failures)
            self._tally.rows_out += result.out.num_rows
            for told in failures:
                reasons = self._tally.failures
                reasons[told["error"]] = reasons.get(told["error"], 0) + 1
            if self._step.sets_aside:
                yield from with_failures(result.out, failures)
            else:
                yield result.out
        with self._tally.timed():
            self._keyed.files = self._written.close()
            self._keyed.fetched_bytes = self._files.fetching.bytes
            self._keyed.fetch_nanos = self._files.fetching.nanos
            self._files.tidy()
            self._tally.rows_in += rows.count

    def _chunk(self, rows: ArrivedRows, chunk: Chunk, failures: Failures) -> KeyedResult:
        started = time.perf_counter_ns()
        pieces = {
            group: [self._files.piece(at.file, at.position) for at in self._pieces[group]]
            for group in chunk.groups
        }
        hand = self._at_hand(rows, chunk, pieces)
        result = self._step.call(hand, self._orders.watermark_micros, failures)
        changed = pieces_by_group(hand, result, self._step.call.shape)
        for group in chunk.groups:
            change = changed.get(group)
            if change is not None:
                self._written.add(group, change, self._pieces[group], pieces[group])
            tally = self._keyed.groups[group] = GroupTally()
            tally.next_timer_micros = self._next_timer(group, pieces[group], change)
        self._share_time(hand, result, time.perf_counter_ns() - started)
        return result

    def _at_hand(
        self, rows: ArrivedRows, chunk: Chunk, pieces: dict[int, list[Piece]]
    ) -> KeysAtHand:
        """Bring rows and states together: the chunk's keys, and those whose timer has come."""
        order = rows.order[chunk.start : chunk.end]
        batch = joined(rows.table.take(pa.array(order)).to_batches(), rows.table.schema)
        hand = KeysAtHand(batch)
        keys = [batch.column(name) for name in self._step.call.shape.keys.names]
        found = grouped(keys, batch.num_rows)
        first = found.order[found.starts[:-1]] if found.keys else found.order[:0]
        hashes, groups = rows.hashes[order], rows.groups[order]
        numbers, starts = found.order.tolist(), found.starts.tolist()
        lookup = Lookup(self._step.call.shape)
        bounds = np.searchsorted(groups[first], [*chunk.groups, chunk.groups[-1] + 1])
        for group, low, high in zip(chunk.groups, bounds, bounds[1:], strict=False):
            own = found.keys[low:high]
            own_hashes = hashes[first[low:high]]
            hand.rows += [numbers[starts[i] : starts[i + 1]] for i in range(low, high)]
            if self._orders.is_due(group):
                timed, timed_hashes = self._timed(pieces[group], set(own))
                own = own + timed
                own_hashes = np.concatenate([own_hashes, timed_hashes])
                hand.rows += [[]] * len(timed)
            hand.keys += own
            hand.hashes += own_hashes.tolist()
            hand.groups += [group] * len(own)
            lookup.add(pieces[group], own_hashes)
        hand.found, hand.places = lookup.found(hand.keys)
        return hand

    def _timed(self, pieces: Sequence[Piece], known: set[bytes]) -> tuple[list[bytes], Hashes]:
        """Return the keys, other than those known, of which some piece says that time is up."""
        mark = self._orders.watermark_micros
        assert mark is not None
        shape = self._step.call.shape
        rows = joined(timed_before(pieces, mark), shape.schema)
        found: dict[bytes, int] = {}
        for key, own_hash in zip(shape.key_bytes(rows), rows.column(0).to_pylist(), strict=True):
            if key not in known:
                found.setdefault(key, own_hash)
        return list(found), np.array(list(found.values()), np.int64)

    def _next_timer(
        self, group: int, pieces: Sequence[Piece], change: pa.RecordBatch | None
    ) -> int | None:
        new = next_timer([change], None) if change is not None else None
        known = self._orders.timers[group]
        if self._orders.is_due(group):
            batches = [piece.batch for piece in pieces]
            known = next_timer(batches, self._orders.watermark_micros)
        return min((timer for timer in (new, known) if timer is not None), default=None)

    def _share_time(self, hand: KeysAtHand, result: KeyedResult, nanos: int) -> None:
        """Put down what every group cost: its own calls, and its part of what all share."""
        keys = max(1, len(hand.keys))
        shared = max(0, nanos - sum(result.nanos.values()))
        for number, group in enumerate(hand.groups):
            tally = self._keyed.groups[group]
            tally.keys += 1
            tally.rows += len(hand.rows[number])
        for group, own in result.nanos.items():
            tally = self._keyed.groups[group]
            tally.busy_nanos += own + shared * tally.keys // keys
