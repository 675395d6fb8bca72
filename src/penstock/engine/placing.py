"""Where rows go between components, and what is learnt about their costs from every batch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import functions as F

from penstock.engine.columns import TASK
from penstock.engine.compiled_batch import Rows
from penstock.engine.keyed_rows import key_hash
from penstock.engine.placing_function import PlacingFunction
from penstock.engine.python_step import Tally
from penstock.engine.row_hash import row_hash
from penstock.journal.events import KnownEvent, PlacementChanged
from penstock.placement.attribution import SlicedCosts, attributed
from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_model import CostModel, TaskCosts
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.least_loaded import LeastLoaded
from penstock.placement.over_partition import task_count
from penstock.placement.placement import Border, Placement
from penstock.placement.placer import KnownCost, Placer
from penstock.topology.components import Component
from penstock.topology.dag import Topology
from penstock.topology.operators import Operator, PythonOperator

TASK_START_SECONDS = 0.01
ROWS_A_PLACER = 50_000
TIMES_TO_MOVE = 4.0


class Placing:
    """Places rows before every component, and learns what they cost."""

    def __init__(
        self,
        placement: Placement,
        topology: Topology,
        components: Iterable[Component],
        states: Mapping[str, Any],
    ) -> None:
        self._placement = placement
        self._by_load: dict[str, LeastLoaded] = {}
        components = tuple(components)
        self._first_python = {
            component.name: next(op.name for op in component.operators if _is_python(op))
            for component in components
            if component.runs_python
        }
        self._costs: dict[str, ComponentCosts] = {}
        if isinstance(placement, CostAware):
            for component in components:
                operators = _with_known_keys(topology, component)
                if operators:
                    found = ComponentCosts(placement, operators)
                    found.restore(_known(states, component.name))
                    self._costs[component.name] = found

    @property
    def sketch(self) -> CostSketch | None:
        """An empty sketch for tasks to gather costs in; None where nobody asks for them."""
        return self._placement.sketch() if isinstance(self._placement, CostAware) else None

    def place(self, component: str, rows: Rows, tasks: int) -> Rows:
        """Return the rows where the tasks of a component will find them."""
        costs = self._costs.get(component)
        if costs is not None:
            by_cost = costs.place(rows, tasks)
            if by_cost is not None:
                return by_cost
        border = Border(rows.partitions, tasks, rows.ordered)
        placement = self._by_load.get(component, self._placement)
        if placement.fits(border):
            return rows
        expression = placement.expression(border)
        if expression is None:
            return Rows(rows.df.repartition(tasks), tasks, ordered=False)
        marked = rows.df.withColumn(TASK, F.expr(expression).cast("int"))
        moved = marked.repartitionById(tasks, F.col(TASK)).drop(TASK)
        return Rows(moved, tasks, ordered=False)

    def by_columns(self, rows: Rows, columns: Sequence[str], tasks: int) -> Rows:
        """Return the rows with those that are equal in some columns in one task."""
        hashed = rows.df.withColumn(
            TASK, F.pmod(key_hash(rows.df.schema, columns), F.lit(tasks)).cast("int")
        )
        moved = hashed.repartitionById(tasks, F.col(TASK)).drop(TASK)
        return Rows(moved, tasks, ordered=False)

    def learn(self, tallies: Mapping[str, Sequence[Tally]], slots: Mapping[str, int]) -> None:
        """Take in what the tasks of a batch measured; ``slots`` are by component."""
        for name, costs in self._costs.items():
            costs.learn(tallies, slots.get(name, 1))
        if isinstance(self._placement, LeastLoaded):
            for name, operator in self._first_python.items():
                tasks = tallies.get(operator, ())
                rows = [tally.rows_in for tally in tasks]
                if sum(rows):
                    busy = sum(tally.busy_nanos for tally in tasks) / 1e9
                    self._by_load[name] = self._placement.after(rows, busy / sum(rows))

    def mean_seconds(self, operator: str, key_hash: int) -> float | None:
        """Return what a row of a key takes in an operator, as far as a sketch knows."""
        for costs in self._costs.values():
            sketch = costs.sketch_of(operator)
            if sketch is not None:
                return float(sketch.estimate(np.array([key_hash], np.uint64))[0])
        return None

    def states(self) -> dict[str, Any]:
        """Return what the next run should know, as plain JSON values."""
        return {name: costs.to_json() for name, costs in self._costs.items()}

    def events(self, batch_id: int) -> Iterator[KnownEvent]:
        """Yield what changed in where rows go."""
        for name, costs in self._costs.items():
            for placement, reason in costs.news:
                yield PlacementChanged(batch_id, name, placement, reason)
            costs.news.clear()


@dataclass(frozen=True, slots=True)
class _Choice:
    """How the next batch is placed; ``placers`` is how many tasks may do it."""

    by_cost: bool = False
    tasks: int = 1
    placers: int = 1


@dataclass(frozen=True, slots=True)
class _Shipped:
    """The function that places rows, and what it was made of."""

    choice: _Choice
    upstream: int
    snapshots: Mapping[str, Any]
    function: PlacingFunction


class ComponentCosts:
    """What is known of the costs of one component's operators, and how its rows are placed by it.

    ``news`` are changes that nobody has told yet: the placement and the reason.
    """

    def __init__(self, placement: CostAware, operators: Sequence[PythonOperator]) -> None:
        self._placement = placement
        self._operators = operators
        self._first = operators[0].name
        self._models = {operator.name: placement.model() for operator in operators}
        keys = [name for operator in operators for name in operator.cost_key]
        self._columns = tuple(dict.fromkeys(keys))
        self._weights = {operator.name: 1.0 for operator in operators}
        self._rows = 0.0
        self._choice = _Choice()
        self._stays = False
        self._shipped: _Shipped | None = None
        self.news: list[tuple[str, str]] = []

    def place(self, rows: Rows, tasks: int) -> Rows | None:
        """Return the rows placed by cost; None where they should be dealt in turn."""
        self._stays = rows.partitions == tasks
        if not self._decide(tasks):
            return None
        df, upstream = rows.df, rows.partitions or tasks
        if not rows.in_python and upstream > self._choice.placers:
            df, upstream = df.coalesce(self._choice.placers), self._choice.placers
        if not rows.ordered:
            df = df.sortWithinPartitions(row_hash(df.schema))
        moved = self._shipped_now(upstream).moved(df, self._columns)
        return Rows(moved, self._choice.tasks, ordered=False)

    def learn(self, tallies: Mapping[str, Sequence[Tally]], slots: int) -> None:
        """Learn from what the component's tasks measured."""
        first = sum(tally.rows_in for tally in tallies.get(self._first, ()))
        if not first:
            return
        self._rows = float(first)
        for operator in self._operators:
            name, model = operator.name, self._models[operator.name]
            tasks = tallies.get(name, ())
            self._weights[name] = sum(tally.rows_in for tally in tasks) / first
            learnt = model.learn(_task_costs(tasks, model, self._placement))
            if learnt is not None and learnt.is_change:
                placement = "by cost" if self._choice.by_cost else "in turn"
                self.news.append((placement, f"'{name}': {learnt.reason}"))
        self._decide(slots)

    def sketch_of(self, operator: str) -> CostSketch | None:
        """Return the sketch of an operator's costs; None where none is known."""
        model = self._models.get(operator)
        return None if model is None else model.sketch

    def to_json(self) -> dict[str, Any]:
        """Write what is known as plain JSON values."""
        models = {name: model.to_json() for name, model in self._models.items()}
        return {"models": models, "rows": self._rows, "weights": dict(self._weights)}

    def restore(self, document: Mapping[str, Any]) -> None:
        """Go on with what ``to_json`` wrote; what can't be read is learnt anew."""
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            for name, model in self._models.items():
                if name in document["models"]:
                    model.restore(document["models"][name])
                    self._weights[name] = float(document["weights"][name])
            self._rows = float(document["rows"])

    def _decide(self, slots: int) -> bool:
        """Weigh placing by cost against dealing in turn, for as many rows as came last."""
        if slots < 2:  # there is nothing to choose, and nothing to tell
            return False
        gain = sum(
            model.gain_seconds(self._rows * self._weights[name], slots)
            for name, model in self._models.items()
        )
        # A narrow miss must not make it go back and forth.
        least = self._placement.least_gain_seconds * (0.7 if self._choice.by_cost else 1.0)
        if self._stays:  # dealt in turn, they would not even move
            least *= TIMES_TO_MOVE
        by_cost = gain > least
        if by_cost != self._choice.by_cost:
            self.news.append(_news(by_cost, gain, self._rows, slots))
        before = self._choice
        self._choice = self._sizes(slots) if by_cost else _Choice()
        if by_cost and before.by_cost and self._choice.tasks != before.tasks:
            reason = f"{self._choice.tasks} tasks on {slots} slots of different speed"
            self.news.append(("by cost", reason))
        return by_cost

    def _sizes(self, slots: int) -> _Choice:
        model = max(self._models.values(), key=lambda each: each.explained_seconds)
        work = sum(
            self._rows * self._weights[name] * each.sketch.mean
            for name, each in self._models.items()
            if each.sketch is not None
        )
        speeds = list(model.speeds.values()) or [1.0]
        of_slots = [speeds[slot % len(speeds)] for slot in range(slots)]
        tasks = task_count(work, of_slots, TASK_START_SECONDS)
        placers = max(model.placers(self._rows, tasks), -(-int(self._rows) // ROWS_A_PLACER))
        return _Choice(True, tasks, placers)

    def _shipped_now(self, upstream: int) -> PlacingFunction:
        """Return the function that places rows, made again only where something has changed.

        As in POSG, costs travel again when they have moved.
        """
        shipped = self._shipped
        if (
            shipped is None
            or shipped.choice != self._choice
            or shipped.upstream != upstream
            or any(model.moved(shipped.snapshots[name]) for name, model in self._models.items())
        ):
            shipped = self._shipped = self._ship(upstream)
        return shipped.function

    def _ship(self, upstream: int) -> _Shipped:
        known = []
        snapshots: dict[str, Any] = {}
        for operator in self._operators:
            sketch = self._models[operator.name].sketch
            snapshots[operator.name] = None if sketch is None else sketch.snapshot()
            if sketch is not None:
                positions = tuple(self._columns.index(name) for name in operator.cost_key)
                known.append(KnownCost(positions, sketch.copy(), self._weights[operator.name]))
        placer = Placer(self._choice.tasks, upstream, tuple(known))
        return _Shipped(self._choice, upstream, snapshots, PlacingFunction(placer))


def _known(states: Mapping[str, Any], component: str) -> dict[str, Any]:
    """Put together what is known of all operators, whatever components they were in."""
    known: dict[str, Any] = {"models": {}, "weights": {}}
    for _, state in sorted(states.items(), key=lambda each: each[0] == component):
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            known["models"] |= state["models"]
            known["weights"] |= state["weights"]
            known["rows"] = state["rows"]
    return known


def _is_python(operator: Operator) -> bool:
    return isinstance(operator, PythonOperator)


def _task_costs(
    tallies: Sequence[Tally], model: CostModel, placement: CostAware
) -> list[TaskCosts]:
    whole = [tally.costs for tally in tallies if isinstance(tally.costs, TaskCosts)]
    sliced = [tally.costs for tally in tallies if isinstance(tally.costs, SlicedCosts)]
    return whole + attributed(sliced, placement.sketch(), model.sketch)


def _with_known_keys(topology: Topology, component: Component) -> list[PythonOperator]:
    """Return the operators whose cost is known by columns that are there where rows are placed."""
    python = [op for op in component.operators if isinstance(op, PythonOperator)]
    if not python or component.attributes:  # whose rows go by their keys
        return []
    border = topology[python[0].inputs[0]].schema.names
    return [op for op in python if op.cost_key and set(op.cost_key) <= set(border)]


def _news(by_cost: bool, gain: float, rows: float, slots: int) -> tuple[str, str]:
    what = f"of {rows:.0f} rows on {slots} slots a batch should end {gain:.2g} s sooner"
    if by_cost:
        return "by cost", f"placed by what they cost, {what}"
    return "in turn", f"costs are even: placed by them, {what}, which does not pay"
