"""One keyed operator at run time: who owns its key groups, and the files that hold their state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.engine.committed_files import damaged_states
from penstock.engine.keyed_state import KeyedState
from penstock.engine.keyed_tally import KeyedTally
from penstock.engine.python_step import Tally
from penstock.engine.state_manifest import Manifest
from penstock.engine.task_orders import Orders
from penstock.errors import QueryError
from penstock.journal.events import KeyGroupsMoved, KnownEvent, StateStored
from penstock.journal.placement_events import KeyGroupsPlaced
from penstock.placement.flux import Move
from penstock.placement.group_table import GroupTable
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
        self._awaited: frozenset[int] = frozenset()
        self._told_owners: tuple[int, ...] = ()
        files.make_directory(directory)
        if state is not None:
            check_state_files(files, directory, state.manifest)
        self._sweep(before=None)

    @property
    def tasks(self) -> int:
        """How many tasks the running batch has."""
        return self._running.groups.table.tasks

    @property
    def table(self) -> GroupTable:
        """Who owns which group in the running batch."""
        return self._running.groups.table

    def lead(self, tasks: int) -> None:
        """Spread its groups over the tasks of the batch to come."""
        state = self._state or KeyedState.fresh(self.operator.groups, tasks)
        groups, resizing = self._rule.resized(state.groups, tasks)
        self._begin(replace(state, groups=groups), (*self._decided, resizing))

    def follow(self, leader: KeyedOperator) -> None:
        """Let its groups be where those of another operator are, in whose component it runs."""
        table = leader.table
        state = self._state or KeyedState.fresh(self.operator.groups, table.tasks)
        before = state.groups
        moves = tuple(
            Move(group, before.table.owners[group], table.owners[group], before.loads[group])
            for group in before.table.moved(table)
        )
        reason = f"it runs with '{leader.operator.name}', whose groups are there"
        groups = replace(before, table=table, uneven=0)
        self._begin(replace(state, groups=groups), (KeyGroupDecision(moves, reason),))

    def _begin(self, state: KeyedState, decisions: Sequence[KeyGroupDecision]) -> None:
        self._moving = [each for each in decisions if each.moves]
        self._decided = []
        self._running = self.next_state = state
        self._tallies = []

    def due(self, low_micros: int | None) -> frozenset[int]:
        """Return the groups of which timers may have come."""
        return self._running.due(low_micros)

    def orders(self, batch_id: int, low_micros: int | None, *, knows_owners: bool) -> Orders:
        """Say what the tasks of a batch have to know."""
        running, table = self._running, self._running.groups.table
        self._awaited = self.due(low_micros) if knows_owners else frozenset()
        owners = table.owners if knows_owners else None
        return Orders(batch_id, low_micros, running.manifest, running.timers, owners, table.tasks)

    def rebalance(self) -> None:
        """Move groups before the next batch as far as their loads ask for it."""
        if self._state is None:
            return
        groups, decision = self._rule.rebalanced(self._state.groups)
        self._state = replace(self._state, groups=groups)
        self._decided.append(decision)

    def absorb(self, tallies: Sequence[Tally]) -> dict[int, float]:
        """Take in what the tasks of the batch told; return the loads of the groups."""
        self._tallies = [t.keyed for t in tallies if t.keyed is not None and t.keyed.is_whole]
        # A task that ran twice is told of twice: of each group the last one counts, whole.
        owner = {group: tally for tally in self._tallies for group in tally.groups}
        if not self._awaited <= owner.keys():
            raise QueryError(
                f"timers of '{self.operator.name}' did not come: its rows were united with others "
                "in the sink, and its tasks, counted anew there, did not know their keys. Write "
                "fuse=False on that operator, or unite streams with union(...). Start the query "
                "again; the batch is run once more."
            )
        told = list({id(tally): tally for tally in owner.values()}.values())
        timers = list(self._running.timers)
        loads: dict[int, float] = {}
        for group, tally in owner.items():
            timers[group] = tally.groups[group].next_timer_micros
            loads[group] = tally.groups[group].busy_nanos / _NANOS
        written = [file for tally in told for file in tally.files]
        manifest = self._running.manifest.after(written)
        self.next_state = KeyedState(self._running.groups, manifest, tuple(timers))
        return loads

    def balance(self, loads: Mapping[int, float]) -> None:
        """Decide which groups move before the next batch, by the loads of all that go with them."""
        groups, decision = self._rule.observe(self._running.groups, loads, self.tasks)
        self._decided = [decision]
        self.next_state = replace(self.next_state, groups=groups)

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
        if self.table.owners != self._told_owners:
            self._told_owners = self.table.owners
            yield KeyGroupsPlaced(batch_id, name, self._told_owners)
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
            is_old = before is None or (batch.isdecimal() and int(batch) < before)
            if name not in live and is_old:
                self._files.delete(f"{self.directory}/{name}")


def check_state_files(files: HadoopFiles, directory: str, manifest: Manifest) -> None:
    """Raise unless the files that a commit record names are as they were at its commit."""
    for error in damaged_states(files, directory, manifest):
        raise error
