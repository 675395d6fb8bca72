"""What all policies that adapt have in common: when they are asked, and what holds them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from penstock.arguments import checked, shown
from penstock.elasticity.control_interval import ControlInterval
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.elasticity.policy_memory import PolicyMemory
from penstock.elasticity.rails.bounds import Bounds, bounds
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.rails.rail import Situation, in_slots
from penstock.elasticity.settings import length, whole
from penstock.elasticity.wish import Moment, Wish, whole_slots
from penstock.elasticity.workload import Workload, in_use
from penstock.errors import ConfigurationError
from penstock.windows.durations import Duration, seconds

VERSION = 1
FIXED_COSTS_IN_BATCH = 3.0
"""A batch is planned to last this many times what it costs with no rows, an interval at most."""
LEARN_AFTER = 3.0
"""After so many intervals without it, costs are learnt from batches that are not settled, too."""
FITTING_SHARE = 0.75
"""A batch whose fixed cost is up to this share of its trigger can be done within it."""


@dataclass(frozen=True, kw_only=True)
class Adapting:
    """Asks ``_wish`` once in every control interval, and gives tasks for every batch.

    The first time it asks as soon as anything is known.

    Settings are frozen; what is learnt is apart from them, and goes into ``save`` and ``load``.
    Time is that of the observations.

    ``interval`` is a duration, or a number of micro-batches. ``min_slots`` and ``max_slots`` are
    short for those of ``rails``. ``start_slots`` is what to begin with: all there are, unless said.
    ``batch_within`` is how long a batch may take where that is longer than its trigger. It makes
    fewer slots do, as batches that are longer pay their fixed cost less often.
    """

    interval: Duration = "10 seconds"
    batch_within: Duration | None = None
    min_slots: int | None = None
    max_slots: int | None = None
    start_slots: int | None = None
    rails: GuardRails = field(default_factory=GuardRails)
    _every: ControlInterval = field(init=False, repr=False, compare=False)
    _memory: PolicyMemory = field(init=False, repr=False, compare=False)

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        rails = self.rails
        if not isinstance(rails, GuardRails):
            raise ConfigurationError(
                f"{self.kind}(rails={shown(rails)}) can't work. Write rails=ps.GuardRails(...)."
            )
        if self.min_slots is not None:
            rails = replace(rails, min_slots=self.min_slots)
        if self.max_slots is not None:
            rails = replace(rails, max_slots=self.max_slots)
        if self.start_slots is not None:
            whole(self.kind, "start_slots", self.start_slots)
        if self.batch_within is not None:
            length(self.kind, "batch_within", self.batch_within, positive=True)
        self._set("rails", rails)
        self._set("_every", ControlInterval.of(self.kind, self.interval))
        self._set("_memory", PolicyMemory(rails))
        self._workload.cold = self._skips_cold

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def _skips_cold(self) -> bool:
        """Whether the first rows of a run tell no costs; with a deadline too many are better."""
        return self.rails.max_latency is None

    @property
    def _workload(self) -> Workload:
        return self._memory.workload

    def _wish(self, moment: Moment) -> Wish | None:
        """Say what to wish for; None where too little is known yet."""
        raise NotImplementedError

    def _learn(self, seen: Observation, now_seconds: float) -> None:
        """Learn more than the workload from a batch whose rates are new."""

    def _settling_seconds(self, moment: Moment) -> float:
        """Return how long after other slots are in use nothing is learnt of costs."""
        return 0.0

    def _save_own(self) -> dict[str, Any]:
        return {}

    def _load_own(self, state: dict[str, Any]) -> None:
        """Take up what ``_save_own`` returned."""

    @checked
    def decide(self, observation: Observation) -> Decision:
        """Return the plan for the next micro-batch."""
        observation, memory = self._allowing(observation), self._memory
        now = memory.advance(observation.at_seconds)
        limits = bounds(self.rails.min_slots, self.rails.max_slots, observation)
        if not memory.planned:
            self._begin(observation, limits, now)
        moment = self._moment(observation, limits, now)
        if observation.batch_id < 0:
            memory.chain.starts(memory.situation(moment))
            self._workload.cold = self._skips_cold
            self._keep_within(moment, limits)
            return self._decision(observation)
        memory.slots_were(in_use(observation), now)
        # Slots that never stop changing must not keep costs from being learnt for ever.
        overdue = self._workload.unlearnt_seconds(now) > LEARN_AFTER * moment.interval_seconds
        settled = memory.settled(moment, self._settling_seconds(moment)) or overdue
        if memory.chain.excludes(observation.at_seconds):
            self._workload.observe(observation, now, learn=False)
        elif self._workload.observe(observation, now, learn=settled):
            self._learn(observation, now)
        moment = self._moment(observation, limits, now)
        situation = memory.situation(moment)
        memory.chain.watch(situation)
        memory.batches += 1
        due = not memory.asked or self._every.due(
            seconds=now - memory.asked_seconds, batches=memory.batches
        )
        wish = self._wish(moment) if due else None
        if wish is None:
            self._keep_within(moment, limits)
        else:
            memory.asked = True
            self._follow(wish, moment, situation, limits)
        memory.saw(observation)
        return self._decision(observation)

    def _allowing(self, seen: Observation) -> Observation:
        """Return an observation whose trigger is as long as batches may, or must, take."""
        trigger = seen.trigger_seconds
        if trigger is None:
            return seen
        within = 0.0 if self.batch_within is None else seconds(self.batch_within)
        # No number of slots makes a batch shorter than its fixed cost: planning for that would
        # see the query behind for ever, and never give a slot back.
        fixed, longest = self._workload.capacity.batch_seconds, self._every.seconds or trigger
        stretched = max(trigger, min(FIXED_COSTS_IN_BATCH * fixed, longest))
        # A fixed cost that leaves a quarter of the trigger fits in it; from there on by degrees.
        share = fixed / trigger if trigger > 0 else 1.0
        unfit = max(0.0, min(1.0, (share - FITTING_SHARE) / (1.0 - FITTING_SHARE)))
        must = trigger + unfit * (stretched - trigger)
        return replace(seen, trigger_seconds=max(within, must))

    def _moment(self, seen: Observation, limits: Bounds, now: float) -> Moment:
        between = self._workload.arrivals.between_seconds or seen.trigger_seconds or 1.0
        interval = self._every.length_seconds(between)
        return Moment(
            seen=seen,
            now_seconds=now,
            interval_seconds=interval,
            batch_seconds=seen.trigger_seconds or interval,
            planned=self._memory.planned,
            most=limits.most,
            short_seconds=self._memory.slots_exist(max(1, seen.slots), now),
        )

    def _begin(self, seen: Observation, limits: Bounds, now: float) -> None:
        memory = self._memory
        wanted = seen.slots if self.start_slots is None else self.start_slots
        memory.planned = max(1, wanted)
        situation = memory.situation(self._moment(seen, limits, now))
        passed = memory.chain.keeps(max(1, wanted), situation, limits)
        memory.planned, memory.held_by = passed.slots, passed.held_by
        memory.asked_seconds = now
        why = "all there are" if self.start_slots is None else "as set"
        memory.reason = f"nothing is measured yet; beginning with {in_slots(memory.planned)}, {why}"
        if passed.why:
            memory.reason += f" ({'; '.join(passed.why)})"
        memory.chain.decided(memory.planned, memory.situation(self._moment(seen, limits, now)))

    def _keep_within(self, moment: Moment, limits: Bounds) -> None:
        """Stay with the plan, unless there can't be, or nobody pays, as many slots any more."""
        memory = self._memory
        until_next = self._workload.batch_interval_seconds(moment.seen)
        now = replace(memory.situation(moment), interval_seconds=until_next)
        passed = memory.chain.keeps(moment.planned, now, limits)
        if passed.slots != moment.planned:
            reason = f"{in_slots(moment.planned)} were planned; {'; '.join(passed.why)}"
            memory.plan(Wish(passed.slots, reason), passed.slots, reason, passed.held_by, moment)

    def _follow(self, wish: Wish, moment: Moment, situation: Situation, limits: Bounds) -> None:
        """Pass a wish through the guard rails and make it the plan."""
        reason = f"{wish.reason}; asking for {wish.slots}"
        slots, held_by = wish.slots, []
        if self.rails.max_latency is not None:
            latency = seconds(self.rails.max_latency)
            needed = whole_slots(
                self._workload.slots_in_time(moment.seen, moment.now_seconds, latency)
            )
            if needed > slots:
                slots = needed
                held_by.append("deadline")
                reason += f"; {needed} to have every row done within {latency:g} s"
        passed = self._memory.chain.passes(slots, situation, limits)
        if passed.why:
            reason += "".join(f"; {why}" for why in passed.why)
            reason += f"; {'still' if passed.slots == moment.planned else 'so'} {passed.slots}"
        self._memory.plan(wish, passed.slots, reason, (*held_by, *passed.held_by), moment)

    def _decision(self, seen: Observation) -> Decision:
        memory = self._memory
        return Decision(
            slots=memory.planned,
            reason=memory.reason,
            tasks=self._workload.tasks(seen, max(1, min(memory.planned, seen.slots))),
            demand_slots=memory.demand_slots,
            horizon_seconds=memory.horizon_seconds,
            expected_rows=dict(memory.expected_rows),
            held_by=memory.held_by,
            low_rows=dict(memory.low_rows),
            high_rows=dict(memory.high_rows),
        )

    def save(self) -> dict[str, Any]:
        """Return all that was learnt and is remembered, in what JSON knows."""
        return {
            "policy": self.kind,
            "version": VERSION,
            "memory": self._memory.save(),
            "own": self._save_own(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned; ValueError where it is of another policy or version."""
        if not isinstance(state, dict) or state.get("policy") != self.kind:
            kind = state.get("policy") if isinstance(state, dict) else state
            raise ValueError(f"the state is that of {kind!r}, not of {self.kind!r}")
        if state.get("version") != VERSION:
            raise ValueError(
                f"the state of {self.kind} has version {state.get('version')!r}, not {VERSION}"
            )
        memory = PolicyMemory(self.rails)
        try:
            memory.load(state["memory"])
            self._load_own(state["own"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the state of {self.kind} is damaged: {error!r}") from error
        self._set("_memory", memory)
