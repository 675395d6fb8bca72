"""What a micro-batch of Spark costs, besides the rows' own work."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite

from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class BatchCosts:
    """The fixed cost of a batch and of a task, and how unevenly tasks are loaded.

    ``fixed_seconds`` is what a batch takes with no rows: planning, reading offsets, committing.
    ``task_seconds`` is what each task takes of its slot besides its rows. ``imbalance`` is the
    slowest task's work over the mean. ``cores`` is how many cores the slots share, and
    ``cpu_share`` how much of the rows' time needs one (a look-up that waits needs little).

    >>> costs = BatchCosts(fixed_seconds=0.2, task_seconds=0.01, imbalance=1.0)
    >>> round(costs.stage_seconds(work_seconds=1.6, tasks=4, slots=4), 6)
    0.41
    """

    fixed_seconds: float = 0.25
    task_seconds: float = 0.01
    imbalance: float = 1.1
    cores: int | None = None
    cpu_share: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("fixed_seconds", 0), ("task_seconds", 0), ("imbalance", 1)):
            value = getattr(self, name)
            if not (isfinite(value) and value >= least):
                raise ConfigurationError(f"costs: {name} is {value}; write {least} or more")
        if self.cores is not None and self.cores < 1:
            raise ConfigurationError(f"costs: cores is {self.cores}; write 1 or more, or leave out")
        if not 0 <= self.cpu_share <= 1:
            raise ConfigurationError(f"costs: cpu_share is {self.cpu_share}; write 0 to 1")

    def stage_seconds(
        self, work_seconds: float, tasks: int, slots: int, imbalance: float | None = None
    ) -> float:
        """Return how long the tasks of one stage take, in as many waves as the slots need.

        ``imbalance`` is that of this stage, where it is known.
        """
        waves = ceil(tasks / slots)
        uneven = (imbalance or self.imbalance) if tasks > 1 else 1.0
        alone = waves * self.task_seconds + work_seconds / min(tasks, slots) * uneven
        if self.cores is None:
            return alone
        return max(alone, (tasks * self.task_seconds + work_seconds * self.cpu_share) / self.cores)
