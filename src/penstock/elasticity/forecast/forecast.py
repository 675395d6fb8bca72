"""What a rate is expected to be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Forecast:
    """The mean rate expected over a horizon, in rows per second.

    ``low`` and ``high`` are where it falls nine times in ten, going by how far off forecasts were
    so far. ``now`` is the current level, which one odd sample does not move. ``model`` names what
    the forecast was made with: "linear", "logarithmic", "exponential", "damped trend", "seasonal"
    or "last value".
    """

    rate: float
    low: float
    high: float
    now: float
    model: str
    horizon_seconds: float

    @property
    def growth(self) -> float | None:
        """How much more than now is expected, as a fraction; None where now is 0.

        >>> round(Forecast(140.0, 120.0, 160.0, 100.0, "linear", 30.0).growth, 2)
        0.4
        """
        return self.rate / self.now - 1.0 if self.now > 0 else None
