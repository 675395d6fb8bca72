"""What a policy learns of its query: what comes, where it goes, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.elasticity.arrivals import Arrivals
from penstock.elasticity.capacity import Capacity
from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.elasticity.propagation import Combine, estimate_inputs
from penstock.elasticity.rails.deadline import Cohort, WaitingRows, slots_in_time
from penstock.elasticity.shares import Shares

UNKNOWN_INTERVAL_SECONDS = 1.0


class Workload:
    """Puts together arrivals, shares, capacity and the rows that wait."""

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self.shares = Shares()
        self.capacity = Capacity()
        self.waiting = WaitingRows()
        self.cold = True  # the first batch with rows of a run costs more than all that follow
        self._learnt_seconds: float | None = None  # when costs were last learnt, or first could be

    def observe(self, seen: Observation, now_seconds: float, *, learn: bool) -> bool:
        """Take in a batch; return whether rates are new. ``learn``: its costs count, too."""
        seen = wired(seen)
        started = now_seconds - max(0.0, seen.batch_seconds)
        fresh = self.arrivals.observe(seen, started)
        if fresh and self.arrivals.between_seconds is not None:
            between, rate = self.arrivals.between_seconds, sum(self.arrivals.rates.values())
            self.waiting.arrived(started - between / 2, rate * between)
        self.waiting.left(float(seen.waiting_rows or 0))
        if learn or self._learnt_seconds is None:
            self._learnt_seconds = now_seconds
        if learn:
            self.shares.observe(seen)
            if not self.cold:
                self.capacity.observe(seen)
        self.cold = self.cold and not any(each.rows_in > 0 for each in seen.operators)
        return fresh

    def unlearnt_seconds(self, now_seconds: float) -> float:
        """Return for how long no batch's costs have counted."""
        return 0.0 if self._learnt_seconds is None else now_seconds - self._learnt_seconds

    @property
    def tells_demand(self) -> bool:
        """Whether rows have a known cost, or none ever came: otherwise demand would seem 0."""
        return bool(self.shares.nodes()) and (self.cold or self.capacity.knows_rows)

    @property
    def rows_per_second(self) -> float:
        """How many rows usually come at all sources together."""
        return sum(self.arrivals.usual_rates.values())

    def batch_interval_seconds(self, seen: Observation) -> float:
        """Return the time from one batch to the next: the trigger, or what it was last."""
        if seen.trigger_seconds is not None and seen.trigger_seconds > 0:
            return seen.trigger_seconds
        return self.arrivals.between_seconds or seen.batch_seconds or UNKNOWN_INTERVAL_SECONDS

    def pending(self, seen: Observation) -> dict[str, float]:
        """Return the rows that wait at each source: left behind, or come since a late trigger."""
        late, usual = 0.0, self.arrivals.usual_rates
        if seen.trigger_seconds is not None:
            late = max(0.0, seen.batch_seconds - seen.trigger_seconds)
        return {
            source.name: (source.waiting_rows or 0) + late * usual.get(source.name, 0.0)
            for source in seen.sources
        }

    def rows(
        self,
        rates: Mapping[str, float],
        seconds: float,
        pending: Mapping[str, float] | None = None,
        combine: Combine = "max",
    ) -> dict[str, float]:
        """Return the rows that each operator gets in a time, at such rates (by operator)."""
        nodes = self.shares.nodes()
        known = {node.name for node in nodes}
        own = {name: rate * seconds for name, rate in rates.items()}
        for node in nodes:  # an operator that nothing is known to feed goes by what it got
            if not node.shares and node.name not in own:
                own[node.name] = self.arrivals.operator_rates.get(node.name, 0.0) * seconds
        waiting = {name: rows for name, rows in (pending or {}).items() if name in known}
        return estimate_inputs(nodes, own, waiting, combine)

    def tasks(self, seen: Observation, slots: int) -> dict[str, int]:
        """Return the tasks of each operator in the next batch, within ``slots``."""
        if not seen.operators:
            return {}
        coming = self.rows(
            self.arrivals.rates, self.batch_interval_seconds(seen), self.pending(seen)
        )
        rows = {
            each.name: max(float(each.rows_in), coming.get(each.name, 0.0))
            for each in seen.operators
        }
        tasks = self.capacity.tasks(rows, slots)
        return {name: max(1, min(tasks[name], slots)) for name in rows}

    def work_per_second(self) -> float:
        """Return the slots that what usually comes keeps busy."""
        return sum(self.capacity.work(self.rows(self.arrivals.usual_rates, 1.0)).values())

    def seconds_per_row(self, seen: Observation) -> float:
        """Return the slot time of a source's row and all that becomes of it.

        It needs no rows to come now: after a burst nothing may come while many still wait. Sources
        count by the rows that wait at them and those that usually come.
        """
        usual = self.arrivals.usual_rates
        rows = {
            each.name: usual.get(each.name, 0.0) + (each.waiting_rows or 0) for each in seen.sources
        }
        total = sum(rows.values())
        if total <= 0:
            return 0.0
        roots = {node.name: 0.0 for node in self.shares.nodes() if not node.shares}
        one = {name: count / total for name, count in rows.items()}
        return sum(self.capacity.work(self.rows({**roots, **one}, 1.0)).values())

    def slots_in_time(self, seen: Observation, now_seconds: float, max_latency: float) -> float:
        """Return the slots with which every row is done ``max_latency`` seconds after it came."""
        came = self.rows_per_second * max(0.0, seen.batch_seconds)
        return slots_in_time(
            [*self.waiting.cohorts, Cohort(now_seconds - seen.batch_seconds, came)],
            self.work_per_second(),
            seconds_per_row=self.seconds_per_row(seen),
            now_seconds=now_seconds,
            max_latency_seconds=max_latency,
            batch_interval_seconds=self.batch_interval_seconds(seen),
            fixed_seconds=self.capacity.batch_seconds,
        )

    def utilisation(self, seen: Observation) -> float | None:
        """Return how much of their time the slots are needed; above 1 batches are late.

        With a trigger it is the batch's share of it, without one the busy time of the operators
        over that of the slots.
        """
        if seen.trigger_seconds is not None and seen.trigger_seconds > 0:
            return seen.batch_seconds / seen.trigger_seconds
        between = self.arrivals.between_seconds
        if between is None or not seen.operators:
            return None
        busy = sum(max(0.0, each.busy_seconds) for each in seen.operators)
        return busy / (in_use(seen) * between)

    def save(self) -> dict[str, Any]:
        """Return all that was learnt, in what JSON knows."""
        return {
            "arrivals": self.arrivals.save(),
            "shares": self.shares.save(),
            "capacity": self.capacity.save(),
            "waiting": self.waiting.save(),
            "cold": self.cold,
            "learnt_seconds": self._learnt_seconds,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self.arrivals.load(state["arrivals"])
        self.shares.load(state["shares"])
        self.capacity.load(state["capacity"])
        self.waiting.load(state["waiting"])
        self.cold = bool(state["cold"])
        self._learnt_seconds = state["learnt_seconds"]


def in_use(seen: Observation) -> int:
    """Return the slots that a micro-batch used."""
    return seen.slots_in_use


def wired(seen: Observation) -> Observation:
    """Return an observation in which every source is an operator too, and feeds somebody.

    Whoever watches a query from outside sees sources, and one operator that does not say what it
    reads: it reads them all.

    >>> from penstock.elasticity.observation import SourceObservation
    >>> query = OperatorObservation("query", 50, 5, 0.1, 2, 0.06, 0.05)
    >>> seen = Observation(0, 1.0, 0.5, None, 2, (query,), (SourceObservation("clicks", 50),))
    >>> [(each.name, each.inputs) for each in wired(seen).operators]
    [('query', ('clicks',)), ('clicks', ())]
    """
    names = {each.name for each in seen.operators}
    apart = [source for source in seen.sources if source.name not in names]
    if not apart:
        return seen
    told = {source.name for source in seen.sources}
    inputs = tuple(source.name for source in apart)
    fed = tuple(
        each if each.inputs or each.name in told else replace(each, inputs=inputs)
        for each in seen.operators
    )
    added = tuple(
        OperatorObservation(each.name, each.rows, each.rows, 0.0, 0, 0.0, 0.0) for each in apart
    )
    return replace(seen, operators=fed + added)
