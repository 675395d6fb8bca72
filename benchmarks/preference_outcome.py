"""What came of one run of a preference query over a live stream, by its journal and its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.journal import (
    BatchFinished,
    Event,
    FaultSeen,
    PanesSplit,
    RowsLate,
    WindowTasks,
)

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """One micro-batch: what it did and how it was shared out; None where nobody said."""

    batch_id: int
    committed_seconds: float = 0.0
    batch_seconds: float = 0.0
    rows: int = 0
    windows: int = 0
    slots: int = 0
    late_rows: int = 0
    pane_utilisation: float | None = None
    window_utilisation: float | None = None
    parts_per_pane: float | None = None
    threshold_rows: float | None = None
    alpha: float | None = None
    pane_tasks: int = 0
    window_tasks: int = 0
    updates: int = 0
    merges: int = 0

    @property
    def tasks(self) -> int:
        """The tasks of both stages: the paper's threads."""
        return self.pane_tasks + self.window_tasks


@dataclass(frozen=True)
class Course:
    """How a run went; times are in seconds since the epoch."""

    start_seconds: float
    lasts_seconds: float
    steps: tuple[Step, ...]
    faults: tuple[str, ...] = ()

    @property
    def end_seconds(self) -> float:
        """When the last window came out."""
        return max(step.committed_seconds for step in self.steps if step.windows)

    @property
    def extra_percent(self) -> float:
        """How much longer than the stream the run took, until its last window came out."""
        over = self.end_seconds - self.start_seconds - self.lasts_seconds
        return 100 * over / self.lasts_seconds

    def windows_per_second(self) -> Numbers:
        """Count the windows that came out in each second of the run."""
        edges = np.arange(np.ceil(self.end_seconds - self.start_seconds) + 1)
        at = [step.committed_seconds - self.start_seconds for step in self.steps]
        return np.histogram(at, edges, weights=[float(step.windows) for step in self.steps])[0]

    @property
    def variation(self) -> float:
        """The standard deviation of the windows per second over their mean (CV)."""
        counts = self.windows_per_second()
        return float(np.std(counts) / np.mean(counts))

    def mean(self, measured: Callable[[Step], float | None]) -> float:
        """Average over the batches that tell, each by the time since the one before it."""
        moments = [self.start_seconds, *(step.committed_seconds for step in self.steps)]
        told = [
            (value, weight)
            for step, weight in zip(self.steps, np.diff(moments), strict=True)
            if (value := measured(step)) is not None
        ]
        return _weighted(told) if told else float("nan")


def _weighted(told: list[tuple[float, float]]) -> float:
    values, weights = np.array(told).T
    return float(np.average(values, weights=weights))


def course(
    events: Iterable[Event],
    windows: Mapping[int, int],
    start_seconds: float,
    lasts_seconds: float,
) -> Course:
    """Read a journal; ``windows`` says how many came out with each batch.

    The journal counts those that the watermark closed, empty ones after the stream's end included.
    """
    steps: dict[int, Step] = {}
    faults = []

    def told(batch_id: int, **what: object) -> None:
        steps[batch_id] = replace(steps.get(batch_id, Step(batch_id)), **what)  # type: ignore[arg-type]

    for event in events:
        match event.body:
            case FaultSeen(what=what, detail=detail):
                faults.append(f"{what}: {detail}")
            case RowsLate(batch_id=number, rows=rows):
                told(number, late_rows=rows)
            case PanesSplit() as split:
                told(
                    split.batch_id,
                    pane_utilisation=split.utilisation,
                    parts_per_pane=split.parts_per_pane,
                    threshold_rows=split.threshold_rows,
                    alpha=split.alpha,
                    pane_tasks=split.tasks,
                )
            case WindowTasks() as formed:
                told(
                    formed.batch_id,
                    window_utilisation=formed.utilisation,
                    window_tasks=formed.tasks,
                    updates=formed.updates,
                    merges=formed.merges,
                )
            case BatchFinished(observation=seen):
                told(
                    seen.batch_id,
                    committed_seconds=seen.at_seconds,
                    batch_seconds=seen.batch_seconds,
                    rows=seen.rows_in,
                    windows=windows.get(seen.batch_id, 0),
                    slots=seen.slots_in_use,
                )
    ended = [step for _, step in sorted(steps.items()) if step.committed_seconds]
    return Course(start_seconds, lasts_seconds, tuple(ended), tuple(faults))
