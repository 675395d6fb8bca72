"""Which grouping the next micro-batch runs with: asked for by the user, or found better."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.elasticity.observation import Observation
from penstock.engine.planned_topology import topology_planned
from penstock.engine.windowing import Windowing
from penstock.errors import ConfigurationError
from penstock.journal.events import KnownEvent, PlanChanged, PlanWeighed
from penstock.journal.window_events import WindowPlanChanged
from penstock.topology.adaptation import (
    Adapted,
    Combine,
    Operation,
    RePartition,
    Split,
    Strategy,
    adapted,
    check_plan,
    chosen_strategy,
    most_disruptive,
    plan_problem,
)
from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.fusion_baseline import baseline
from penstock.topology.fusion_rules import (
    SCORES,
    TopologyJob,
    first_grouping,
    named,
    single_grouping,
)
from penstock.topology.grouping import Grouping
from penstock.topology.optimiser import Optimiser
from penstock.topology.plan_costs import Load, Prices, skew_name
from penstock.topology.replanning import RECOMPILE_SECONDS, Votes, weighed
from penstock.windows.sharing import SharingDecision

_LEARNING = 0.3  # the weight of one batch in what is known of skew


@dataclass(frozen=True, slots=True)
class Change:
    """A plan that takes the place of another from a micro-batch on.

    ``repartitioned`` are components whose key groups are shared out anew, some perhaps gone since.
    ``handed_over`` are the windows whose partials are being merged, as a disruptive change has it.
    """

    before: Components
    after: Components
    pinned: Mapping[str, int]
    operations: tuple[str, ...]
    strategy: Strategy
    reason: str
    repartitioned: tuple[str, ...] = ()
    handed_over: frozenset[str] = frozenset()

    @property
    def windows(self) -> tuple[str, ...]:
        """The compute operators whose partials are made another way than before."""
        return tuple(
            compute.name
            for compute in self.before.topology.computes
            if self.before.stays(compute) != self.after.stays(compute)
            or self.before.is_complete(compute) != self.after.is_complete(compute)
        )


class Regrouping:
    """Keeps the grouping, takes what is asked for, and weighs it every period."""

    def __init__(
        self,
        topology: Topology,
        optimiser: Optimiser,
        moving: frozenset[str],
        known: Mapping[str, Any],
        combined: Sequence[str] = (),
    ) -> None:
        self._optimiser = optimiser
        self._lock = threading.Lock()
        self._asked: Change | None = None
        self._told: list[KnownEvent] = []
        self._batches = 0
        self._loads: list[Load] = []
        self._votes = Votes()
        self._skew: dict[str, float] = {}
        self.pinned: dict[str, int] = {}
        self.components = _first(topology, optimiser, moving)
        check_plan(self.components)
        self._restore(known, combined)

    def ask(
        self, operations: Sequence[Operation], strategy: Strategy | None, reason: str
    ) -> tuple[str, ...]:
        """Let operations take effect between two micro-batches; raises where they can't.

        Returns what they come down to. What was asked for before and has not taken effect yet
        stays asked for.
        """
        with self._lock:
            start = self._asked.after if self._asked else self.components
            pinned = self._asked.pinned if self._asked else self.pinned
            found = adapted(start, operations, pinned)
            how = chosen_strategy(found, strategy, self._optimiser.strategy)
            if found.operations:
                self._asked = self._change(found, how, reason)
            return tuple(str(each) for each in found.operations)

    def propose(self, operations: Sequence[Operation], reason: str) -> str | None:
        """Let operations take effect that cost less; say why not, where they no longer can."""
        try:
            self.ask(operations, None, reason)
        except ConfigurationError as error:
            return str(error).rstrip(".")
        return None

    def due(self) -> Change | None:
        """Return the change that the next batch begins with, None where there is none."""
        with self._lock:
            return self._asked

    def is_handing_over(self, windows: Iterable[str]) -> None:
        """Note that the partials of windows are being merged; more may be asked for meanwhile."""
        with self._lock:
            assert self._asked is not None
            handed_over = self._asked.handed_over | frozenset(windows)
            self._asked = replace(self._asked, handed_over=handed_over)

    def adopt(self, change: Change) -> None:
        """Run the next batch as a change has it."""
        with self._lock:
            self.components, self.pinned = change.after, dict(change.pinned)
            later = self._asked
            if later is None or later is change:
                self._asked = None
            else:  # asked for while this one took effect: it goes on from here
                self._asked = replace(
                    later,
                    before=change.after,
                    operations=later.operations[len(change.operations) :],
                    repartitioned=later.repartitioned[len(change.repartitioned) :],
                    handed_over=frozenset(),
                )
            self._loads, self._batches = [], 0

    def tell(
        self, change: Change, batch_id: int, opened: Mapping[str, int | None], pause_seconds: float
    ) -> None:
        """Journal a change, and the plan it led to, when the batch that began with it is done."""
        members = {
            component.name: tuple(op.name for op in component.operators)
            for component in change.after
        }
        self._told.append(
            PlanChanged(
                batch_id,
                change.operations,
                change.strategy,
                members,
                opened,
                pause_seconds,
                change.reason,
            )
        )
        self._told.append(topology_planned(change.after, batch_id))

    def events(
        self,
        seen: Observation,
        windowing: Windowing,
        batch_seconds: float,
        state_bytes: Mapping[str, int],
    ) -> Iterator[KnownEvent]:
        """Take in what a batch showed, weigh the plan where it is time, and tell of both."""
        told, self._told = self._told, []
        yield from told
        if not self._optimiser.period:
            return
        self._note_skew(seen)
        for windows, decision in windowing.decided.items():
            found = self._shared(seen, windows, decision, batch_seconds)
            yield found
            if found.is_adopted:
                yield WindowPlanChanged(seen.batch_id, windows, decision.mode, decision.reason)
        self._loads.append(self._load(seen, windowing))
        self._batches += 1
        if self._batches < self._optimiser.period or self.due() is not None:
            return
        self._batches = 0
        loads, self._loads = self._loads, []
        if self._optimiser.score in SCORES:
            yield self._weighed(seen.batch_id, _mean(loads), batch_seconds, state_bytes)

    def to_json(self) -> dict[str, Any]:
        """Write it as plain JSON values."""
        return {
            "score": self._optimiser.score,
            "homes": self.components.grouping.to_json(),
            "named": self._named,
            "pinned": dict(self.pinned),
            "skew": {name: round(skew, 6) for name, skew in self._skew.items()},
        }

    def _weighed(
        self, batch_id: int, load: Load, batch_seconds: float, state_bytes: Mapping[str, int]
    ) -> PlanWeighed:
        found, self._votes = weighed(
            self.components,
            load,
            self._optimiser,
            batch_seconds=batch_seconds,
            state_bytes=state_bytes,
            votes=self._votes,
        )
        refused = self.propose(found.operations, found.reason) if found.is_adopted else None
        return PlanWeighed(
            batch_id,
            tuple(str(each) for each in found.operations),
            found.cost_seconds,
            found.other_cost_seconds,
            found.change_seconds,
            found.gain_seconds,
            found.is_adopted and refused is None,
            found.reason if refused is None else f"{found.reason}; but {refused}",
        )

    def _shared(
        self, seen: Observation, windows: str, decision: SharingDecision, batch_seconds: float
    ) -> PlanWeighed:
        """Let windows be split or combined as was weighed, where that pays for the change."""
        price = Prices().exchanged_row
        split, combined = decision.cost_split * price, decision.cost_combined * price
        is_split = (decision.mode == "split") != decision.is_switch
        now, other = (split, combined) if is_split else (combined, split)
        step: Operation = Combine(windows) if is_split else Split(windows)
        gain = (now - other) * self._optimiser.horizon_seconds / max(batch_seconds, 1e-3)
        change = (seen.used_slots or seen.slots) * RECOMPILE_SECONDS
        refused = None
        if decision.is_switch and gain <= change:
            refused = f"within {self._optimiser.horizon_seconds:g} s it does not pay for the change"
        elif decision.is_switch:
            refused = self.propose((step,), decision.reason)
        return PlanWeighed(
            seen.batch_id,
            (str(step),),
            now,
            other,
            change,
            gain,
            decision.is_switch and refused is None,
            decision.reason if refused is None else f"{decision.reason}; but {refused}",
        )

    def _load(self, seen: Observation, windowing: Windowing) -> Load:
        return Load(
            rows_out={each.name: float(each.rows_out) for each in seen.operators},
            busy_seconds={each.name: each.busy_seconds for each in seen.operators},
            slots=seen.used_slots or seen.slots,
            partials={name: float(op.counts.partials) for name, op in windowing.operators.items()},
            reads={name: op.reads_per_partial for name, op in windowing.operators.items()},
            skew=dict(self._skew),
        )

    def _note_skew(self, seen: Observation) -> None:
        """Learn how uneven the tasks of components are whose rows go by their keys."""
        of = {each.name: each for each in seen.operators}
        for component in self.components:
            entrance = of.get(component.entrance.name)
            if not component.attributes or entrance is None or entrance.tasks < 2:
                continue
            if entrance.mean_task_seconds > 0:
                skew = entrance.slowest_task_seconds / entrance.mean_task_seconds
                name = skew_name(component)
                before = self._skew.get(name, skew)
                self._skew[name] = before + _LEARNING * (skew - before)

    def _change(self, found: Adapted, strategy: Strategy, reason: str) -> Change:
        said = tuple(str(each) for each in found.operations)
        anew = tuple(each.component for each in found.operations if isinstance(each, RePartition))
        handed_over: frozenset[str] = frozenset()
        if self._asked is not None:  # both take effect together
            said, anew = (*self._asked.operations, *said), (*self._asked.repartitioned, *anew)
            strategy = most_disruptive((self._asked.strategy, strategy))
            reason = "; ".join(dict.fromkeys((self._asked.reason, reason)))
            handed_over = self._asked.handed_over  # or a change asked for at every batch never came
        return Change(
            self.components,
            found.components,
            found.pinned,
            said,
            strategy,
            reason,
            anew,
            handed_over,
        )

    def _restore(self, known: Mapping[str, Any], combined: Sequence[str]) -> None:
        """Go on with the grouping that was committed, where it still fits the topology."""
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            self._skew = {str(k): float(v) for k, v in known["skew"].items()}
        if "homes" not in known:  # a checkpoint from before groupings were kept
            for windows in combined:
                with contextlib.suppress(ConfigurationError):
                    self.components = adapted(self.components, (Combine(windows),)).components
            return
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            pins = {str(k): int(v) for k, v in known["pinned"].items()}
            found = self._known_plan(known)
            if found is not None:
                self.components = found
                self.pinned = {k: v for k, v in pins.items() if k in found}

    def _known_plan(self, known: Mapping[str, Any]) -> Components | None:
        """Return the plan of a checkpoint, None where it is not one of this topology."""
        homes = Grouping.from_json(known["homes"]).homes
        wanted = self.components.grouping.homes
        is_same = known["score"] == self._optimiser.score and known["named"] == self._named
        if not is_same or set(homes) != set(wanted):
            return None
        # SQL that now reads another operator goes with that one.
        leaders = self.components.job.leaders
        if any(homes[name] != homes[leader] for name, leader in leaders.items()):
            return None
        found = self.components.regrouped({name: homes[name] for name in wanted})
        return found if plan_problem(found) is None else None

    @property
    def _named(self) -> dict[str, str]:
        """The components that the user gave operators."""
        return {op.name: op.component for op in self.components.topology if op.component}


def _first(topology: Topology, optimiser: Optimiser, moving: frozenset[str]) -> Components:
    job = TopologyJob(topology, moving=moving)
    if optimiser.score == "none":
        grouping = single_grouping(job)
    elif optimiser.score == "baseline":
        grouping = named(job, baseline(job, 0))
    else:
        grouping = first_grouping(job, SCORES[optimiser.score])
    return Components(topology, grouping, moving)


def _mean(loads: Sequence[Load]) -> Load:
    """Return what batches showed on average."""
    last, count = loads[-1], len(loads)

    def mean(maps: Sequence[Mapping[str, float]]) -> dict[str, float]:
        names = {name for each in maps for name in each}
        return {name: sum(each.get(name, 0.0) for each in maps) / count for name in names}

    return replace(
        last,
        rows_out=mean([each.rows_out for each in loads]),
        busy_seconds=mean([each.busy_seconds for each in loads]),
        partials=mean([each.partials for each in loads]),
        reads=mean([each.reads for each in loads]),
    )
