"""A scale-out that does not help is noticed, and not repeated for a time."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from penstock.elasticity.rails.rail import Held, Situation, Wait, in_slots

JUDGED_BATCHES = 3
LEAST_GAIN = 0.1
SETTLING_SECONDS = 5.0
"""How long new slots are not judged, or half a control interval where that is longer: Python
workers start, code is compiled and caches fill."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast rows were gone through, and the slot time of each."""

    rows_per_second: float
    seconds_per_row: float

    @property
    def work_per_second(self) -> float:
        """The slot time spent on rows in a second."""
        return self.rows_per_second * self.seconds_per_row


@dataclass(frozen=True, slots=True)
class Trial:
    """A scale-out under watch: from how many slots and at what pace, and what came of it."""

    slots: int
    before: Pace
    batches: int = 0
    seconds: float = 0.0
    slots_after: int = 0
    rows_after: float = 0.0
    work_after: float = 0.0


class UselessScaleOut:
    """Stops a scale-out that did not make a query that is behind any faster.

    It watches the micro-batches of a control interval, three at least, in which more slots were
    really in use and warm. Where rows a second grew by less than a tenth of what the slots did
    while the query stayed behind, slots are not what is missing: a source that gives no more, one
    key, a slow sink. Then there are no more slots than these for ``hold``, or until
    there are fewer than before it. Rows a second that fell because each took longer are
    not the slots' doing, and tell nothing.
    """

    name = "scale-out does not help"

    def __init__(self, hold: Wait) -> None:
        self._hold = hold
        self._in_use = 0
        self._since: float | None = None  # when as many slots came into use
        self._seen: float | None = None
        self._before: list[Pace] = []
        self._trial: Trial | None = None
        self._enough = 0  # slots that were no slower than more
        self._until: float | None = None
        self._why = ""

    def watch(self, now: Situation) -> None:
        """Look at a micro-batch."""
        began = now.now_seconds - now.batch_seconds
        passed = now.now_seconds - (began if self._seen is None else self._seen)
        self._seen = now.now_seconds
        if now.in_use != self._in_use:
            self._before.clear()
            self._since = began
        self._in_use = now.in_use
        if now.behind:  # only then is the rate what the slots can do, and not what comes
            pace = Pace(now.rows_per_second, now.seconds_per_row)
            self._before = [*self._before, pace][-JUDGED_BATCHES:]
        trial = self._trial
        if trial is None or now.in_use <= trial.slots:
            return
        if not now.behind:
            self._trial = None
            return
        if self._since is not None and began < self._since + _settling_seconds(now):
            return
        self._trial = trial = replace(
            trial,
            batches=trial.batches + 1,
            seconds=trial.seconds + passed,
            slots_after=trial.slots_after + now.in_use,
            rows_after=trial.rows_after + now.rows_per_second,
            work_after=trial.work_after + now.rows_per_second * now.seconds_per_row,
        )
        if trial.batches >= JUDGED_BATCHES and trial.seconds >= 0.999 * now.interval_seconds:
            self._judge(trial, now)

    def _judge(self, trial: Trial, now: Situation) -> None:
        self._trial = None
        slots = trial.slots_after / trial.batches
        rows, work = trial.rows_after / trial.batches, trial.work_after / trial.batches
        needed = 1 + LEAST_GAIN * (slots / trial.slots - 1)
        if rows >= needed * trial.before.rows_per_second:
            return
        fell = rows < (1 - LEAST_GAIN) * trial.before.rows_per_second
        if fell and work >= needed * trial.before.work_per_second > 0:
            return  # rows became dearer: it would be slower still without these slots
        self._enough = trial.slots
        self._until = now.now_seconds + self._hold.seconds_at(now)
        self._why = (
            f"going from {trial.slots} to {in_slots(round(slots))} did not help "
            f"({trial.before.rows_per_second:.4g} rows/s before, {rows:.4g} after)"
        )

    def hold(self, slots: int, now: Situation) -> Held | None:
        """Return the most slots that are known to help, or the plan where that is more."""
        most = max(now.planned, self._enough)
        if self._until is None or slots <= most:
            return None
        left = self._until - now.now_seconds
        if left <= 0:
            self._until = None
            return None
        so = "none is" if most == now.planned else f"no more than {most - now.planned} are"
        return Held(most, f"{self._why}, so {so} added for {left:.3g} s")

    def decided(self, slots: int, now: Situation) -> None:
        """Begin to watch a scale-out of a query that is behind; forget it on a scale-in."""
        if slots < now.planned:
            self._trial = None
            if slots < self._enough:  # what was true of more slots says nothing of fewer
                self._until = None
        elif slots > now.planned and now.behind and self._trial is None and self._before:
            count = len(self._before)
            rows = sum(each.rows_per_second for each in self._before) / count
            work = sum(each.work_per_second for each in self._before) / count
            self._trial = Trial(now.in_use, Pace(rows, work / rows)) if rows > 0 else None

    def save(self) -> dict[str, Any]:
        """Return the scale-out under watch, and the last one that did not help."""
        return {
            "in_use": self._in_use,
            "since": self._since,
            "seen": self._seen,
            "before": [asdict(pace) for pace in self._before],
            "trial": None if self._trial is None else asdict(self._trial),
            "enough": self._enough,
            "until": self._until,
            "why": self._why,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self._in_use = int(state["in_use"])
        self._since, self._seen = state["since"], state["seen"]
        self._before = [Pace(**pace) for pace in state["before"]]
        trial = state["trial"]
        self._trial = (
            None if trial is None else Trial(**{**trial, "before": Pace(**trial["before"])})
        )
        self._enough = int(state["enough"])
        self._until = None if state["until"] is None else float(state["until"])
        self._why = str(state["why"])


def _settling_seconds(now: Situation) -> float:
    return max(SETTLING_SECONDS, now.interval_seconds / 2)
