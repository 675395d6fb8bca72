"""What runs in a Spark Python worker for ``process``: rows meet the state of their key.

A task gets the rows of some key groups. It looks up the states of their keys as of the last commit,
calls the user's function, and writes what changed to files of its own, which count when the batch
is committed. It holds the rows of its batch and the states of their keys, and nothing of the rest.

Keyed operators that are fused run one after the other on the same keys: what one makes of a key's
rows goes to the next as it is, without a way through Arrow and the JVM.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest

import numpy as np
import pyarrow as pa

from penstock.engine.arrived_rows import ArrivedRows, Chunk
from penstock.engine.arrow_groups import grouped
from penstock.engine.handed_on import MadeRows
from penstock.engine.heavy_keys import SHOWN, HeavyKeys, key_text
from penstock.engine.keyed_call import KeyedCall, KeyedResult, KeysAtHand
from penstock.engine.keyed_tally import GroupTally, KeyedTally
from penstock.engine.python_step import (
    ROW_LIMIT_BYTES,
    Failures,
    Tally,
    stop_query,
    with_failures,
)
from penstock.engine.rows import row_text
from penstock.engine.state_changes import StateChanges, pieces_by_group
from penstock.engine.state_files import StateFiles
from penstock.engine.state_manifest import PieceAt
from penstock.engine.state_pieces import Hashes, Lookup, Piece, joined, next_timer, timed_before
from penstock.engine.task_orders import Orders
from penstock.engine.value_types import WrongValue
from penstock.errors import NOT_KNOWN

_TASK_FROM_END = 3
_NANOS = 1e9


@dataclass(frozen=True, slots=True)
class ProcessLink:
    """One keyed operator of a step; ``columns`` are those of its rows.

    ``orders`` returns the batch's orders and a number that no other attempt of a task has.
    """

    call: KeyedCall
    columns: tuple[str, ...]
    directory: str
    orders: Callable[[], tuple[Orders, int]]


@dataclass(frozen=True, slots=True)
class ProcessStep:
    """The function that ``mapInArrow`` wants, for keyed operators that have the same keys.

    The rows come with two columns more: the hash of the key and the number of arrival. Before these
    there is the number of the task, where nothing moved rows to it just now. ``keepers`` are the
    operators that were to keep the keys on the way.
    """

    links: tuple[ProcessLink, ...]
    groups: int
    query_id: str
    sets_aside: bool
    report: Callable[[str, dict[str, Tally]], None]
    keepers: tuple[str, ...] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run all rows of a task."""
        tallies = {link.call.operator: Tally(keyed=KeyedTally()) for link in self.links}
        try:
            arrived = [batch for batch in batches if batch.num_rows]
            task = _Task(self, tallies, arrived)
            if arrived or task.has_due_groups:
                yield from task.run(arrived)
            for tally in tallies.values():
                assert tally.keyed is not None
                tally.keyed.is_whole = True
        finally:
            self.report(self.links[0].call.operator, tallies)


