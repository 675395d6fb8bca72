"""Looks for the cheapest policy, bounds and trigger with which rows are done in time.

Coarse to fine: all candidates meet the trace itself, the best of them and their neighbours too.
Of those that keep the target there, some cost more and have more to spare. From the cheapest to the
dearest these are a ladder, one of slots that stay and one of policies that follow the load. Days
drawn from the trace tell which rung is enough: a few days for rungs far apart, more days for those
between the last that fails and the first that holds, all days for what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.planner.candidates import (
    FIXED,
    POLICIES,
    Candidate,
    Room,
    first_candidates,
    near,
)
from penstock.simulation.planner.feasible import refuse_impossible, room_of, unreachable
from penstock.simulation.planner.plan import Between, CapacityPlan, Tried
from penstock.simulation.planner.resampling import block_seconds_of
from penstock.simulation.planner.trials import (
    AS_RECORDED,
    RunTrials,
    Setting,
    Trial,
    trial_runner,
)
from penstock.simulation.topology import SimulatedTopology
from penstock.sources.trace import Trace

Progress = Callable[[str, float], object]

NEIGHBOURHOODS = 3
"""How many times the best are looked around, each time half as far."""
AROUND = 4
"""Candidates whose neighbours are tried."""
ROUNDS = ((6, 0.1), (4, 0.25))
"""How many rungs of the ladder meet which share of the resampled days, before one meets all."""
DAYS_AT_ONCE = 10
"""Days that candidates meet before it is asked whether they can still hold on enough."""
MOST_TRIES = 6
"""Rungs that meet all days, one dearer than the other, until one holds."""


def plan_capacity(
    trace: Trace | Load,
    topology: SimulatedTopology,
    *,
    target_latency_seconds: float,
    availability: float,
    mechanism: MicroBatch,
    resamples: int = 100,
    confidence: float = 0.9,
    block_seconds: float | None = None,
    policies: Sequence[str] = POLICIES,
    workers: int = 1,
    seed: int = 0,
    progress: Progress = lambda what, share: None,
) -> CapacityPlan:
    """Find the cheapest way to have the share ``availability`` of rows done within the target.

    ``mechanism`` tells costs, how long slots take to come, and between how many slots to search;
    its trigger is not used, as triggers are searched, too. Of ``resamples`` days drawn from the
    trace, the target must hold on the share ``confidence``. ``policies`` are those to try, by name.
    ``progress`` is told what is being done
    and how much of the whole is done, about. Targets that no number of slots can keep are refused,
    with what can be reached.
    """
    load = trace if isinstance(trace, Load) else Load(trace)
    _check(target_latency_seconds, availability, resamples, confidence)
    room = room_of(load, topology, mechanism, target_latency_seconds)
    grid = first_candidates(room, policies)
    refuse_impossible(room, mechanism.costs, availability)
    blocks = block_seconds_of(load.trace, block_seconds)
    setting = Setting(load, topology, mechanism, target_latency_seconds, blocks, seed)
    with trial_runner(setting, workers) as run:
        search = _Search(run, room, availability, confidence, resamples, progress)
        found = search.coarse_to_fine(grid)
        if not any(each.in_time >= availability for each in found):
            raise unreachable(setting, room, availability)
        tried = search.on_other_days(found)
    best = min(tried, key=lambda each: _rank(each, confidence))
    return CapacityPlan(
        best=best,
        others=tuple(each for each in tried if each != best),
        target_seconds=target_latency_seconds,
        availability=availability,
        confidence_asked=confidence,
        block_seconds=blocks,
        candidates=search.candidates,
        simulated_days=search.done,
    )


def _rank(each: Tried, confidence: float) -> tuple[bool, float, float]:
    """Order candidates: the cheapest of those that hold, or else the one that holds most often."""
    if each.confidence >= confidence:
        return False, each.slot_hours_between.middle, -each.confidence
    return True, -each.confidence, each.slot_hours_between.middle


@dataclass(slots=True)
class _Search:
    run: RunTrials
    room: Room
    availability: float
    confidence: float
    resamples: int
    progress: Progress
    done: int = 0
    expected: int = 1
    candidates: int = 0

    def coarse_to_fine(self, grid: Sequence[Candidate]) -> list[Trial]:
        """Return the trials on the trace itself, the best first."""
        later = sum(count * max(1, round(share * self.resamples)) for count, share in ROUNDS)
        later = 2 * (later + self.resamples)
        self.expected = len(grid) + NEIGHBOURHOODS * AROUND * 5 + later
        found = self._trials([(each, AS_RECORDED) for each in grid], "trying policies")
        known = {each.candidate for each in found}
        for closeness in range(NEIGHBOURHOODS):
            found.sort(key=self._first)
            around = [
                each
                for best in found[:AROUND]
                for each in near(best.candidate, self.room, closeness)
                if each not in known
            ]
            fresh = list(dict.fromkeys(around))
            known.update(fresh)
            found += self._trials([(each, AS_RECORDED) for each in fresh], "looking around them")
        self.candidates = len(known)
        return sorted(found, key=self._first)

    def on_other_days(self, found: Sequence[Trial]) -> list[Tried]:
        """Return what met days drawn from the trace, of slots that stay and of those that follow.

        Each has a ladder of its own: on the trace itself a policy that follows may have more to
        spare than fixed slots that cost more, and still be the one that a sudden rise surprises.
        """
        held = [each for each in found if each.in_time >= self.availability]
        kinds = (
            [each for each in held if each.candidate.policy == FIXED],
            [each for each in held if each.candidate.policy != FIXED],
        )
        return [tried for kind in kinds if kind for tried in self._climb(ladder(kind))]

    def _climb(self, rungs: list[Trial]) -> list[Tried]:
        """Find the lowest rung that holds on days drawn from the trace; return all that met all."""
        met: dict[Candidate, list[Trial]] = {each.candidate: [] for each in rungs}
        low, high = 0, len(rungs) - 1
        for count, share in ROUNDS:
            days = max(1, round(share * self.resamples))
            asked = sorted({round(low + (high - low) * n / (count - 1)) for n in range(count)})
            held = self._hold([rungs[each] for each in asked], days, met)
            first = next((place for place, holds in enumerate(held) if holds), len(asked) - 1)
            low, high = asked[max(0, first - 1)], asked[first]
        tries = rungs[high : high + MOST_TRIES - 1]
        if rungs[-1] not in tries:
            tries = [*tries, rungs[-1]]
        tried: list[Tried] = []
        # The rung below was judged by some of the days only.
        for rung in ([rungs[low]] if low < high else []) + tries:
            holds = self._hold([rung], self.resamples, met)[0]
            tried.append(_tried(rung, met[rung.candidate], self.availability))
            if holds:
                break
        return tried

    def _hold(
        self, rungs: Sequence[Trial], days: int, met: dict[Candidate, list[Trial]]
    ) -> list[bool]:
        """Say which candidates keep the target on enough of so many days.

        Days come a few at a time: who has failed on too many of them already meets no more.
        """
        for until in range(DAYS_AT_ONCE, days + DAYS_AT_ONCE, DAYS_AT_ONCE):
            asked = [
                (each.candidate, day)
                for each in rungs
                for day in range(len(met[each.candidate]), min(until, days))
                if self._may_hold(met[each.candidate], days)
            ]
            for trial in self._trials(asked, f"on {days} resampled days"):
                met[trial.candidate].append(trial)
        return [self._may_hold(met[each.candidate], days) for each in rungs]

    def _may_hold(self, trials: Sequence[Trial], days: int) -> bool:
        """Whether it failed on so few of the days that it met that enough of all can still hold."""
        failed = sum(each.in_time < self.availability for each in trials)
        return failed <= (1 - self.confidence) * days + 1e-9

    def _trials(self, asked: Sequence[tuple[Candidate, int]], what: str) -> list[Trial]:
        found = []
        for trial in self.run(asked):
            found.append(trial)
            self.done += 1
            self.progress(what, min(1.0, self.done / max(self.expected, self.done)))
        return found

    def _first(self, trial: Trial) -> tuple[bool, float, float]:
        held = trial.in_time >= self.availability
        return not held, trial.slot_hours if held else -trial.in_time, trial.slot_hours


def ladder(found: Iterable[Trial]) -> list[Trial]:
    """Return the trials that have more to spare than all cheaper ones, the cheapest first."""
    rungs: list[Trial] = []
    for each in sorted(found, key=lambda one: (one.slot_hours, one.slow_seconds)):
        if not rungs or each.slow_seconds < rungs[-1].slow_seconds:
            rungs.append(each)
    return rungs


def _tried(first: Trial, trials: Iterable[Trial], availability: float) -> Tried:
    days = list(trials)
    return Tried(
        candidate=first.candidate,
        in_time=first.in_time,
        slot_hours=first.slot_hours,
        days=len(days),
        held=sum(each.in_time >= availability for each in days),
        in_time_between=_between([each.in_time for each in days]),
        slot_hours_between=_between([each.slot_hours for each in days]),
    )


def _between(values: Sequence[float]) -> Between:
    low, middle, high = np.quantile(values, (0.05, 0.5, 0.95)).tolist()
    return Between(middle, low, high)


def _check(target_seconds: float, availability: float, resamples: int, confidence: float) -> None:
    if not (isfinite(target_seconds) and target_seconds > 0):
        raise ConfigurationError(
            f"a target latency of {target_seconds} s can't be. Write seconds above 0, such as 2."
        )
    for name, value in (("availability", availability), ("confidence", confidence)):
        if not 0 < value <= 1:
            raise ConfigurationError(
                f"{name}={value} is no share. Write a number above 0 and up to 1, such as 0.999."
            )
    if resamples < 1:
        raise ConfigurationError(f"resamples={resamples}: write 1 or more, such as 100.")
