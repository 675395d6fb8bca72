"""How utilised the stages of a preference query are, in a micro-batch.

Elastic-PPQ (section 3.1) divides the tuples that a worker gets by those that it can serve in the
same time. Its stages run side by side for ever; those of a micro-batch run one after the other on
the same slots, and have the time between them that the batch leaves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_TIME = 0.1
"""The stages have at least this share of a batch's time, however long the rest of it takes."""


@dataclass(frozen=True, slots=True)
class StageLoad:
    """What each task of a stage did in a micro-batch: its rows, and for how long it was busy."""

    task_rows: tuple[int, ...] = ()
    task_busy_seconds: tuple[float, ...] = ()

    @property
    def rows(self) -> int:
        """The rows of all tasks."""
        return sum(self.task_rows)

    @property
    def busy_seconds(self) -> float:
        """The time of all tasks."""
        return sum(self.task_busy_seconds)

    def elapsed_seconds(self, slots: int) -> float:
        """Return how long the stage takes on so many slots, if none of them has to wait.

        >>> StageLoad((10, 30), (0.1, 0.3)).elapsed_seconds(slots=2)
        0.3
        """
        longest = max(self.task_busy_seconds, default=0.0)
        return max(longest, self.busy_seconds / max(1, slots))


@dataclass(frozen=True, slots=True)
class StageUse:
    """What a policy is told of a stage; only the stage of panes has ``parts_per_pane``."""

    utilisation: float
    parts_per_pane: float | None = None


@dataclass(frozen=True, slots=True)
class BatchTime:
    """The time that a micro-batch has, and the time it took; ``slots`` worked on it.

    It has its trigger, or where there is none the time between two batches' starts.
    """

    available_seconds: float
    taken_seconds: float
    slots: int = 1


def utilisations(stages: Sequence[StageLoad], batch: BatchTime) -> tuple[float, ...]:
    """Return the utilisation of each stage; above 1 they don't fit in the batch's time.

    What is left of that time beside everything else in the batch is shared out by the stages' work.

    Two stages on two slots take 0.8 s of a batch of 1 s, and could take all of it:

    >>> even = StageLoad((50, 50), (0.4, 0.4))
    >>> [round(rho, 6) for rho in utilisations([even, even], BatchTime(1.0, 0.8, slots=2))]
    [0.8, 0.8]
    """
    work = sum(stage.busy_seconds for stage in stages)
    if work <= 0:
        return (0.0,) * len(stages)
    in_stages = sum(stage.elapsed_seconds(batch.slots) for stage in stages)
    beside = max(0.0, batch.taken_seconds - in_stages)
    left = max(batch.available_seconds - beside, LEAST_TIME * batch.available_seconds)
    return tuple(_utilisation(stage, left * stage.busy_seconds / work) for stage in stages)


def uneven_utilisation(task_rows: Sequence[float], served_rows: float) -> float:
    """Return how utilised a stage is whose tasks get such rows, and can serve so many each.

    A row meets the task that it is sent to: the sum of lambda_i squared over lambda mu. Where all
    tasks get as much it is lambda / (n mu), and it is never less.

    >>> uneven_utilisation([50.0, 50.0], 100.0), uneven_utilisation([90.0, 10.0], 100.0)
    (0.5, 0.82)
    """
    total = sum(task_rows)
    if total <= 0 or served_rows <= 0:
        return 0.0
    return sum(rows * rows for rows in task_rows) / (total * served_rows)


def _utilisation(stage: StageLoad, has_seconds: float) -> float:
    if not stage.rows or stage.busy_seconds <= 0:
        return 0.0
    return uneven_utilisation(stage.task_rows, has_seconds * stage.rows / stage.busy_seconds)
