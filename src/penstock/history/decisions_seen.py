"""What policies decided, what they expected, and what came of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, nan
from typing import NamedTuple

import numpy as np

from penstock.history.growing_table import GrowingTable, Merge, Numbers
from penstock.journal.events import (
    ControlTaken,
    DecisionMade,
    ForecastMade,
    LimitSet,
    PlanChanged,
    PlanWeighed,
    SlotsChanged,
)

KEPT_DECISIONS = 2_000
KEPT_CHANGES = 500
USUAL_HORIZON_SECONDS = 60.0


class Made(NamedTuple):
    """A decision, when it was made, and the slots that were planned before it.

    Batches after it have times from ``since_seconds`` on: where a clock was set back, batches go on
    to count as of the time before that.
    """

    at_seconds: float
    told: DecisionMade
    slots_before: int | None
    since_seconds: float


class Change(NamedTuple):
    """Something else that changed: the plan, a limit, the slots, or what somebody asked for."""

    at_seconds: float
    batch_id: int | None
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a decision within its horizon.

    ``expected_rows`` and ``actual_rows`` are those of all sources. ``actual_rows`` and the shares
    of the trigger that batches took are None where the time is not over, or no batch ended in it.
    """

    expected_rows: float | None
    actual_rows: float | None
    share_before: float | None
    share_after: float | None
    is_over: bool

    @property
    def error(self) -> float | None:
        """How far off the forecast was, as a share of what came; None where that is not known."""
        if self.expected_rows is None or not self.actual_rows:
            return None
        return self.expected_rows / self.actual_rows - 1.0

    def why_unknown(self, *, has_ended: bool) -> str | None:
        """Say why it is not known what came: the time is not over, or never will be."""
        if self.is_over:
            return None
        return "the run ended before" if has_ended else "not over yet"


class DecisionsSeen:
    """Decisions and forecasts of a query; the newest of them whole, the rest as counts."""

    def __init__(self) -> None:
        self.count = 0
        self.changed_slots = 0
        self.newest: deque[Made] = deque(maxlen=KEPT_DECISIONS)
        self.changes: deque[Change] = deque(maxlen=KEPT_CHANGES)
        self.plan_weighed: PlanWeighed | None = None
        self.control: ControlTaken | None = None
        self.forecasts = GrowingTable(
            {
                "at": Merge.LAST,
                "rate": Merge.MEAN,
                "low": Merge.MEAN,
                "high": Merge.MEAN,
                "horizon": Merge.MEAN,
            }
        )
        self.demands = GrowingTable(
            {"at": Merge.LAST, "slots": Merge.LAST, "demand": Merge.MEAN},
        )

    @property
    def last(self) -> Made | None:
        """The decision in force."""
        return self.newest[-1] if self.newest else None

    def decide(self, at_seconds: float, told: DecisionMade, newest_batch_seconds: float) -> None:
        """Take in a decision, and the time that the newest batch before it has."""
        before = self.last.told.decision.slots if self.last else None
        self.count += 1
        self.changed_slots += before is not None and before != told.decision.slots
        is_set_back = newest_batch_seconds > at_seconds
        since = newest_batch_seconds if is_set_back else at_seconds
        self.newest.append(Made(at_seconds, told, before, since))
        demand = told.decision.demand_slots
        self.demands.append(
            (at_seconds, float(told.decision.slots), nan if demand is None else demand)
        )

    def forecast(self, at_seconds: float, told: ForecastMade, sources: Iterable[str]) -> None:
        """Take in a forecast, as the rate of all sources together."""
        horizon = told.horizon_seconds
        named = [name for name in sources if name in told.rows]
        if horizon > 0 and named:
            self.forecasts.append(
                (
                    at_seconds,
                    sum(told.rows[name] for name in named) / horizon,
                    sum(told.low_rows.get(name, nan) for name in named) / horizon,
                    sum(told.high_rows.get(name, nan) for name in named) / horizon,
                    horizon,
                )
            )

    def slots(self, at_seconds: float, told: SlotsChanged) -> None:
        """Take in what became of the slots that were planned."""
        self.changes.append(Change(at_seconds, None, "slots", told.reason))

    def limit(self, at_seconds: float, told: LimitSet) -> None:
        """Take in how many rows a batch may take."""
        reason = f"{told.rows:,} rows a batch at most: {told.reason}"
        self.changes.append(Change(at_seconds, told.batch_id, "limit", reason))

    def plan(self, at_seconds: float, told: PlanChanged) -> None:
        """Take in that operators run in other components."""
        what = "; ".join(told.operations)
        self.changes.append(Change(at_seconds, told.batch_id, "plan", f"{what}: {told.reason}"))

    def weigh(self, at_seconds: float, told: PlanWeighed) -> None:
        """Take in that the plan was weighed against another."""
        self.plan_weighed = told

    def controlled(self, at_seconds: float, told: ControlTaken) -> None:
        """Take in what somebody asked for."""
        self.control = told
        self.changes.append(Change(at_seconds, told.batch_id, "control", told.reason))

    def outcome(self, made: Made, batches: GrowingTable, sources: Iterable[str]) -> Outcome:
        """Look up what came of a decision in the batches after it."""
        decision, at = made.told.decision, made.since_seconds
        horizon = decision.horizon_seconds
        named = [name for name in sources if name in decision.expected_rows]
        expected = sum(decision.expected_rows[name] for name in named) if named else None
        within = horizon or USUAL_HORIZON_SECONDS
        # Batches end when they end: the first to end after the horizon is taken whole.
        last_at = batches.first_time_after(at + within - 1e-6)
        is_over = last_at is not None
        after = batches.between(at, inf if last_at is None else last_at)
        before = batches.between(at - within, at)
        actual = None
        if horizon and is_over and len(after["at"]):
            grown = _grown(before["waiting"], after["waiting"])
            arrived = float(np.nansum(after["rows"])) + grown
            actual = max(0.0, arrived) * horizon / float(after["at"][-1] - at)
        return Outcome(expected, actual, _share(before), _share(after), is_over)


def _grown(before: Numbers, after: Numbers) -> float:
    """Return by how much the rows that wait grew: they arrived, and no batch took them."""
    then, now = before[~np.isnan(before)], after[~np.isnan(after)]
    if not len(now):
        return 0.0
    return float(now[-1] - (then[-1] if len(then) else now[0]))


def _share(rows: Mapping[str, Numbers]) -> float | None:
    """Return what part of their trigger batches took, on average."""
    seconds, trigger = rows["seconds"], rows["trigger"]
    known = ~np.isnan(seconds) & (trigger > 0)
    if not known.any():
        return None
    return float(np.average(seconds[known] / trigger[known], weights=rows["count"][known]))
