"""Re-planning: the grouping is weighed again by what was measured, while the query runs.

Enorm fuses operators once, at submission, and leaves doing it again to future work (section 8).
Every period the cheapest grouping that can be reached from the present one is looked for, one
fusion or parting after the other, and from what Algorithm 1 finds with measured rates. It is
adopted when it wins several periods in a row and saves more within the horizon than changing costs.
Each change makes the next one need one period more, so that noise does not lead to and fro.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.topology.adaptation import Migrate, plan_problem
from penstock.topology.components import Components
from penstock.topology.fusion import fuse
from penstock.topology.fusion_rules import SCORES, TopologyJob, named
from penstock.topology.grouping import Grouping
from penstock.topology.operators import Compute, Consolidate, PythonOperator
from penstock.topology.optimiser import Optimiser
from penstock.topology.plan_costs import Load, Prices, plan_cost

MOST_STEPS = 20
MARGIN = 0.1
VOTES = 2
MOST_VOTES = 10
RECOMPILE_SECONDS = 0.2
STATE_SECONDS_A_BYTE = 2e-8


@dataclass(frozen=True, slots=True)
class Weighing:
    """A grouping beside the best other one: costs are seconds of a slot for each micro-batch."""

    grouping: Grouping
    operations: tuple[Migrate, ...]
    cost_seconds: float
    other_cost_seconds: float
    change_seconds: float
    gain_seconds: float
    is_adopted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Votes:
    """How often in a row a grouping was the better one, and how often it has to be."""

    grouping: Grouping | None = None
    count: int = 0
    needed: int = VOTES

    def cast(self, grouping: Grouping | None) -> Votes:
        """Count one more for a grouping, or none."""
        again = self.count + 1 if self.grouping == grouping else 1
        return replace(self, grouping=grouping, count=0 if grouping is None else again)

    @property
    def is_won(self) -> bool:
        """Whether it was the better one often enough."""
        return self.count >= self.needed

    def after_a_change(self) -> Votes:
        """Begin anew, more cautiously."""
        return Votes(needed=min(self.needed + 1, MOST_VOTES))


def weighed(
    now: Components,
    load: Load,
    optimiser: Optimiser,
    *,
    batch_seconds: float,
    state_bytes: Mapping[str, int] | None = None,
    votes: Votes | None = None,
    prices: Prices | None = None,
) -> tuple[Weighing, Votes]:
    """Weigh a grouping against the best other; ``batch_seconds`` is from one batch to the next.

    ``state_bytes`` are the sizes of the states of keyed operators, which other tasks would have to
    read. While a plan changes, all slots wait.
    """
    present = plan_cost(now, load, now, prices)
    best, cost = _best(now, load, optimiser, prices)
    if best.grouping == now.grouping:
        weighing = Weighing(
            now.grouping, (), present, present, 0.0, 0.0, False, "no other grouping costs less"
        )
        return weighing, (votes or Votes()).cast(None)
    operations = operations_between(now, best)
    moved = sum((state_bytes or {}).get(step.operator, 0) for step in operations)
    change = load.slots * (RECOMPILE_SECONDS + moved * STATE_SECONDS_A_BYTE)
    gain = (present - cost) * optimiser.horizon_seconds / max(batch_seconds, 1e-3)
    is_better = cost < (1 - MARGIN) * present and gain > change
    cast = (votes or Votes()).cast(best.grouping if is_better else None)
    reason = _reason(present, cost, gain, change, optimiser, cast)
    weighing = Weighing(best.grouping, operations, present, cost, change, gain, cast.is_won, reason)
    return weighing, cast.after_a_change() if cast.is_won else cast


def operations_between(now: Components, then: Components) -> tuple[Migrate, ...]:
    """Return the migrations that lead from one grouping to another, in the topology's order."""
    homes, others = now.grouping.homes, then.grouping.homes
    return tuple(
        Migrate(name, homes[name], others[name])
        for name in now.job.operators
        if homes[name] != others[name]
    )


