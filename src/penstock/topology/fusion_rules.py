"""What fusion has to know of a topology: attributes, rates, and what can't run together.

Some rows come as they come: those of a source, of a union, of a join that may move both sides, and
of windows. SQL runs where its rows are, so it always goes with what it reads. Python operators and
those that need the rows of a key together begin a component, at whose entrance rows may move, or
go with one that has begun.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from functools import cached_property

from penstock.topology.attributes import Attribute, Lineage, keys_of
from penstock.topology.dag import Topology
from penstock.topology.fusion import Edge, Members, Score, by_attributes, by_rate, fuse
from penstock.topology.grouping import Grouping
from penstock.topology.operators import (
    Compute,
    Consolidate,
    DeadLetters,
    Filter,
    Join,
    LateRows,
    Map,
    MapBatches,
    Operator,
    Output,
    Process,
    Select,
    Source,
    Union,
)

ANY = "any"


class TopologyJob:
    """A topology as fusion sees it: sinks and dead letters apart, SQL with what it reads.

    ``measured`` are the rows that came out of operators, per second or per batch; where nothing is
    known of one, it is taken to let all its rows through. ``moving`` are windows that move rows by
    rules of their own, such as key groups.
    """

    def __init__(
        self,
        topology: Topology,
        measured: Mapping[str, float] | None = None,
        moving: frozenset[str] = frozenset(),
    ) -> None:
        self.topology = topology
        self.lineage = Lineage(topology)
        self._measured = dict(measured or {})
        self.moving = moving
        self.leaders = _leaders(topology)
        self.operators = tuple(dict.fromkeys(self.leaders.values()))
        self._at = {name: number for number, name in enumerate(self.operators)}

    @cached_property
    def rates(self) -> Mapping[Edge, float]:
        """The rows along every edge on which operators may be fused."""
        out = self.rows_out
        found: dict[Edge, float] = {}
        for name, leader in self.leaders.items():
            if name == leader:
                for each in self.topology[name].inputs:
                    if each in self.leaders:
                        edge = self.leaders[each], name
                        found[edge] = found.get(edge, 0.0) + out[each]
        return found

    @cached_property
    def rows_out(self) -> Mapping[str, float]:
        """The rows that come out of every operator."""
        out: dict[str, float] = {}
        for operator in self.topology:
            before = sum(out[name] for name in operator.inputs) if operator.inputs else 1.0
            out[operator.name] = self._measured.get(operator.name, before)
        return out

    def attributes(self, members: Members) -> frozenset[Hashable]:
        """Return on what the rows of a component may be partitioned at its entrance: PA(C)."""
        rigid = [name for name in self._ordered(members) if self.is_rigid(name, members)]
        first = self.first(members)
        entrance = frozenset(self.lineage.inputs(first).values())
        # Row functions and partials take any row. Windows that stand alone, also those of all rows,
        # bring them together by themselves.
        if not rigid or (rigid == [first] and isinstance(self.topology[first], Compute)):
            return entrance | {ANY}
        common = frozenset.intersection(*[self.key_attributes(name) for name in rigid])
        processes = {self._keys_in_order(name) for name in rigid if self._is_process(name)}
        if not processes:
            return common & entrance
        # Key groups are of whole keys in their order, and those of one operator serve all.
        (first_keys, *others) = processes
        whole = frozenset(first_keys)
        return whole if not others and whole <= common and whole <= entrance else frozenset()

    def partitioned_on(self, members: Members) -> frozenset[Attribute]:
        """Return the attributes on which the rows of a component have to be partitioned."""
        leading = self._ordered(members)
        if isinstance(self.topology[leading[0]], Compute | Consolidate | Source | Union | Join):
            return frozenset()  # they stay where they are, or Spark's own exchange moves them
        found = self.attributes(members)
        return frozenset(each for each in found if isinstance(each, Attribute) and ANY not in found)

    def is_rigid(self, name: str, members: Members) -> bool:
        """Whether an operator needs the rows of a key together in a component.

        Partials do where their windows are formed in the same component.
        """
        operator = self.topology[name]
        if isinstance(operator, Compute):
            return self.windows_of(name) in members
        return isinstance(operator, Process)

    def key_attributes(self, name: str) -> frozenset[Attribute]:
        """Return the attributes that a keyed operator groups by."""
        return frozenset(self._keys_in_order(name))

    def _keys_in_order(self, name: str) -> tuple[Attribute, ...]:
        at_hand = self.lineage.inputs(name)
        return tuple(at_hand[key] for key in keys_of(self.topology[name], self.topology) or ())

    def windows_of(self, compute: str) -> str:
        """Return the operator that forms windows of some partials."""
        (consolidate,) = self.topology.consumers[compute]
        return consolidate.name

    def first(self, members: Iterable[str]) -> str:
        """Return the operator at which rows enter a component."""
        return self._ordered(members)[0]

    def may_fuse(self, upstream: Members, downstream: Members) -> bool:
        """Whether two components may become one, attributes aside."""
        return self.problem(upstream | downstream) is None

    def problem(self, members: Members) -> str | None:
        """Say why some operators can't be one component, attributes aside; None where they can."""
        ordered = self._ordered(members)
        operators = [self.topology[name] for name in ordered]
        for number, operator in enumerate(operators[1:], start=1):
            reads = {self.leaders[name] for name in operator.inputs if name in self.leaders}
            if not reads or not reads <= set(ordered[:number]):
                return self._unread(operators[0], operator, reads - set(ordered[:number]))
            if reason := self._reason_here(operators[0], operator, frozenset(ordered[:number])):
                return reason
        groups = {op.groups for op in operators if isinstance(op, Process)}
        if len(groups) > 1:
            return "they have different numbers of key groups"
        return _unwanted(operators)

    def _unread(self, entrance: Operator, operator: Operator, others: Iterable[str]) -> str:
        """Say why an operator does not belong to a component: what it reads is not in it."""
        for other in sorted(others):
            if entrance in self.topology.upstream(other):
                return f"between '{entrance.name}' and '{operator.name}' there is '{other}'"
        return f"'{operator.name}' does not read what '{entrance.name}' leads to"

    def _reason_here(self, entrance: Operator, entered: Operator, before: Members) -> str | None:
        """Say why rows must be free to move between a component and what reads it."""
        if isinstance(entered, Source | Union | Join) or not _is_leader_kind(entered):
            return f"the rows of '{entered.name}' come as they come"
        if entered.name in self.moving or (isinstance(entered, Compute) and entered.moves_rows):
            return f"'{entered.name}' moves its rows by rules of its own"
        if isinstance(entered, Consolidate):
            is_own = isinstance(entrance, Compute) and entrance.name in entered.inputs
            if is_own or isinstance(entrance, Map | MapBatches | Process):
                return None
            return f"the rows of '{entrance.name}' come as they come, not by key"
        reads = [self.leaders[name] for name in entered.inputs]
        windows = [name for name in reads if isinstance(self.topology[name], Consolidate)]
        if any(entrance.name not in (name, *self.topology[name].inputs) for name in windows):
            return f"the windows of '{windows[0]}' come out wherever they are formed"
        if isinstance(entered, Compute):
            return None
        if not isinstance(entrance, Map | MapBatches | Process):
            return (
                f"the rows of '{entrance.name}' come as they come, and '{entered.name}' has tasks "
                "of its own"
            )
        has_costs = isinstance(entered, Map | MapBatches) and entered.cost_key
        if has_costs and self.topology.is_fork(entered.inputs[0]):
            return f"the rows of '{entered.name}' are placed by what they cost it"
        if isinstance(entered, Process) and _is_placed_by_cost(self.topology, before):
            return f"rows before '{entered.name}' are placed by what they cost, not by key"
        if entered.name in self._united and not self._enters(entrance, entered):
            return f"a union follows '{entered.name}', and Spark counts its tasks anew there"
        return None

    @cached_property
    def _united(self) -> frozenset[str]:
        """The keyed operators whose rows get into a union without leaving their tasks."""
        found: set[str] = set()
        for operator in reversed(tuple(self.topology)):
            for reader in self.topology.consumers[operator.name]:
                is_later = isinstance(reader, Compute | Consolidate)
                if isinstance(reader, Union) or (reader.name in found and not is_later):
                    found.add(operator.name)
        return frozenset(name for name in found if self._is_process(name))

    def _enters(self, entrance: Operator, operator: Operator) -> bool:
        """Whether rows move right before a keyed operator, or a chain of them that it ends."""
        if operator is entrance:
            return True
        before = self.topology[operator.inputs[0]]
        if not (isinstance(before, Process) and isinstance(operator, Process)):
            return False
        is_chain = before.keys == operator.keys and not self.topology.is_fork(before.name)
        return is_chain and self._enters(entrance, before)

    def expanded(self, components: Iterable[Members]) -> tuple[Members, ...]:
        """Return components with the SQL operators that go along."""
        return tuple(
            frozenset(name for name, leader in self.leaders.items() if leader in members)
            for members in components
        )

    def _ordered(self, members: Iterable[str]) -> list[str]:
        return sorted((name for name in members if name in self._at), key=self._at.__getitem__)

    def _is_process(self, name: str) -> bool:
        return isinstance(self.topology[name], Process)


