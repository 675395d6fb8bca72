"""What a grouping costs: rows that travel, crossings to Python, partials, and slots that idle.

Enorm's cost model (section 5.1.1) and the objective of its fusion (section 4.4.1), for Spark. Costs
are seconds of a slot for each micro-batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.topology.components import Component, Components
from penstock.topology.operators import Compute, PythonOperator
from penstock.windows.sharing import BatchPartials, expected_combined


@dataclass(frozen=True, slots=True)
class Prices:
    """What things cost, in seconds of a slot.

    Partials and the stage are as in :class:`~penstock.windows.sharing.SharingCosts`, of which a row
    is a microsecond.
    """

    exchanged_row: float = 1.0e-6
    stage: float = 0.036
    crossing_row: float = 1.0e-6
    written_partial: float = 0.6e-6
    read_partial: float = 0.5e-6


@dataclass(frozen=True, slots=True)
class Load:
    """What the micro-batches of a period showed, on average for each.

    ``rows_out`` and ``busy_seconds`` are by operator. ``partials`` are those that each compute
    operator wrote, and ``reads`` how often each is read again. ``skew`` says how many times its
    share the slowest task of a component had, by the columns that it was partitioned on.
    """

    rows_out: Mapping[str, float]
    busy_seconds: Mapping[str, float]
    slots: int
    partials: Mapping[str, float] = field(default_factory=dict)
    reads: Mapping[str, float] = field(default_factory=dict)
    skew: Mapping[str, float] = field(default_factory=dict)


def plan_cost(
    components: Components, load: Load, now: Components, prices: Prices | None = None
) -> float:
    """Return what a micro-batch costs with a grouping, while ``now`` is the one measured."""
    return sum(component_costs(components, load, now, prices).values())


def component_costs(
    components: Components, load: Load, now: Components, prices: Prices | None = None
) -> dict[str, float]:
    """Return what each component costs a micro-batch."""
    known = prices or Prices()
    return {
        component.name: _entrance(components, component, load, known)
        + _crossings(components, component, load, known)
        + _work(component, load)
        + sum(
            _partials(components, op, load, now, known)
            for op in component.operators
            if isinstance(op, Compute)
        )
        for component in components
    }


def skew_name(component: Component) -> str:
    """Name what the skew of a component depends on: its entrance, and the columns it goes by."""
    return f"{component.entrance.name} by {', '.join(component.by)}"


def _rows_in(components: Components, operator: str, load: Load) -> float:
    reads = components.topology[operator].inputs
    return sum(load.rows_out.get(name, 0.0) for name in reads)


def _entrance(components: Components, component: Component, load: Load, prices: Prices) -> float:
    entrance = component.entrance
    rows = _rows_in(components, entrance.name, load)
    if isinstance(entrance, Compute):  # Spark aggregates before it exchanges
        tasks = max(1, load.slots)
        travel = min(rows, tasks * load.partials.get(entrance.name, rows))
        return travel * prices.exchanged_row + prices.stage
    if component.attributes:
        return rows * prices.exchanged_row + prices.stage
    return 0.0


def _crossings(components: Components, component: Component, load: Load, prices: Prices) -> float:
    crossing = [step[0] for step in component.steps if isinstance(step[0], PythonOperator)]
    return sum(_rows_in(components, op.name, load) * prices.crossing_row for op in crossing)


def _work(component: Component, load: Load) -> float:
    """Return what operators take, longer where not all slots can be busy with them."""
    busy = sum(load.busy_seconds.get(op.name, 0.0) for op in component.operators)
    slots = max(1, load.slots)
    spread = slots / min(slots, component.most_tasks or slots)
    if component.attributes:
        spread = max(spread, load.skew.get(skew_name(component), 1.0))
    return busy * spread


def _partials(
    components: Components, compute: Compute, load: Load, now: Components, prices: Prices
) -> float:
    name, slots = compute.name, max(1, load.slots)
    rows = _rows_in(components, name, load)
    written = load.partials.get(name, rows)
    was_split, is_split = now.is_split(compute), components.is_split(compute)
    if was_split and not is_split:
        batch = BatchPartials(int(rows), slots, int(min(written, rows)))
        written = expected_combined(batch) if rows else 0.0
    elif is_split and not was_split:
        written = min(rows, slots * written)
    reads = load.reads.get(name, 1.0)
    return written * (prices.written_partial + reads * prices.read_partial)