def _best(
    now: Components, load: Load, optimiser: Optimiser, prices: Prices | None
) -> tuple[Components, float]:
    """Return the cheapest grouping, by steps downhill from the present one and from Algorithm 1."""
    starts = [now]
    if optimiser.score in SCORES:
        job = TopologyJob(now.topology, load.rows_out, now.job.moving)
        fused = now.regrouped(_windows_kept(now, named(job, fuse(job, SCORES[optimiser.score]))))
        if plan_problem(fused) is None:
            starts.append(fused)
    found = [_downhill(start, load, now, prices) for start in starts]
    return min(found, key=lambda each: each[1])


def _downhill(
    start: Components, load: Load, now: Components, prices: Prices | None
) -> tuple[Components, float]:
    best, cost = start, plan_cost(start, load, now, prices)
    for _ in range(MOST_STEPS):
        tried = [(each, plan_cost(each, load, now, prices)) for each in neighbours(best)]
        better = min(tried, key=lambda each: each[1], default=(best, cost))
        if better[1] >= cost:
            break
        best, cost = better
    return best, cost


def neighbours(components: Components) -> Iterator[Components]:
    """Yield the groupings that one fusion or one parting leads to."""
    for leader in components.job.operators:
        homes = components.grouping.homes
        operator = components.topology[leader]
        reads = [name for name in operator.inputs if name in homes]
        if not reads or not _is_weighed(components, leader):
            continue
        if components.of(leader).entrance is operator:
            target = {name: homes[reads[0]] for name in homes if homes[name] == homes[leader]}
        else:
            below = _below(components, leader)
            target = dict.fromkeys(below, leader)
        other = components.regrouped({name: target.get(name, homes[name]) for name in homes})
        if plan_problem(other) is None:
            yield other


def _below(components: Components, leader: str) -> set[str]:
    """Return an operator with all of its component that reads it, directly or not."""
    home, found = components.grouping.homes[leader], {leader}
    for operator in components.topology:
        if components.grouping.homes.get(operator.name) == home and found & set(operator.inputs):
            found.add(operator.name)
    return found


def _is_weighed(components: Components, leader: str) -> bool:
    """Whether an operator may go with Python operators before it.

    Windows of rows that come as they come are weighed by themselves: split or combined.
    """
    operator = components.topology[leader]
    if isinstance(operator, Compute):
        return _begins_in_python(components, operator.inputs[0])
    if isinstance(operator, Consolidate):
        (compute,) = operator.inputs
        return _begins_in_python(components, components.topology[compute].inputs[0])
    return isinstance(operator, PythonOperator)


def _begins_in_python(components: Components, name: str) -> bool:
    return isinstance(components.of(name).entrance, PythonOperator)


def _windows_kept(now: Components, grouping: Grouping) -> dict[str, str]:
    """Leave windows of rows that come as they come as they are in the present grouping."""
    homes = dict(grouping.homes)
    for operator in now.topology:
        if isinstance(operator, Compute | Consolidate) and not _is_weighed(now, operator.name):
            leader = operator.name
            along = [name for name, own in now.job.leaders.items() if own == leader]
            homes |= {name: now.grouping.homes[name] for name in along}
    return homes


def _reason(
    present: float,
    cost: float,
    gain: float,
    change: float,
    optimiser: Optimiser,
    votes: Votes,
) -> str:
    costs = f"a batch costs {present:.3g} s of a slot now and would cost {cost:.3g} s"
    pays = f"{gain:.3g} s within {optimiser.horizon_seconds:g} s for a change of {change:.3g} s"
    if votes.is_won:
        return f"{costs}: {pays}, {votes.count} times in a row"
    if votes.count:
        return f"{costs}: {pays}, {votes.count} of {votes.needed} times in a row"
    return f"{costs}: {pays}, which does not pay"
