"""AutoScale+ as published: executors of every operator from the forecast of its input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.elasticity.capacity import (
    capacity,
    ideal_parallelism,
    parallelism,
    reserved_capacity,
    working_interval,
)
from penstock.elasticity.observation import Observation
from penstock.elasticity.propagation import Combine, Node, estimate_inputs
from penstock.elasticity.settings import number, one_of, whole
from penstock.elasticity.workload import wired
from penstock.simulation.published.iteration import Iteration
from penstock.simulation.published.settling import Settling

KIND = "PublishedAutoScalePlus"


@dataclass(frozen=True, kw_only=True)
class PublishedAutoScalePlus:
    """AutoScale+ of DABS-Storm, section 4, equations 3 to 13, one decision per iteration.

    Every observation is a sample; when samples make up ``iteration_seconds``, the input of every
    operator in the next iteration is estimated over the whole topology (3 to 5) and compared with
    what its executors can do (6 to 10). Outside the working interval (11) it gets the fewest
    executors that are sure to hold (12, 13), a ``margin`` of their time kept free.

    What is observed within ``settling_seconds`` of a change is not used, as in the paper's
    footnote 3. ``reserved_cpu`` is the share of a core that each executor has for sure (ResCPU).
    ``most`` executors are all there can be: where more are wanted, those with the most give up
    some. The papers' printed equations are read as the project reads them everywhere: the weighting
    factor is a margin, the working interval is that of equation 11.

    >>> from penstock.elasticity.observation import OperatorObservation, SourceObservation
    >>> law = PublishedAutoScalePlus(iteration_seconds=3)
    >>> for second, rows in enumerate((60, 80, 100), start=1):  # 20 more every second
    ...     parse = OperatorObservation("parse", rows, rows, rows * 0.01, 2, 0.0, 0.0)
    ...     clicks = SourceObservation("clicks", rows)
    ...     seen = Observation(second, float(second), 1.0, None, 2, (parse,), (clicks,))
    ...     plan = law.plan(seen)
    >>> plan  # 120, 140 and 160 rows to come take 1.4 executors, 2 with the margin
    {'parse': 2}
    """

    iteration_seconds: float = 10.0
    beta: float = 0.8
    margin: float = 0.3
    combine: Combine = "max"
    settling_seconds: float = 10.0
    reserved_cpu: float = 1.0
    most: int | None = None
    _memory: _Memory = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        number(KIND, "iteration_seconds", self.iteration_seconds, above=0)
        number(KIND, "beta", self.beta, above=0, up_to=1)
        number(KIND, "margin", self.margin, above=-1e-9, below=1)
        one_of(KIND, "combine", self.combine, ("max", "min"))
        number(KIND, "settling_seconds", self.settling_seconds, above=-1e-9)
        number(KIND, "reserved_cpu", self.reserved_cpu, above=0, up_to=1)
        if self.most is not None:
            whole(KIND, "most", self.most)
        object.__setattr__(self, "_memory", _Memory(self.settling_seconds))

    def plan(self, seen: Observation) -> Mapping[str, int]:
        """Return how many executors each operator should have from now on."""
        memory, have = self._memory, {each.name: max(1, each.tasks) for each in seen.operators}
        monitored = memory.settling.monitored(seen)
        if monitored is None:
            return have
        memory.iteration.add(wired(monitored))
        if not memory.iteration.is_over(self.iteration_seconds):
            return have
        memory.learn()
        wanted = self._within(self._wanted(have))
        memory.iteration = Iteration()
        if wanted != have:
            memory.settling.changed(seen.at_seconds)
        return wanted

    def _wanted(self, have: Mapping[str, int]) -> dict[str, int]:
        iteration, nodes = self._memory.iteration, self._memory.nodes()
        own = {node.name: iteration.expected_rows(node.name) for node in nodes}
        rows = estimate_inputs(nodes, own, iteration.waiting_rows(), self.combine)
        return {name: self._executors(name, rows[name], now) for name, now in have.items()}

    def _executors(self, name: str, rows: float, now: int) -> int:
        """Apply equations 6 to 13 to one operator; what no row has told of stays as it is."""
        iteration, row_seconds = self._memory.iteration, self._memory.seconds_per_row.get(name)
        if row_seconds is None:
            return now
        usable = iteration.usable_cpu(name, self.reserved_cpu)
        ideal = ideal_parallelism(rows, capacity(iteration.seconds, row_seconds, usable))
        where = working_interval(ideal, now, self.beta)
        if where == 0:
            return now
        sure = reserved_capacity(iteration.seconds, row_seconds, self.reserved_cpu, self.margin)
        wanted = parallelism(rows, sure)
        # The margin may ask for more than there are where the ideal allows fewer: no scale-in then.
        return wanted if where > 0 else min(now, wanted)

    def _within(self, wanted: dict[str, int]) -> dict[str, int]:
        if self.most is None:
            return wanted
        fitting = {name: min(count, self.most) for name, count in wanted.items()}
        for _ in range(sum(fitting.values()) - max(self.most, len(fitting))):
            fitting[max(fitting, key=lambda name: fitting[name])] -= 1
        return fitting


class _Memory:
    """The iteration so far, and what the iterations before it told of rows."""

    def __init__(self, settling_seconds: float) -> None:
        self.iteration = Iteration()
        self.settling = Settling(settling_seconds)
        self.seconds_per_row: dict[str, float] = {}
        self._rows_per_row: dict[tuple[str, str], float] = {}

    def learn(self) -> None:
        """Take over what the iteration tells; what had no rows in it stays as it was."""
        for name, parents in self.iteration.operators.items():
            row_seconds = self.iteration.seconds_per_row(name)
            if row_seconds is not None:
                self.seconds_per_row[name] = row_seconds
            for parent in parents:
                rows = self.iteration.rows_per_row(parent, name)
                if rows is not None:
                    self._rows_per_row[parent, name] = rows

    def nodes(self) -> list[Node]:
        """Return the topology, with the rows that go along each edge per row of the parent."""
        return [
            Node(name, {parent: self._rows_per_row.get((parent, name), 1.0) for parent in parents})
            for name, parents in self.iteration.operators.items()
        ]
