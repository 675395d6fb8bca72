"""Fuzzy rules for two stages at once: Elastic-PPQ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from penstock.arguments import checked
from penstock.elasticity.adapting import Adapting
from penstock.elasticity.decision import Decision
from penstock.elasticity.fuzzy_rules import Parallelism, changed, factors, next_parallelism
from penstock.elasticity.measured_stages import MeasuredStages
from penstock.elasticity.observation import Observation
from penstock.elasticity.propagation import Node, in_order
from penstock.elasticity.settings import number
from penstock.elasticity.wish import Moment, Wish, figure, wait_for_slots

ONE_SLOT_UTILISATION = 0.9


@checked
@dataclass(frozen=True, kw_only=True)
class Fuzzy(Adapting):
    """The fuzzy controller of Elastic-PPQ (section 4.2), for any topology of two stages.

    ``first`` and ``second`` name the operators of the stages; unless said, the topology is cut in
    half by the depth of the operators that take any time, and what is named in none belongs to the
    other. The utilisation of a stage is the slots that its rows take, those that wait included and
    fixed costs and uneven tasks counted, over its part of the slots. Both parts change together,
    each by half at most, with the rules of Table 2; ``splitting`` is how many parts a pane is split
    in, 1 where there are no panes.

    Where a topology has preference queries, their stages are the two: the utilisations and the
    splitting that their tasks measured count, as means over the control interval. They run one
    after the other on the same slots, so each has tasks of its own, up to all slots, and the slots
    are those of the stage with more.

    >>> from penstock.elasticity.observation import (
    ...     Observation, OperatorObservation, SourceObservation)
    >>> policy = Fuzzy(interval=1, first="panes", second="windows", max_slots=8)
    >>> panes = OperatorObservation("panes", 500, 50, 2.0, 8, 0.3, 0.3)
    >>> windows = OperatorObservation("windows", 50, 5, 6.0, 8, 0.8, 0.8, inputs=("panes",))
    >>> for second in range(2):  # the first stage keeps 2 slots busy, the second 6
    ...     tuples = SourceObservation("tuples", 500, waiting_rows=0)
    ...     seen = Observation(second, float(second), 0.8, 1.0, 8, (panes, windows), (tuples,))
    ...     decision = policy.decide(seen)
    >>> decision.reason.split("; ")[:2]  # doctest: +NORMALIZE_WHITESPACE, +ELLIPSIS
    ['the stages use 0.5... and 1.6... of their 4 and 4 slots',
     'the rules give them 2 and 6']
    """

    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    splitting: float = 1.0
    _parts: list[int] = field(init=False, repr=False, compare=False)
    _stages: list[MeasuredStages] = field(init=False, repr=False, compare=False)
    _batches: list[MeasuredStages] = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "Fuzzy"

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.kind, "splitting", self.splitting, above=0)
        self._set("first", _names(self.first))
        self._set("second", _names(self.second))
        self._set("_parts", [1, 1])
        self._set("_stages", [])  # those of preference queries, once they are known
        self._set("_batches", [])  # what was measured of them since the last decision

    @checked
    def decide(self, observation: Observation) -> Decision:
        """Return the plan for the next micro-batch."""
        measured = MeasuredStages.seen(observation)
        if measured is not None:
            if not self._stages:  # until now both stages had all slots
                self._parts[:] = [max(1, observation.slots_in_use)] * 2
            self._stages[:] = [measured]
            if not self._workload.cold:  # the first rows of a run cost more than all that follow
                self._batches.append(measured)
        return super().decide(observation)

    def _decision(self, seen: Observation) -> Decision:
        decided = super()._decision(seen)
        if not self._stages:
            return decided
        more = max(self._parts)
        if more != decided.slots:  # a guard rail gave more or fewer: they share in it
            shared = [max(1, round(part * decided.slots / more)) for part in self._parts]
            self._parts[:] = shared
        first, second = (min(part, max(1, seen.slots)) for part in self._parts)
        own: dict[str, int] = {}
        for stages in self._stages:
            own |= dict.fromkeys(stages.first, first) | dict.fromkeys(stages.second, second)
        tasks = {name: own.get(name, count) for name, count in decided.tasks.items()}
        return replace(decided, tasks=tasks)

    def _wish(self, moment: Moment) -> Wish | None:
        if self._stages:
            idles = not moment.seen.rows_in
            if not self._batches and not idles:
                return None  # nothing but the first rows was measured
            return self._wish_of_measured(self._stages[0].mean(self._batches), moment)
        load = self._workload
        nodes = load.shares.nodes()
        if not load.tells_demand or not load.arrivals.rates:
            return None
        interval, span, share = moment.interval_seconds, moment.batch_seconds, moment.batch_share
        rates, pending = load.arrivals.mean_rates(), load.pending(moment.seen)
        waiting_rows = {name: share * each for name, each in pending.items()}
        # With fixed costs and uneven tasks slots are done later than their work alone says.
        batch = load.rows(rates, span, waiting_rows)
        work = load.capacity.demand(batch, span, utilisation=1.0).by_operator
        in_first = self._first_stage(nodes, work)
        slots_1 = sum(each for name, each in work.items() if name in in_first)
        slots_2 = sum(work.values()) - slots_1
        if not slots_1 or slots_2 <= 0:  # one stage only: its work is that of both, half each
            slots_1 = slots_2 = sum(work.values()) / 2
        now = self._split(moment.there)
        rho_1, rho_2 = slots_1 / now.first, slots_2 / now.second
        most = max(2, moment.most)
        then = next_parallelism(now, rho_1, self.splitting, rho_2, most)
        wanted = then.first + then.second
        if wanted == 2 and slots_1 + slots_2 <= ONE_SLOT_UTILISATION:
            wanted = 1  # the stages share slots in time: both fit in one
        self._parts[:] = [then.first, then.second]
        reason = (
            f"the stages use {figure(rho_1)} and {figure(rho_2)} of their {now.first} and "
            f"{now.second} slots; the rules give them {then.first} and {then.second}"
        )
        wish = Wish(wanted, reason, slots_1 + slots_2, interval, load.rows(rates, interval))
        return wait_for_slots(wish, moment)

    def _wish_of_measured(self, stages: MeasuredStages, moment: Moment) -> Wish:
        """Apply the rules to the stages of preference queries, each with tasks of its own."""
        self._batches.clear()
        there = max(1, moment.there)
        now = Parallelism(*(min(part, there) for part in self._parts))
        change_1, change_2 = factors(stages.rho_1, stages.sigma, stages.rho_2, max(2, moment.most))
        then = Parallelism(
            max(1, min(changed(now.first, change_1), moment.most)),
            max(1, min(changed(now.second, change_2), moment.most)),
        )
        self._parts[:] = [then.first, then.second]
        reason = (
            f"the stages of panes and windows are utilised {figure(stages.rho_1)} and "
            f"{figure(stages.rho_2)} with {now.first} and {now.second} tasks, "
            f"{figure(stages.sigma)} parts a pane; the rules give them {then.first} and "
            f"{then.second}"
        )
        demand = max(stages.rho_1 * now.first, stages.rho_2 * now.second)
        rates, interval = self._workload.arrivals.rates, moment.interval_seconds
        coming = self._workload.rows(rates, interval) if rates else {}
        wish = Wish(max(then.first, then.second), reason, demand, interval, coming)
        return wait_for_slots(wish, moment)

    def _split(self, planned: int) -> Parallelism:
        """Share out the planned slots as they were last, a stage never having none."""
        first, second = self._parts
        if first + second != planned:
            first = round(planned * first / (first + second))
        first = max(1, min(first, planned - 1))
        return Parallelism(first, max(1, planned - first))

    def _first_stage(self, nodes: tuple[Node, ...], work: Mapping[str, float]) -> frozenset[str]:
        if self.first:
            return frozenset(self.first)
        if self.second:
            return frozenset(node.name for node in nodes) - frozenset(self.second)
        depths: dict[str, int] = {}
        for node in in_order(nodes):
            above = max((depths[each] for each in node.shares), default=0)
            depths[node.name] = above + (work.get(node.name, 0.0) > 0)
        half = max(depths.values()) / 2
        return frozenset(name for name, depth in depths.items() if depth <= half)

    def _save_own(self) -> dict[str, Any]:
        names = [[list(each.first), list(each.second)] for each in self._stages]
        batches = [[each.rho_1, each.sigma, each.rho_2] for each in self._batches]
        return {"parts": list(self._parts), "stages": names, "batches": batches}

    def _load_own(self, state: dict[str, Any]) -> None:
        first, second = state["parts"]
        self._parts[:] = [int(first), int(second)]
        self._stages[:] = [
            MeasuredStages(tuple(panes), tuple(windows))
            for panes, windows in state.get("stages", ())
        ]
        self._batches[:] = [
            MeasuredStages(self._stages[0].first, self._stages[0].second, *map(float, each))
            for each in state.get("batches", ())
        ]


def _names(written: str | tuple[str, ...]) -> tuple[str, ...]:
    return (written,) if isinstance(written, str) else tuple(written)
