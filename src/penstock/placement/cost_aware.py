"""Every row to the task that will be free first, by what rows of its key cost before."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ConfigurationError
from penstock.placement.cost_model import FIRST_ROWS, CostModel
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.placement import Border
from penstock.placement.round_robin import RoundRobin


@dataclass(frozen=True, slots=True)
class CostAware:
    """Places rows by predicted cost before operators with a ``cost_key``.

    The costs of calls are learnt by key in sketches of ``e / epsilon`` columns and ``log2(1 /
    delta)`` rows, seeded by ``seed``. A ``window`` of rows whose costs agree with their own past by
    ``mu`` takes the place of what was known; a sudden change is taken over at once.

    Until costs are known, and where they are so even that placing would save less than
    ``least_gain_seconds`` a batch, rows are dealt in turn, as by ``RoundRobin``; where they could
    stay in the partitions they come in, four times that must be saved. They are dealt in turn
    before operators without a ``cost_key`` too.

    >>> CostAware().fits(Border(partitions=4, tasks=4))
    True
    """

    epsilon: float = 0.005
    delta: float = 0.1
    seed: int = 0
    window: int = 1_024
    mu: float = 0.05
    least_gain_seconds: float = 0.03

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 < value < 1:
                raise ConfigurationError(f"CostAware({name}={value!r}): write a share, as 0.01.")
        if type(self.window) is not int or self.window < 1:
            raise ConfigurationError(f"CostAware(window={self.window!r}): write a number of rows.")
        for name in ("mu", "least_gain_seconds"):
            value = getattr(self, name)
            if not _is_number(value) or not value >= 0:
                raise ConfigurationError(f"CostAware({name}={value!r}): write 0 or more.")
        if type(self.seed) is not int:
            raise ConfigurationError(f"CostAware(seed={self.seed!r}): write a whole number.")

    def fits(self, border: Border) -> bool:
        """Rows of unknown cost stay where round robin would leave them."""
        return RoundRobin().fits(border)

    def expression(self, border: Border) -> str | None:
        """Deal rows of unknown cost in turn."""
        return RoundRobin().expression(border)

    def sketch(self) -> CostSketch:
        """Return an empty sketch of the chosen size."""
        return CostSketch(self.epsilon, self.delta, self.seed)

    def model(self, first_rows: int = FIRST_ROWS) -> CostModel:
        """Return what costs are learnt in; there is something to place by after ``first_rows``."""
        return CostModel(self.sketch(), self.window, self.mu, first_rows)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
