"""One candidate on one load: what it cost, and how many rows were done in time."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.planner.candidates import Candidate
from penstock.simulation.planner.resampling import resampled
from penstock.simulation.topology import SimulatedTopology

_HOUR = 3_600.0
_SLOW = 0.99
AS_RECORDED = -1
"""The number of the day that is the trace itself; others are drawn from it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all trials of a plan share."""

    load: Load
    topology: SimulatedTopology
    mechanism: MicroBatch
    target_seconds: float
    block_seconds: float
    seed: int


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a candidate on one day; ``in_time`` is a share of the day's rows.

    ``slow_seconds`` is the latency that one row in a hundred exceeds: of two candidates that keep
    a target, it tells which one has more to spare.
    """

    candidate: Candidate
    day: int
    in_time: float
    slot_hours: float
    slow_seconds: float


def run_trial(setting: Setting, candidate: Candidate, day: int) -> Trial:
    """Simulate a candidate on a day: the trace, or one drawn from it."""
    load = setting.load
    if day != AS_RECORDED:
        drawn = resampled(load.trace, setting.block_seconds, setting.seed + day)
        load = replace(load, trace=drawn)
    mechanism = replace(
        setting.mechanism,
        trigger_seconds=candidate.trigger_seconds,
        least_slots=candidate.least,
        most_slots=candidate.most,
        start_slots=candidate.most,
        deadline_seconds=setting.target_seconds,
    )
    run = mechanism.run(setting.topology, load, candidate.build(), seed=setting.seed + max(0, day))
    return Trial(
        candidate,
        day,
        in_time=run.processed,
        slot_hours=run.slot_seconds / _HOUR,
        slow_seconds=run.latency_quantiles[_SLOW],
    )


RunTrials = Callable[[Sequence[tuple[Candidate, int]]], Iterator[Trial]]


@contextmanager
def trial_runner(setting: Setting, workers: int) -> Iterator[RunTrials]:
    """Return what runs trials, in the order given, in this process or in several."""
    if workers <= 1:
        yield lambda asked: (run_trial(setting, each, day) for each, day in asked)
        return
    # A fresh process each: this one may have threads, of Spark or of a progress bar.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _remember, (setting,)) as pool:
        try:
            yield lambda asked: pool.map(_asked, asked)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_setting: Setting | None = None


def _remember(setting: Setting) -> None:
    # Ctrl-C is for whoever started it, who then ends the processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    global _setting
    _setting = setting


def _asked(each: tuple[Candidate, int]) -> Trial:
    assert _setting is not None
    return run_trial(_setting, *each)
