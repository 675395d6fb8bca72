"""What comes of a simulation, whatever mechanism was simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.replay.batches import ReplayedBatch

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened in each step of ``step_seconds``; all arrays are as long as there are steps.

    ``rows_in`` entered at the sources, ``rows_done`` of the load were done with all that became of
    them, and ``latency_seconds`` is their mean latency (NaN where none was done). ``rows_failed``
    will never be done: they were too late, or there was no room. ``slots`` and ``waiting_rows`` are
    means over the step. ``operator_slots`` is by operator, where each has its own.
    """

    step_seconds: float
    rows_in: Numbers
    rows_done: Numbers
    rows_failed: Numbers
    latency_seconds: Numbers
    slots: Numbers
    waiting_rows: Numbers
    operator_slots: Mapping[str, Numbers] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimedDecision:
    """What a policy decided, and when; only decisions that differ from the one before are kept."""

    at_seconds: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """One policy on one mechanism with one load.

    ``failed`` is rows of the load by why they failed. ``slot_seconds`` is what the slots cost from
    the start until the load was over. ``latency_quantiles`` is by share, such as 0.95. Where the
    mechanism has micro-batches, ``batches`` are all of them, and ``behind_seconds`` is the time
    spent in those that took longer than their trigger.
    """

    policy: str
    mechanism: str
    rows: int
    done_rows: int
    failed: Mapping[str, int]
    mean_latency_seconds: float
    latency_quantiles: Mapping[float, float]
    slot_seconds: float
    duration_seconds: float
    changes: int
    timeline: Timeline
    decisions: tuple[TimedDecision, ...] = ()
    batches: tuple[ReplayedBatch, ...] = ()
    behind_seconds: float = 0.0

    @property
    def mean_slots(self) -> float:
        """Slots that there were, on average over the time of the load."""
        return self.slot_seconds / self.duration_seconds

    @property
    def processed(self) -> float:
        """The share of the load that was done in the end (PSPS's difference in processed)."""
        return self.done_rows / self.rows

    def saved(self, most_slots: float) -> float:
        """Return the share of slots saved against always having the most (PSPS)."""
        return 1.0 - self.mean_slots / most_slots

    def degradation(self, interval_seconds: float) -> float:
        """Return the mean of |input - output| / input over intervals of this length (PSPS)."""
        steps = max(1, round(interval_seconds / self.timeline.step_seconds))
        edges = np.arange(0, len(self.timeline.rows_in), steps)
        came = np.add.reduceat(self.timeline.rows_in, edges)
        went = np.add.reduceat(self.timeline.rows_done, edges)
        some = came > 0
        if not some.any():
            return 0.0
        return float(np.mean(np.abs(came[some] - went[some]) / came[some]))


class Recorder(Protocol):
    """Is told all that a live run would write down in its journal."""

    def batch(self, seen: Observation) -> None:
        """Take down a micro-batch, or an interval, as the policy saw it."""
        ...

    def decision(self, batch_id: int, decision: Decision, at_seconds: float) -> None:
        """Take down what the policy said to it."""
        ...


class NoRecorder:
    """Takes nothing down."""

    def batch(self, seen: Observation) -> None:
        """Forget it."""

    def decision(self, batch_id: int, decision: Decision, at_seconds: float) -> None:
        """Forget it."""
