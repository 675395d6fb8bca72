"""One keyed operator at run time: who owns its key groups, and the files that hold their state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.engine.keyed_rows import Route
from penstock.engine.keyed_state import KeyedState
from penstock.engine.keyed_tally import KeyedTally
from penstock.engine.python_step import Tally
from penstock.engine.task_orders import Orders
from penstock.journal.events import KeyGroupsMoved, KnownEvent, StateStored
from penstock.placement.key_groups import KeyGroupDecision, KeyGroups
from penstock.sinks.filesystem import HadoopFiles
from penstock.topology.operators import Process

_NANOS = 1e9
SWEEP_PERIOD = 64


class KeyedOperator:
    """The driver's view of one ``process``.

    ``state`` is what the newest commit says, None before the first; ``next_state`` what the running
    batch will commit. The state of keys itself never comes to the driver.
    """

    def __init__(
        self,
        operator: Process,
        files: HadoopFiles,
        directory: str,
        state: KeyedState | None,
        rule: KeyGroups,
    ) -> None:
        self.operator = operator
        self.directory = directory
        self._files = files
        self._rule = rule
        self._state = state
        self._running = self.next_state = state or KeyedState.fresh(operator.groups, 1)
        self._moving: list[KeyGroupDecision] = []
        self._decided: list[KeyGroupDecision] = []
        self._tallies: list[KeyedTally] = []
        files.make_directory(directory)
        self._sweep(before=None)

    @property
    def tasks(self) -> int:
        """How many tasks the running batch has."""
        return self._running.groups.table.tasks

    def begin(self, batch_id: int, tasks: int, low_micros: int | None) -> tuple[Route, Orders]:
        """Say who owns which group in a batch, and what its tasks have to know."""
        state = self._state or KeyedState.fresh(self.operator.groups, tasks)
        groups, resizing = self._rule.resized(state.groups, tasks)
        self._moving = [each for each in (*self._decided, resizing) if each.moves]
        self._running = self.next_state = replace(state, groups=groups)
        self._tallies = []
        orders = Orders(batch_id, low_micros, state.manifest, state.timers)
        return Route(groups.table, state.due(low_micros)), orders

    def absorb(self, tallies: Sequence[Tally]) -> None:
        """Take in what the tasks of the batch told."""
        self._tallies = [t.keyed for t in tallies if t.keyed is not None and t.keyed.is_whole]
        # A task that ran twice is told of twice: of each group the last one counts, whole.
        owner = {group: tally for tally in self._tallies for group in tally.groups}
        told = list({id(tally): tally for tally in owner.values()}.values())
        timers = list(self._running.timers)
        loads: dict[int, float] = {}
        for group, tally in owner.items():
            timers[group] = tally.groups[group].next_timer_micros
            loads[group] = tally.groups[group].busy_nanos / _NANOS
        written = [file for tally in told for file in tally.files]
        groups, decision = self._rule.observe(self._running.groups, loads, self.tasks)
        self._decided = [decision]
        manifest = self._running.manifest.after(written)
        self.next_state = KeyedState(groups, manifest, tuple(timers))

    def committed(self, batch_id: int) -> None:
        """Adopt the new state, and delete the files that it no longer names."""
        gone = self._running.manifest.names - self.next_state.manifest.names
        for name in sorted(gone):
            self._files.delete(f"{self.directory}/{name}")
        self._state = self.next_state
        if batch_id % SWEEP_PERIOD == SWEEP_PERIOD - 1:
            self._sweep(before=batch_id)

    def events(self, batch_id: int) -> Iterator[KnownEvent]:
        """Yield what the journal should know of the batch."""
        name = self.operator.name
        pause = max((tally.fetch_nanos for tally in self._tallies), default=0) / _NANOS
        for decision in self._moving:
            # The state of a key can't be in two places, so its group waits until it has moved.
            yield KeyGroupsMoved(
                batch_id, name, decision.moves, decision.reason, "disruptive", pause
            )
        manifest = self.next_state.manifest
        written = {file.name: file.bytes for tally in self._tallies for file in tally.files}
        fetched = sum(tally.fetched_bytes for tally in self._tallies)
        yield StateStored(
            batch_id, name, len(manifest.files), manifest.bytes, sum(written.values()), fetched
        )

    def _sweep(self, before: int | None) -> None:
        """Delete what tries that failed have left: files that no record names."""
        live = self._state.manifest.names if self._state else frozenset()
        for name in self._files.list(self.directory):
            batch = name.split("-")[0]
            is_old = before is None or (batch.isdigit() and int(batch) < before)
            if name not in live and is_old:
                self._files.delete(f"{self.directory}/{name}")
