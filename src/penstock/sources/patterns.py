"""Load that follows a formula: how many rows come in each second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import checked, shown
from penstock.errors import ConfigurationError
from penstock.sources.trace import MICROS, Trace, whole_steps

Seconds = NDArray[np.float64]
_MOST_SECONDS = 366 * 86_400  # each is kept in memory


class Pattern(Protocol):
    """A rate that changes over time; what is told is its integral, so that totals are exact."""

    def rows_until(self, seconds: Seconds, duration_seconds: int) -> NDArray[np.float64]:
        """Give the rows, fractions included, that come from the start until each moment."""
        ...


@checked
@dataclass(frozen=True, slots=True)
class Steady:
    """The same rate all the time.

    >>> trace_of_pattern(Steady(2.5), 4).counts
    (2, 3, 2, 3)
    """

    rows_per_second: float

    def __post_init__(self) -> None:
        _check_rate("Steady", self.rows_per_second)

    @checked
    def rows_until(self, seconds: Seconds, duration_seconds: int) -> NDArray[np.float64]:
        """Integrate the rate."""
        return self.rows_per_second * seconds


@checked
@dataclass(frozen=True, slots=True)
class Steps:
    """Rates that hold for a while: ``(seconds, rows per second)`` pairs, one after another.

    The last rate holds on for as long as the load lasts.

    >>> trace_of_pattern(Steps([(2, 10), (1, 50)]), 4).counts
    (10, 10, 50, 50)
    """

    steps: Sequence[tuple[float, float]]

    def __post_init__(self) -> None:
        try:
            steps = tuple((float(length), float(rate)) for length, rate in self.steps)
        except (TypeError, ValueError, OverflowError):
            raise ConfigurationError(
                f"Steps: {shown(self.steps)} are no steps; write pairs such as [(60, 100)]"
            ) from None
        object.__setattr__(self, "steps", steps)
        if not self.steps:
            raise ConfigurationError("Steps: no steps; write pairs such as [(60, 100), (60, 500)]")
        for length, rate in self.steps:
            _check_positive("Steps", "the length of a step, in seconds,", length)
            _check_rate("Steps", rate)

    @checked
    def rows_until(self, seconds: Seconds, duration_seconds: int) -> NDArray[np.float64]:
        """Integrate the rate."""
        lengths, rates = np.array(self.steps, dtype=np.float64).T
        edges = np.concatenate(([0.0], np.cumsum(lengths)))
        rows_before = np.concatenate(([0.0], np.cumsum(lengths * rates)))
        step = np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, len(rates) - 1)
        return np.asarray(rows_before[step] + rates[step] * (seconds - edges[step]))


@checked
@dataclass(frozen=True, slots=True)
class Ramp:
    """A rate that goes straight from ``start`` to ``end`` rows per second.

    >>> trace_of_pattern(Ramp(0, 8), 4).counts
    (1, 3, 5, 7)
    """

    start: float
    end: float

    def __post_init__(self) -> None:
        _check_rate("Ramp", self.start)
        _check_rate("Ramp", self.end)

    @checked
    def rows_until(self, seconds: Seconds, duration_seconds: int) -> NDArray[np.float64]:
        """Integrate the rate."""
        _check_positive("Ramp", "duration_seconds", duration_seconds)
        slope = (self.end - self.start) / duration_seconds
        return self.start * seconds + slope * seconds**2 / 2


@checked
@dataclass(frozen=True, slots=True)
class Sine:
    """A rate that swings around ``mean`` by ``amplitude``, upwards first.

    >>> trace_of_pattern(Sine(mean=10, amplitude=10, period_seconds=4), 4).counts
    (16, 16, 4, 4)
    """

    mean: float
    amplitude: float
    period_seconds: float

    def __post_init__(self) -> None:
        _check_rate("Sine", self.mean)
        _check_positive("Sine", "period_seconds", self.period_seconds)
        if not 0 <= self.amplitude <= self.mean:
            raise ConfigurationError(
                f"Sine: amplitude is {self.amplitude} around a mean of {self.mean}; write one from "
                "0 to the mean, so that the rate is never negative"
            )

    @checked
    def rows_until(self, seconds: Seconds, duration_seconds: int) -> NDArray[np.float64]:
        """Integrate the rate."""
        turn = 2 * np.pi / self.period_seconds
        return self.mean * seconds + self.amplitude / turn * (1 - np.cos(turn * seconds))


@checked
@dataclass(frozen=True, slots=True)
class Spikes:
    """A ``base`` rate, and ``peak`` during the last ``width_seconds`` of every ``every_seconds``.

    >>> trace_of_pattern(Spikes(base=1, peak=9, every_seconds=3, width_seconds=1), 6).counts
    (1, 1, 9, 1, 1, 9)
    """

    base: float
    peak: float
    every_seconds: float
    width_seconds: float

    def __post_init__(self) -> None:
        _check_rate("Spikes", self.base)
        _check_rate("Spikes", self.peak)
        _check_positive("Spikes", "every_seconds", self.every_seconds)
        _check_positive("Spikes", "width_seconds", self.width_seconds)
        if self.width_seconds > self.every_seconds:
            raise ConfigurationError(
                f"Spikes: spikes of {self.width_seconds} s every {self.every_seconds} s overlap; "
                "write width_seconds <= every_seconds"
            )

    @checked
    def rows_until(self, seconds: Seconds, duration_seconds: int) -> NDArray[np.float64]:
        """Integrate the rate."""
        spikes, within = np.divmod(seconds, self.every_seconds)
        quiet_seconds = self.every_seconds - self.width_seconds
        seconds_at_peak = spikes * self.width_seconds + np.maximum(0, within - quiet_seconds)
        return np.asarray(self.base * seconds + (self.peak - self.base) * seconds_at_peak)


def trace_of_pattern(pattern: Pattern, duration_seconds: int) -> Trace:
    """Make the trace of a pattern: whole rows for each second, fractions carried to the next."""
    if isinstance(duration_seconds, bool) or not isinstance(duration_seconds, int):
        raise ConfigurationError(
            f"duration_seconds is {shown(duration_seconds)}; write a whole number of seconds"
        )
    if not 0 < duration_seconds <= _MOST_SECONDS:
        raise ConfigurationError(
            f"generate: duration_seconds is {shown(duration_seconds)}; write a number above 0, a "
            f"year ({_MOST_SECONDS:_}) at most, and loop=True to go on for ever"
        )
    if not hasattr(pattern, "rows_until"):
        raise ConfigurationError(
            f"{pattern!r} is not a pattern; write one of Steady, Steps, Ramp, Sine or Spikes, "
            "or replay() for a trace"
        )
    moments = np.arange(1, duration_seconds + 1, dtype=np.float64)
    counts = whole_steps(pattern.rows_until(moments, duration_seconds))
    return Trace((MICROS,) * duration_seconds, counts)


def _check_rate(name: str, rate: float) -> None:
    if not (np.isfinite(rate) and rate >= 0):
        raise ConfigurationError(f"{name}: a rate of {rate} rows per second; write one from 0")


def _check_positive(name: str, what: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ConfigurationError(f"{name}: {what} is {value}; write a number above 0")