class _Link:
    """One operator in one task."""

    def __init__(self, step: ProcessStep, link: ProcessLink, tally: Tally) -> None:
        self.call = link.call
        self.tally = tally
        assert tally.keyed is not None
        self.keyed = tally.keyed
        self.orders, attempt = link.orders()
        names = self.orders.manifest.names
        self._files = StateFiles(link.directory, step.query_id, names)
        self._written = StateChanges(self._files, link.call.shape, self.orders.batch, attempt)
        self._pieces: dict[int, list[PieceAt]] = {}
        self._heavy = HeavyKeys()

    def begin(self, groups: list[int]) -> None:
        self._pieces = self.orders.manifest.pieces(groups)

    def pieces(self, groups: Sequence[int]) -> dict[int, list[Piece]]:
        return {
            group: [self._files.piece(at.file, at.position) for at in self._pieces[group]]
            for group in groups
        }

    def lookup(
        self, hand: KeysAtHand, pieces: dict[int, list[Piece]], own: dict[int, _OwnKeys]
    ) -> KeysAtHand:
        """Add the keys of every group to ``hand``, those whose timer has come, and their states."""
        lookup = Lookup(self.call.shape)
        for group, keys in own.items():
            names, hashes = keys.keys, keys.hashes
            hand.rows += keys.rows
            if self.orders.is_due(group):
                timed, timed_hashes = self._timed(pieces[group], set(names))
                names = names + timed
                hashes = np.concatenate([hashes, timed_hashes])
                hand.rows += [[]] * len(timed)
            hand.keys += names
            hand.hashes += hashes.tolist()
            hand.groups += [group] * len(names)
            lookup.add(pieces[group], hashes)
        hand.found, hand.places = lookup.found(hand.keys)
        return hand

    def ran(
        self,
        hand: KeysAtHand,
        result: KeyedResult,
        groups: Sequence[int],
        pieces: dict[int, list[Piece]],
        nanos: int,
    ) -> None:
        """Note what a call changed and cost."""
        changed = pieces_by_group(hand, result, self.call.shape)
        for group in groups:
            change = changed.get(group)
            if change is not None:
                self._written.add(group, change, self._pieces[group], pieces[group])
            tally = self.keyed.groups[group] = GroupTally()
            tally.next_timer_micros = self._next_timer(group, pieces[group], change)
        self._share_time(hand, result, nanos)
        self._note_heavy(hand, result)
        self.tally.rows_out += len(result.made)

    def _note_heavy(self, hand: KeysAtHand, result: KeyedResult) -> None:
        took = result.key_nanos
        heaviest = nlargest(SHOWN, range(len(took)), key=took.__getitem__)
        with_rows = [at for at in heaviest if len(hand.rows[at])]
        if with_rows:
            keys = hand.key_columns(self.call.shape.keys.names)
            for at in with_rows:
                rows = hand.rows[at]
                text = partial(key_text, keys, rows[0])
                self._heavy.add(hand.hashes[at], took[at] / _NANOS, len(rows), text)

    def end(self) -> None:
        self.tally.heavy = self._heavy.result()
        self.keyed.files = self._written.close()
        self.keyed.fetched_bytes = self._files.fetching.bytes
        self.keyed.fetch_nanos = self._files.fetching.nanos
        self._files.tidy()

    def _timed(self, pieces: Sequence[Piece], known: set[bytes]) -> tuple[list[bytes], Hashes]:
        """Return the keys, other than those known, of which some piece says that time is up."""
        mark = self.orders.watermark_micros
        assert mark is not None
        shape = self.call.shape
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
        known = self.orders.timers[group]
        if self.orders.is_due(group):
            batches = [piece.batch for piece in pieces]
            known = next_timer(batches, self.orders.watermark_micros)
        return min((timer for timer in (new, known) if timer is not None), default=None)

    def _share_time(self, hand: KeysAtHand, result: KeyedResult, nanos: int) -> None:
        """Put down what every group cost: its own calls, and its part of what all share."""
        keys = max(1, len(hand.keys))
        shared = max(0, nanos - sum(result.nanos.values()))
        for number, group in enumerate(hand.groups):
            tally = self.keyed.groups[group]
            tally.keys += 1
            tally.rows += len(hand.rows[number])
        for group, own in result.nanos.items():
            tally = self.keyed.groups[group]
            tally.busy_nanos += own + shared * tally.keys // keys


@dataclass(frozen=True, slots=True)
class _OwnKeys:
    """The keys of a group that have rows, and the numbers of those."""

    keys: list[bytes]
    hashes: Hashes
    rows: list[Sequence[int]]


