"""The newest samples of a rate, cleared of what was no measurement."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from penstock.elasticity.forecast.curve import Floats

# Samples that are kept at most, and at least however old they are.
MOST, FEWEST = 64, 8
# Hard to believe: so many times more than the most before, or less than the least.
WILD = 4.0
# No stream has more rows a second than this.
LARGEST = 1e15
# Samples it takes to know what is usual.
SURE = 4
# Steps in which the usual distance of samples is learnt.
STEP_SHARE = 0.2
# A gap so many windows long ends what the samples before it say about the next.
GAP_WINDOWS = 3.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A rate in rows per second, when it was measured, and how many usual steps after the last."""

    at_seconds: float
    rate: float
    steps: float = 1.0


class Samples:
    """Keeps the samples of a window, up to 64, in their order.

    - What is no number, or negative, is no sample.
    - One sample four times beyond all others in the window waits until the next one: if that is
      beyond them too, both are believed, otherwise the first is forgotten.
    - A time before the last one is ignored once. When the next is early too, the clock was set
      back: it counts from there on.
    - Samples closer than a 64th of the window are averaged.
    """

    def __init__(self, window_seconds: float) -> None:
        self.window_seconds = window_seconds
        self.times: list[float] = []
        self.rates: list[float] = []
        self._counts: list[int] = []
        self.step_seconds = 0.0
        self._held: tuple[float, float] | None = None
        self._set_back, self._early = 0.0, False

    def __len__(self) -> int:
        return len(self.times)

    @property
    def now(self) -> float:
        """The median of the last three rates."""
        last = sorted(self.rates[-3:])
        return last[len(last) // 2] if last else 0.0

    def elapsed(self) -> tuple[Floats, Floats]:
        """Return seconds since a step before the first sample, and the rates."""
        times = np.array(self.times)
        return times - (times[0] - max(self.step_seconds, 1e-3)), np.array(self.rates)

    def add(self, at_seconds: float, rate: float) -> list[Sample]:
        """Take in a sample; return those that are believed by now: none, this, or two."""
        if not (isfinite(at_seconds) and 0 <= rate <= LARGEST):
            return []
        at = self._forward(at_seconds)
        if at is None:
            return []
        wild, held = self._wild(rate), self._held
        if wild and (held is None or self._wild(held[1]) != wild):
            self._held = (at, rate)
            return []
        waited = [held] if held is not None and wild else []
        self._held = None
        taken = [self._take(*each) for each in [*waited, (at, rate)]]
        return [each for each in taken if each is not None]

    def _forward(self, at_seconds: float) -> float | None:
        """Return a time that never runs backwards, or None for one to ignore."""
        at = at_seconds + self._set_back
        last = self._held[0] if self._held else (self.times[-1] if self.times else at)
        if at >= last:
            self._early = False
            return at
        if not self._early:
            self._early = True
            return None
        self._early = False
        self._set_back += last + self.step_seconds - at
        return last + self.step_seconds

    def _wild(self, rate: float) -> int:
        """Say whether a rate is far above (1) or below (-1) all others, or neither (0)."""
        if len(self.rates) < SURE:
            return 0
        most, least = max(self.rates), min(self.rates)
        return int(0 < WILD * most < rate) - int(rate < least / WILD)

    def _take(self, at: float, rate: float) -> Sample | None:
        if not self.times:
            self._append(at, rate)
            return Sample(at, rate)
        since = at - self.times[-1]
        if since <= 0.9 * self.window_seconds / MOST:
            count = self._counts[-1]
            self.rates[-1] += (rate - self.rates[-1]) / (count + 1)
            self._counts[-1] = count + 1
            return None
        steps = min(since / self.step_seconds, 20.0) if self.step_seconds > 0 else 1.0
        if self.step_seconds > 0:
            usual = min(since, 4 * self.step_seconds)
            self.step_seconds += STEP_SHARE * (usual - self.step_seconds)
        else:
            self.step_seconds = since
        if since > GAP_WINDOWS * max(self.window_seconds, FEWEST * self.step_seconds):
            self.times, self.rates, self._counts = [], [], []
        self._append(at, rate)
        return Sample(at, rate, steps)

    def _append(self, at: float, rate: float) -> None:
        self.times.append(at)
        self.rates.append(rate)
        self._counts.append(1)
        old = bisect_left(self.times, at - self.window_seconds)
        surplus = max(min(old, len(self.times) - FEWEST), len(self.times) - MOST)
        if surplus > 0:
            del self.times[:surplus], self.rates[:surplus], self._counts[:surplus]

    def save(self) -> dict[str, Any]:
        """Return all that is kept, in what JSON knows."""
        return {
            "times": list(self.times),
            "rates": list(self.rates),
            "counts": list(self._counts),
            "step": self.step_seconds,
            "held": None if self._held is None else list(self._held),
            "set_back": self._set_back,
            "early": self._early,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self.times = [float(each) for each in state["times"]]
        self.rates = [float(each) for each in state["rates"]]
        self._counts = [int(each) for each in state["counts"]]
        self.step_seconds = float(state["step"])
        held = state["held"]
        self._held = None if held is None else (float(held[0]), float(held[1]))
        self._set_back, self._early = float(state["set_back"]), bool(state["early"])
