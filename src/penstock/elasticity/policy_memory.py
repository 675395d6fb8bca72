"""What a policy that adapts remembers from one batch to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.elasticity.observation import Observation
from penstock.elasticity.rails.chain import RailChain
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.rails.rail import Situation
from penstock.elasticity.wish import Moment, Wish
from penstock.elasticity.workload import Workload, in_use

NEGLIGIBLE = 0.1
"""The share of a batch's time or rows that says nothing of a query being behind."""


class PolicyMemory:
    """The plan in force, a clock that never goes back, the workload, and the guard rails."""

    def __init__(self, rails: GuardRails) -> None:
        self.workload = Workload()
        self.chain = RailChain(rails)
        self.planned = 0  # before the first decision
        self.reason = ""
        self.held_by: tuple[str, ...] = ()
        self.demand_slots: float | None = None
        self.horizon_seconds: float | None = None
        self.expected_rows: Mapping[str, float] = {}
        self.low_rows: Mapping[str, float] = {}
        self.high_rows: Mapping[str, float] = {}
        self.asked = False
        self.asked_seconds = 0.0
        self.batches = 0  # since it was last asked
        self.changed_seconds: float | None = None  # when other slots came into use
        self.in_use = 0
        self.short_since: float | None = None  # since when planned slots have not come
        self._short = 0
        self._at: float | None = None
        self._now = 0.0
        self._waiting: int | None = None
        self._batch_seconds = 0.0

    def advance(self, at_seconds: float) -> float:
        """Return the time by a clock that stands still where the wall clock goes back."""
        if self._at is not None:
            self._now += max(0.0, at_seconds - self._at)
        self._at = at_seconds
        return self._now

    def slots_were(self, count: int, now_seconds: float) -> None:
        """Notice when other slots are in use than before."""
        if self.in_use and count != self.in_use:
            self.changed_seconds = now_seconds
        self.in_use = count

    def slots_exist(self, count: int, now_seconds: float) -> float:
        """Return for how long planned slots have not come, counted anew with each that does."""
        if count >= self.planned:
            self.short_since = None
        elif self.short_since is None or count > self._short:
            self.short_since = now_seconds
        self._short = count
        return 0.0 if self.short_since is None else now_seconds - self.short_since

    def settled(self, moment: Moment, settling_seconds: float) -> bool:
        """Say whether a batch began long enough after the last change."""
        if self.changed_seconds is None or settling_seconds <= 0:
            return True
        began = moment.now_seconds - moment.seen.batch_seconds
        return began >= self.changed_seconds + settling_seconds

    def situation(self, moment: Moment) -> Situation:
        """Return how things stand for the guard rails."""
        seen = moment.seen
        waiting, before = seen.waiting_rows or 0, self._waiting or 0
        late, rows_wait = self._late(seen), self._rows_wait(seen)
        growing = waiting > before or (late and seen.batch_seconds > self._batch_seconds)
        busy = sum(max(0.0, each.busy_seconds) for each in seen.operators)
        return Situation(
            now_seconds=moment.now_seconds,
            at_seconds=seen.at_seconds,
            interval_seconds=moment.interval_seconds,
            planned=moment.planned,
            in_use=in_use(seen),
            behind=rows_wait or late,
            late=late and not rows_wait,
            growing=growing,
            rows_per_second=seen.rows_in / max(seen.batch_seconds, 0.001),
            batch_seconds=max(0.0, seen.batch_seconds),
            fixed_seconds=self.workload.capacity.batch_seconds,
            coming_seconds=self._coming_seconds(seen, busy / max(1, seen.rows_in)),
            seconds_per_row=busy / max(1, seen.rows_in),
            arriving_per_second=self.workload.arrivals.lately(moment.interval_seconds),
        )

    def _coming_seconds(self, seen: Observation, seconds_per_row: float) -> float:
        """Return the slot time of the next batch: as many rows again where a limit left some."""
        load = self.workload
        span = max(seen.batch_seconds, load.batch_interval_seconds(seen))
        rows = seen.rows_in if seen.waiting_rows else load.rows_per_second * span
        return rows * max(seconds_per_row, load.seconds_per_row(seen))

    def _late(self, seen: Observation) -> bool:
        """Say whether a batch took longer than its trigger, and not for its fixed cost alone."""
        trigger = seen.trigger_seconds
        if trigger is None or seen.batch_seconds <= trigger:
            return False
        at_work = sum(max(0.0, each.slowest_task_seconds) for each in seen.operators)
        fixed = seen.batch_seconds - at_work
        return not at_work or fixed < trigger or at_work > NEGLIGIBLE * seen.batch_seconds

    def _rows_wait(self, seen: Observation) -> bool:
        """Say whether more rows wait than come between two batches, or clearly more than before."""
        waiting = seen.waiting_rows or 0
        usual = self.workload.rows_per_second * self.workload.batch_interval_seconds(seen)
        grown = waiting - (self._waiting or 0)
        return waiting > 0 and (waiting > usual or grown > NEGLIGIBLE * usual)

    def plan(
        self, wish: Wish, slots: int, reason: str, held_by: tuple[str, ...], moment: Moment
    ) -> None:
        """Make something the plan."""
        self.chain.decided(slots, self.situation(moment))
        self.planned, self.reason, self.held_by = slots, reason, held_by
        self.demand_slots, self.horizon_seconds = wish.demand_slots, wish.horizon_seconds
        self.expected_rows = dict(wish.expected_rows)
        self.low_rows, self.high_rows = dict(wish.low_rows), dict(wish.high_rows)
        self.asked_seconds, self.batches = moment.now_seconds, 0

    def saw(self, seen: Observation) -> None:
        """Remember what the next batch is compared with."""
        self._waiting, self._batch_seconds = seen.waiting_rows, seen.batch_seconds

    def save(self) -> dict[str, Any]:
        """Return all of it, in what JSON knows."""
        return {
            "workload": self.workload.save(),
            "rails": self.chain.save(),
            "planned": self.planned,
            "reason": self.reason,
            "held_by": list(self.held_by),
            "demand_slots": self.demand_slots,
            "horizon_seconds": self.horizon_seconds,
            "expected_rows": dict(self.expected_rows),
            "low_rows": dict(self.low_rows),
            "high_rows": dict(self.high_rows),
            "asked": self.asked,
            "asked_seconds": self.asked_seconds,
            "batches": self.batches,
            "changed_seconds": self.changed_seconds,
            "in_use": self.in_use,
            "short_since": self.short_since,
            "short": self._short,
            "at": self._at,
            "now": self._now,
            "waiting": self._waiting,
            "batch_seconds": self._batch_seconds,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self.workload.load(state["workload"])
        self.chain.load(state["rails"])
        self.planned = int(state["planned"])
        self.reason = str(state["reason"])
        self.held_by = tuple(state["held_by"])
        self.demand_slots = state["demand_slots"]
        self.horizon_seconds = state["horizon_seconds"]
        self.expected_rows = dict(state["expected_rows"])
        # Checkpoints from before forecasts had a band do not have these.
        self.low_rows = dict(state.get("low_rows", {}))
        self.high_rows = dict(state.get("high_rows", {}))
        self.asked = bool(state["asked"])
        self.asked_seconds = float(state["asked_seconds"])
        self.batches = int(state["batches"])
        self.changed_seconds = state["changed_seconds"]
        self.in_use = int(state["in_use"])
        self.short_since, self._short = state["short_since"], int(state["short"])
        self._at, self._now = state["at"], float(state["now"])
        self._waiting, self._batch_seconds = state["waiting"], float(state["batch_seconds"])