def first_grouping(job: TopologyJob, score: Score = by_rate) -> Grouping:
    """Return the grouping that automatic fusion finds."""
    return named(job, fuse(job, score))


SCORES: Mapping[str, Score] = {"rates": by_rate, "attributes": by_attributes}


def single_grouping(job: TopologyJob) -> Grouping:
    """Return the grouping in which every operator runs by itself, with windows beside partials."""
    return named(job, tuple(frozenset({name}) for name in job.operators))


def named(job: TopologyJob, found: Iterable[Members]) -> Grouping:
    """Name components: as the user did, or after the operator at which rows enter.

    Partials that are not made where their rows are bring them together for their windows, so that
    the two are one.
    """
    homes: dict[str, str] = {}
    topology = job.topology
    given = {op.component for op in topology if op.component}
    for members in job.expanded(_paired(job, found)):
        inside = [op.name for op in topology if op.name in members]
        wanted = next((c for name in inside if (c := topology[name].component)), None)
        homes |= dict.fromkeys(inside, wanted or _free_name(inside[0], given))
    return Grouping({op.name: homes[op.name] for op in topology if op.name in homes})


def _free_name(name: str, given: Container[str]) -> str:
    """Return a component's name: that of an operator, unless the user gave it to another one."""
    return _free_name(f"{name}_2", given) if name in given else name


