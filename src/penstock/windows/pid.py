"""A PID controller: three gains, no clock, its state handed in and out.

``output = kp * error + integral of ki * error + kd * rate of change``, kept within limits. The rate
of change is that of the measurement, so a new set point gives no kick (Elastic-PPQ, section 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Literal

from penstock.arguments import is_finite
from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class PidState:
    """What a controller knows after a step: its ``output``, and what the next step needs."""

    output: float = 0.0
    integral: float = 0.0
    measured: float | None = None


@dataclass(frozen=True, slots=True)
class Pid:
    """Steers a measurement to ``set_point`` by an output within ``lowest`` and ``highest``.

    ``acting`` says which way. ``"reverse"``: a measurement above the set point lowers the output (a
    heater). ``"direct"``: it raises the output (a cooler). This is how process engineers use the
    words; some libraries use them the other way round.

    The integral is kept within the output's limits, so it does not wind up while they hold.

    >>> heater = Pid(set_point=20.0, kp=2.0, lowest=0.0, highest=100.0)
    >>> heater.step(PidState(), measured=15.0, dt=1.0).output
    10.0
    """

    set_point: float
    kp: float = 1.0
    ki: float = 0.0
    kd: float = 0.0
    lowest: float = -inf
    highest: float = inf
    acting: Literal["reverse", "direct"] = "reverse"

    def __post_init__(self) -> None:
        for name, gain in (("kp", self.kp), ("ki", self.ki), ("kd", self.kd)):
            if not (is_finite(gain) and gain >= 0):
                raise ConfigurationError(
                    f"the PID gain {name} is {gain!r}. Write a number from 0 up; which way the "
                    f"output moves is said by acting='reverse' or acting='direct'."
                )
        if not isfinite(self.set_point):
            raise ConfigurationError(f"the PID set point is {self.set_point}. Write a number.")
        if isnan(self.lowest) or isnan(self.highest) or self.lowest > self.highest:
            raise ConfigurationError(
                f"the PID output limits are {self.lowest} and {self.highest}. Write lowest below "
                f"highest, or leave one out."
            )
        if self.acting not in ("reverse", "direct"):
            raise ConfigurationError(
                f"a PID acts {self.acting!r}. Write acting='reverse' or acting='direct'."
            )

    def step(self, state: PidState, measured: float, dt: float) -> PidState:
        """Return the state after a measurement, ``dt`` after the one before.

        ``dt`` is in the unit of time that the gains are meant for. A first step has no rate of
        change.
        """
        if not (isfinite(dt) and dt > 0):
            raise ValueError(f"time must pass between two steps of a PID, not {dt}")
        if not isfinite(measured):
            raise ValueError(f"a PID cannot be fed {measured}")
        way = 1.0 if self.acting == "reverse" else -1.0
        error = way * (self.set_point - measured)
        change = 0.0 if state.measured is None else -way * (measured - state.measured)
        integral = self._within(self._within(state.integral) + self.ki * error * dt)
        output = self._within(self.kp * error + integral + self.kd * change / dt)
        return PidState(output, integral, measured)

    def _within(self, value: float) -> float:
        return min(max(value, self.lowest), self.highest)
