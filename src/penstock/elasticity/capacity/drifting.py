"""Two costs that are only ever seen added up, and that drift."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

# How far a measured sum is usually off, and what no clock resolves.
NOISE_SHARE, NOISE_SECONDS = 0.15, 0.002
# Deviations beyond which a sum is an outlier until the next one confirms it.
OUTLIER = 2.0


@dataclass(slots=True)
class DriftingCosts:
    """Learns ``task`` and ``unit`` from sums tasks x task + units x unit (a Kalman filter).

    Sums of different tasks and units tell the two apart; where they don't, what was learnt before
    is kept. ``spread`` is how sure both are: the variance of ``task``, their covariance, the
    variance of ``unit``. Neither is ever negative. ``task_drift`` is how far ``task`` may move from
    one sum to the next in seconds, ``drift_share`` how far both may, as a share of themselves.

    >>> costs = DriftingCosts(task=0.0, unit=1.0, spread=(1.0, 0.0, 1.0))
    >>> for tasks, units in ((2, 5), (4, 3), (1, 9), (6, 2)) * 5:
    ...     costs.observe(tasks, units, tasks * 0.5 + units * 2.0)
    >>> round(costs.task, 1), round(costs.unit, 1)
    (0.5, 2.0)
    """

    task: float
    unit: float
    spread: tuple[float, float, float]
    task_drift: float = 0.0002
    drift_share: float = 0.1
    outlier: int = field(default=0)

    def observe(self, tasks: float, units: float, seconds: float) -> None:
        """Take in one sum.

        One that is far off moves the costs a little, a second one on the same side all the way.
        """
        tt, tu, uu = self.spread
        tt += (self.drift_share * self.task + self.task_drift) ** 2
        uu += (self.drift_share * self.unit) ** 2
        expected = tasks * self.task + units * self.unit
        noise = (NOISE_SHARE * max(expected, seconds)) ** 2 + NOISE_SECONDS**2
        off = seconds - expected
        limit = OUTLIER * sqrt(
            tasks * tasks * tt + 2 * tasks * units * tu + units * units * uu + noise
        )
        side = int(off > limit) - int(off < -limit)
        if side and side == self.outlier:
            # Twice in a row is no accident: what was known of a unit counts no more.
            uu += (off / units) ** 2
        elif side:
            off = side * limit
        self.outlier = side
        to_task, to_unit = tt * tasks + tu * units, tu * tasks + uu * units
        total = to_task * tasks + to_unit * units + noise
        self.task = max(0.0, self.task + to_task / total * off)
        self.unit = max(0.0, self.unit + to_unit / total * off)
        self.spread = (
            max(0.0, tt - to_task * to_task / total),
            tu - to_task * to_unit / total,
            max(0.0, uu - to_unit * to_unit / total),
        )

    def save(self) -> list[float]:
        """Return all that was learnt, in what JSON knows."""
        return [self.task, self.unit, *self.spread, self.outlier]

    def load(self, state: list[float]) -> None:
        """Take up what ``save`` returned."""
        task, unit, tt, tu, uu, outlier = map(float, state)
        self.task, self.unit, self.spread, self.outlier = task, unit, (tt, tu, uu), int(outlier)