class _Task:
    def __init__(
        self, step: ProcessStep, tallies: dict[str, Tally], arrived: Sequence[pa.RecordBatch]
    ) -> None:
        self._step = step
        self._links = [_Link(step, link, tallies[link.call.operator]) for link in step.links]
        if arrived and self._links[0].orders.owners is not None:
            task = arrived[0].column(arrived[0].num_columns - _TASK_FROM_END)[0].as_py()
            for link in self._links:
                link.orders = replace(link.orders, task=task)
        self._due = sorted({group for link in self._links for group in link.orders.due_here})

    @property
    def has_due_groups(self) -> bool:
        """Whether timers of groups may have come that no row says so of."""
        return bool(self._due)

    def run(self, arrived: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = self._links[0]
        step = self._step.links[0]
        with first.tally.timed():
            empty, groups = first.call.shape.keys, self._step.groups
            rows = ArrivedRows.of(arrived, step.columns, step.call.time, groups, empty, self._due)
            self._check_owned(rows)
            for link in self._links:
                link.begin(rows.touched)
            chunks = iter(rows.chunks())
            first.tally.rows_in += rows.count
        while True:
            failures: Failures = []
            with first.tally.timed():
                chunk = next(chunks, None)
                if chunk is None:
                    break
            out = self._chunk(rows, chunk, failures)
            if self._step.sets_aside:
                yield from with_failures(out, failures)
            else:
                yield out
        for link in self._links:
            with link.tally.timed():
                link.end()

    def _chunk(self, rows: ArrivedRows, chunk: Chunk, failures: Failures) -> pa.RecordBatch:
        """Run some groups through all operators."""
        hand: KeysAtHand | None = None
        result: KeyedResult | None = None
        for link in self._links:
            before = len(failures)
            with link.tally.timed():
                started = time.perf_counter_ns()
                pieces = link.pieces(chunk.groups)
                if hand is None or result is None:
                    hand = self._at_hand(link, rows, chunk, pieces)
                else:
                    link.tally.rows_in += len(result.made)
                    hand = self._handed(link, hand, result, chunk, pieces)
                result = link.call(hand, link.orders.watermark_micros, failures)
                nanos = time.perf_counter_ns() - started
                link.ran(hand, result, chunk.groups, pieces, nanos)
            link.tally.count_failures(failures[before:])
        assert result is not None
        return result.made.batch

    def _at_hand(
        self, link: _Link, rows: ArrivedRows, chunk: Chunk, pieces: dict[int, list[Piece]]
    ) -> KeysAtHand:
        """Bring rows and states together: the chunk's keys, and those whose timer has come."""
        order = rows.order[chunk.start : chunk.end]
        batch = joined(rows.table.take(pa.array(order)).to_batches(), rows.table.schema)
        keys = [batch.column(name) for name in link.call.shape.keys.names]
        found = grouped(keys, batch.num_rows)
        first = found.order[found.starts[:-1]] if found.keys else found.order[:0]
        hashes, groups = rows.hashes[order], rows.groups[order]
        starts = found.starts.tolist()
        batch = batch.take(pa.array(found.order))  # key after key
        bounds = np.searchsorted(groups[first], [*chunk.groups, chunk.groups[-1] + 1])
        own = {
            group: _OwnKeys(
                found.keys[low:high],
                hashes[first[low:high]],
                [range(starts[i], starts[i + 1]) for i in range(low, high)],
            )
            for group, low, high in zip(chunk.groups, bounds, bounds[1:], strict=False)
        }
        return link.lookup(KeysAtHand(batch), pieces, own)

    def _handed(
        self,
        link: _Link,
        before: KeysAtHand,
        result: KeyedResult,
        chunk: Chunk,
        pieces: dict[int, list[Piece]],
    ) -> KeysAtHand:
        """Give what the operator before made of its keys to the next one."""
        made = result.made
        self._check_kept(link, before, made)
        ordered = made.in_order(link.call.time)
        numbers: dict[int, list[int]] = {group: [] for group in chunk.groups}
        for number in ordered:
            numbers[before.groups[number]].append(number)
        own = {
            group: _OwnKeys(
                [before.keys[number] for number in found],
                np.array([before.hashes[number] for number in found], np.int64),
                [ordered[number] for number in found],
            )
            for group, found in numbers.items()
        }
        return link.lookup(KeysAtHand(made), pieces, own)

    def _check_kept(self, link: _Link, before: KeysAtHand, made: MadeRows) -> None:
        """Stop where a row has another key than the one that it was made for."""
        names = link.call.shape.keys.names
        at = made.strayed(names, before.keys) if len(made) else None
        if at is None:
            return
        position = self._links.index(link) - 1
        problem = WrongValue(
            f"returned a row with another {', '.join(names)} than that of its key, which it was "
            "declared to keep (keeps=...). Return the key as it was, or leave it out of keeps"
        )
        row = row_text(made.batch, at, ROW_LIMIT_BYTES)
        stop_query(self._links[position].call.operator, row, problem, remedy="")

    def _check_owned(self, rows: ArrivedRows) -> None:
        """Stop where rows are not with their key: an operator before changed what it keeps."""
        link = self._links[0]
        owners = link.orders.owners
        if owners is None:
            return
        strayed = np.array(owners)[rows.groups] != link.orders.task
        if strayed.any():
            names = ", ".join(link.call.shape.keys.names)
            keepers = self._step.keepers
            others = f" (or {', '.join(keepers[:-1])} before it)" if keepers[1:] else ""
            problem = ValueError(
                f"rows came to '{link.call.operator}' with another {names} than they had, which "
                f"'{keepers[-1]}'{others} was declared to keep (keeps=...). Return it as it was, "
                "or leave it out of keeps"
            )
            stop_query(keepers[-1], NOT_KNOWN, problem, remedy="")
