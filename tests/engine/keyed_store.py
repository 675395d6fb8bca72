"""The tasks of a keyed operator without Spark: the same code, with batches and owners of a test."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engine import state_files
from penstock.engine.arrived_rows import NO_ROW
from penstock.engine.keyed_call import KeyedCall
from penstock.engine.process_step import ProcessLink, ProcessStep
from penstock.engine.python_step import Tally
from penstock.engine.state_manifest import Manifest
from penstock.engine.state_pieces import PieceShape
from penstock.engine.task_orders import Orders

Row = dict[str, Any]


@dataclass
class KeyedStore:
    """Runs batches of rows against the files in a directory."""

    directory: Path
    function: Callable[..., Any]
    rows: pa.Schema
    keys: pa.Schema
    state: pa.Schema
    out: pa.Schema
    hash_of: Callable[[Row], int]
    groups: int = 4
    where: str | None = None
    manifest: Manifest = field(default_factory=Manifest)
    timers: list[int | None] = field(default_factory=list)
    batch: int = 0
    attempts: int = 0
    fetched_bytes: int = 0

    def __post_init__(self) -> None:
        self.timers = self.timers or [None] * self.groups

    def run(
        self, rows: Sequence[Row], mark: int | None, owners: Sequence[int], tries: int = 1
    ) -> list[Row]:
        """Run one batch; ``owners`` is the task of every group. Only the last try counts."""
        hashes = [self.hash_of(row) for row in rows]
        due = [
            group
            for group, timer in enumerate(self.timers)
            if timer is not None and mark is not None and timer <= mark
        ]
        made: list[Row] = []
        tallies: list[Tally] = []
        for task in sorted(
            {owners[each % self.groups] for each in hashes} | {*map(owners.__getitem__, due)}
        ):
            numbers = [i for i, own in enumerate(hashes) if owners[own % self.groups] == task]
            markers = [group for group in due if owners[group] == task]
            table = self._arrived(rows, hashes, numbers, markers)
            for _ in range(tries):
                out, tally = self._task(table, mark)
            made += out
            tallies.append(tally)
        self._commit(tallies)
        return made

    def forget(self) -> None:
        """Drop what a worker keeps open, as when it is another one."""
        state_files._open_files.clear()

    def _arrived(
        self, rows: Sequence[Row], hashes: list[int], numbers: list[int], markers: list[int]
    ) -> pa.RecordBatch:
        own = [rows[i] for i in numbers] + [dict.fromkeys(self.rows.names)] * len(markers)
        nullable = pa.schema([pa.field(each.name, each.type) for each in self.rows])
        batch = pa.RecordBatch.from_pylist(own, schema=nullable)
        columns = [
            *batch.columns,
            pa.array([hashes[i] for i in numbers] + markers, pa.int64()),
            pa.array([*numbers, *[NO_ROW] * len(markers)], pa.int64()),
        ]
        return pa.RecordBatch.from_arrays(columns, names=[*self.rows.names, "hash", "arrival"])

    def _task(self, batch: pa.RecordBatch, mark: int | None) -> tuple[list[Row], Tally]:
        self.attempts += 1
        told: dict[str, Tally] = {}
        text = Orders(self.batch, mark, self.manifest, tuple(self.timers)).to_json()
        shape = PieceShape(self.keys, self.state)
        time = "ts" if "ts" in self.rows.names else None
        link = ProcessLink(
            KeyedCall("op", self.function, shape, self.out, "fail", True, time),
            tuple(self.rows.names),
            self.where or str(self.directory),
            lambda: (Orders.from_json(text), self.attempts),
        )

        def report(_: str, tallies: dict[str, Tally]) -> None:
            told.update(tallies)

        step = ProcessStep((link,), self.groups, "query", False, report)
        half = batch.num_rows // 2
        made = [
            row
            for each in step([batch.slice(half), batch.slice(0, half)])
            for row in each.to_pylist()
        ]
        return made, told["op"]

    def _commit(self, tallies: list[Tally]) -> None:
        written = []
        for tally in tallies:
            assert tally.keyed is not None
            assert tally.keyed.is_whole
            written += tally.keyed.files
            self.fetched_bytes += tally.keyed.fetched_bytes
            for group, each in tally.keyed.groups.items():
                self.timers[group] = each.next_timer_micros
        self.manifest = Manifest.from_json(self.manifest.after(written).to_json())
        for name in set(os.listdir(self.directory)) - self.manifest.names:
            os.remove(self.directory / name)
        self.batch += 1


def spread(value: int) -> int:
    """Return a hash that any number of groups shares out evenly."""
    return int(np.int64(np.uint64(value * 0x9E3779B97F4A7C15 % 2**64).astype(np.int64)) >> 7)
