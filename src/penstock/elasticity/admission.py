"""How many rows a micro-batch may take, so that it is done when the next one is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from penstock.arguments import checked, is_finite
from penstock.elasticity.batch_cost import BatchCost
from penstock.elasticity.shed_rows import NO_ROWS_SHED, ShedRows
from penstock.errors import ConfigurationError
from penstock.windows.durations import Duration, in_seconds, microseconds

_FILLED = 0.9  # a source may stop a little short of its limit, at the end of a file or a partition
# One batch that was slow by chance, as the first of a run is, must not starve those after it.
_STEEPEST_FALL = 2.0
_STEEPEST_GROWTH = 10.0
_MOST_ROWS = 1 << 62
_MOSTLY_SHED = 0.1  # of a batch: above this its time tells little of what rows cost


@dataclass(frozen=True, slots=True)
class Admission:
    """Limits the rows of a micro-batch so that it takes ``target`` of the trigger's time.

    ``batch`` is a length to aim at instead, for a query without a trigger. The limit stays within
    ``min_rows`` and ``max_rows``. ``kp`` is how much of the gap between the rate that is let in and
    the rate that was processed is closed by one batch, ``ki`` how fast time that batches took too
    long is made up for.

    >>> Admission(target=0.5).goal_seconds(trigger_seconds=10.0)
    5.0
    """

    target: float = 0.8
    batch: Duration | None = None
    min_rows: int = 1
    max_rows: int | None = None
    kp: float = 1.0
    ki: float = 0.2

    def __post_init__(self) -> None:
        if not is_finite(self.target) or not 0 < self.target <= 1:
            raise ConfigurationError(
                f"Admission(target={self.target!r}) is no share of the trigger. Write a number "
                "above 0 and up to 1, such as 0.8."
            )
        if self.batch is not None and microseconds(self.batch) <= 0:
            raise ConfigurationError(
                f"Admission(batch={self.batch!r}) is no time. Write for example batch='5 seconds'."
            )
        for name, gain in (("kp", self.kp), ("ki", self.ki)):
            if not is_finite(gain) or not 0 <= gain <= 1:
                raise ConfigurationError(
                    f"Admission({name}={gain!r}) is no gain. Write a number from 0 to 1."
                )
        _check_rows("min_rows", self.min_rows)
        if self.max_rows is not None:
            _check_rows("max_rows", self.max_rows)
            if self.max_rows < self.min_rows:
                raise ConfigurationError(
                    f"Admission(min_rows={self.min_rows}, max_rows={self.max_rows}) leaves no "
                    "limit. Write min_rows up to max_rows."
                )

    @checked
    def goal_seconds(self, trigger_seconds: float | None) -> float:
        """Return how long a micro-batch should take."""
        if self.batch is not None:
            return microseconds(self.batch) / 1_000_000
        if trigger_seconds is None:
            raise ConfigurationError(
                "admission needs to know how long a micro-batch may take. Write run(..., "
                "trigger='10 seconds'), or Admission(batch='5 seconds')."
            )
        return self.target * trigger_seconds


@dataclass(frozen=True, slots=True)
class Limit:
    """The most rows that the next micro-batch may take, and why."""

    rows: int
    reason: str


class AdmissionControl:
    """A proportional-integral rule on the rate at which rows are let in.

    After a micro-batch that was filled to its limit, or that took too long,

        rate = rate - kp (rate - processed) - ki processed owed / goal

    where ``processed`` is the batch's rows per second and ``owed`` the time by which batches
    outran the goal and that no shorter one made up for, one goal at most. A batch that took fewer
    rows than it might have, in good time, speaks against no limit: it can only raise it. One batch
    halves the limit at most, and raises it tenfold at most.

    Rows that were shed cost next to nothing, so nothing is learnt from them: ``rows`` are those
    that were processed. As many more may be read as the last batch had too old. Otherwise a query
    that is behind would read nothing but old rows, and never get to those that are in time.

    Where the cost of a batch with no row in it is more than half of the goal, no limit could keep
    the goal; then the goal is twice that cost, so that half of the time goes into rows.

    >>> control = AdmissionControl(Admission(), goal_seconds=8.0)
    >>> control.after_batch(rows=1_000, batch_seconds=4.0).rows
    2000
    """

    def __init__(self, settings: Admission, goal_seconds: float) -> None:
        self._settings = settings
        self._goal_seconds = goal_seconds
        self._rate: float | None = None
        self._owed_seconds = 0.0
        self._cost = BatchCost()

    @property
    def goal_seconds(self) -> float:
        """How long a batch should take, with what is known of its fixed cost."""
        return max(self._goal_seconds, 2 * self._cost.fixed_seconds)

    @property
    def limit(self) -> int | None:
        """The most rows of the next batch; None before anything was learnt."""
        return None if self._rate is None else self._rows(self._rate * self.goal_seconds)

    def after_batch(
        self,
        rows: int,
        batch_seconds: float,
        waiting_rows: int | None = None,
        shed: ShedRows = NO_ROWS_SHED,
    ) -> Limit | None:
        """Learn from a micro-batch and return the limit of the next; None while none is known."""
        if rows < 0 or not isfinite(batch_seconds) or batch_seconds < 0:
            raise ValueError(f"no batch has {rows} rows in {batch_seconds} s")
        batch_seconds = max(batch_seconds, 1e-3)  # a clock's tick, or a clock that was set back
        was = self.limit
        goal = self.goal_seconds
        self._owed_seconds = min(max(0.0, self._owed_seconds + batch_seconds - goal), goal)
        if rows:
            if shed.rows <= _MOSTLY_SHED * (rows + shed.rows):
                self._cost.learn(rows, batch_seconds)
            self._follow(rows, batch_seconds, was is None or rows >= _FILLED * was)
        limit = self.limit
        if limit is None:
            return None
        reason = self._reason(rows, batch_seconds, waiting_rows)
        if shed.too_old:
            reason += f"; {shed.too_old} rows more, as so many were too old"
        return Limit(self._rows(limit + shed.too_old), reason)

    def _follow(self, rows: int, batch_seconds: float, was_filled: bool) -> None:
        goal = self.goal_seconds
        processed = rows / batch_seconds
        before = rows / goal if self._rate is None else self._rate
        rate = processed if self._rate is None else self._rate
        if was_filled or batch_seconds > goal or processed > rate:
            rate -= self._settings.kp * (rate - processed)
            rate -= self._settings.ki * processed * self._owed_seconds / goal
            rate = min(max(rate, before / _STEEPEST_FALL), before * _STEEPEST_GROWTH)
        # Kept where the limit is kept: a rate beyond would have to come back first.
        self._rate = self._rows(rate * goal) / goal

    def _rows(self, rows: float) -> int:
        most = self._settings.max_rows or _MOST_ROWS
        return max(self._settings.min_rows, int(min(rows + 0.5, most)))

    def _reason(self, rows: int, batch_seconds: float, waiting_rows: int | None) -> str:
        reason = f"{rows} rows took {_shown(batch_seconds)}, {_shown(self.goal_seconds)} is the aim"
        if self.goal_seconds > self._goal_seconds:
            fixed = _shown(self._cost.fixed_seconds)
            reason += f" (a batch costs {fixed} whatever its rows, so "
            reason += f"{_shown(self._goal_seconds)} can't be kept)"
        return reason + (f"; {waiting_rows} rows wait" if waiting_rows else "")

    def save(self) -> dict[str, Any]:
        """Return all that was learnt, in what JSON knows."""
        return {
            "rate": self._rate,
            "owed_seconds": self._owed_seconds,
            "cost": self._cost.save(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take up what ``save`` returned; ValueError where it is something else."""
        rate: Any = state.get("rate")
        owed: Any = state.get("owed_seconds")
        if not (rate is None or (is_finite(rate) and 0 < rate < _MOST_ROWS)):
            raise ValueError(f"rate is {rate!r}")
        if not is_finite(owed) or owed < 0:
            raise ValueError(f"owed_seconds is {owed!r}")
        self._cost = BatchCost.load(state.get("cost"))
        self._rate = rate
        self._owed_seconds = min(float(owed), self.goal_seconds)


def _shown(length_seconds: float) -> str:
    return in_seconds(max(1_000, round(length_seconds * 1_000) * 1_000))


def _check_rows(name: str, rows: Any) -> None:
    if not isinstance(rows, int) or isinstance(rows, bool) or not 1 <= rows <= _MOST_ROWS:
        raise ConfigurationError(
            f"Admission({name}={rows!r}) is no number of rows. Write a whole number from 1."
        )