def _paired(job: TopologyJob, found: Iterable[Members]) -> list[Members]:
    components = list(found)
    for members in tuple(components):
        if members in components and isinstance(job.topology[job.first(members)], Compute):
            windows = job.windows_of(job.first(members))
            theirs = next(each for each in components if windows in each)
            if theirs is not members:
                components[components.index(members)] = members | theirs
                components.remove(theirs)
    return components


def _leaders(topology: Topology) -> dict[str, str]:
    """Return, for every operator but sinks and dead letters, the one with which it always goes."""
    leaders: dict[str, str] = {}
    for operator in topology:
        if isinstance(operator, Output | DeadLetters):
            continue
        reads = operator.inputs[0] if operator.inputs else ""
        goes_along = not _is_leader_kind(operator) and reads in leaders
        leaders[operator.name] = leaders[reads] if goes_along else operator.name
    return leaders


def _is_leader_kind(operator: Operator) -> bool:
    if isinstance(operator, Join):
        return operator.broadcast is not True
    return not isinstance(operator, Select | Filter | LateRows)


def _unwanted(operators: Sequence[Operator]) -> str | None:
    """Say why the user does not want some operators in one component."""
    # Partials that are brought together by themselves are so beside their windows.
    alone = [op for op in operators[isinstance(operators[0], Compute) :] if not op.fuse]
    if len(operators) > 1 and alone:
        return f"'{alone[0].name}' is to run by itself (fuse=False)"
    named = [op for op in operators if op.component or not _is_windowed(op)]
    other = next((op for op in named if op.component != named[0].component), None)
    if other is None:
        return None
    first, second = sorted((named[0], other), key=lambda op: op.component is None)
    if second.component is None:
        return f"'{first.name}' is to be in component '{first.component}', '{second.name}' is not"
    return f"'{first.name}' and '{second.name}' are to be in components of their own"


def _is_windowed(operator: Operator) -> bool:
    return isinstance(operator, Compute | Consolidate)


def _is_placed_by_cost(topology: Topology, members: Members) -> bool:
    return any(
        isinstance(op, Map | MapBatches) and op.cost_key
        for op in (topology[name] for name in members)
    )
