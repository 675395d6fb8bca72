"""A rate trace: how many rows come in each step of time."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import checked
from penstock.errors import ConfigurationError

MICROS = 1_000_000

# What a running total of doubles may be off by; a fraction this close to a whole number is one.
_ROUNDING = 1e-6
_INT64_END = 2**63


@checked
@dataclass(frozen=True, slots=True)
class Trace:
    """Steps of time, each with its length and the rows that come in it.

    >>> trace = Trace(step_micros=(1_000_000, 500_000), counts=(3, 0))
    >>> trace.rows, trace.duration_seconds
    (3, 1.5)
    >>> Trace.decode(trace.encode()) == trace
    True
    """

    step_micros: tuple[int, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.counts:
            raise ConfigurationError("the trace is empty; give at least one step")
        if len(self.step_micros) != len(self.counts):
            raise ConfigurationError(
                f"the trace has {len(self.step_micros)} step lengths for {len(self.counts)} counts"
            )
        if min(self.step_micros) <= 0:
            raise ConfigurationError("every step of a trace must last at least a microsecond")
        if min(self.counts) < 0:
            raise ConfigurationError(f"a count of {min(self.counts)} rows; write counts from 0")
        if self.rows == 0:
            raise ConfigurationError("all counts of the trace are 0; at least one row must come")
        # The schedule multiplies a step's length by a row number within it, in 64 bits.
        products = (s * c for s, c in zip(self.step_micros, self.counts, strict=True))
        if max(products) >= _INT64_END or self.rows >= _INT64_END:
            raise ConfigurationError(
                "a step of the trace is too long for its count; cut it into shorter steps"
            )

    @property
    def rows(self) -> int:
        """The rows of all steps together."""
        return sum(self.counts)

    @property
    def duration_seconds(self) -> float:
        """The length of all steps together."""
        return sum(self.step_micros) / MICROS

    def encode(self) -> str:
        """Write the trace as a short string that is safe in JSON and in a Spark option."""
        text = json.dumps({"step_micros": self.step_micros, "counts": self.counts})
        return base64.b64encode(zlib.compress(text.encode(), level=9)).decode()

    @classmethod
    def decode(cls, text: str) -> Trace:
        """Read what ``encode`` wrote."""
        try:
            steps = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
            return cls(tuple(steps["step_micros"]), tuple(steps["counts"]))
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            raise ConfigurationError(
                "the option 'trace' is not a trace; make the stream with penstock.sources.replay"
            ) from error


def trace_of_counts(counts: Sequence[float]) -> Trace:
    """Make a trace of one count per second.

    >>> trace_of_counts([0.5, 0.5, 2]).counts
    (0, 1, 2)
    """
    check_counts([f"trace[{index}]" for index in range(len(counts))], counts)
    return Trace((MICROS,) * len(counts), whole_counts(counts))


def trace_of_pairs(
    places: Sequence[str], seconds: Sequence[float], counts: Sequence[float]
) -> Trace:
    """Make a trace of counts that start at the given times; ``places`` name them in errors.

    A step lasts until the next one starts. The last lasts as long as the others usually do.

    >>> trace_of_pairs(["a", "b", "c"], [10, 12, 13.5], [4, 5, 6]).step_micros
    (2000000, 1500000, 1750000)
    """
    check_counts(places, counts)
    micros = [_micros(place, second) for place, second in zip(places, seconds, strict=True)]
    steps = [after - before for before, after in pairwise(micros)]
    for place, step in zip(places[1:], steps, strict=True):
        if step <= 0:
            raise ConfigurationError(
                f"{place}: the time does not come after the one before it; "
                "sort the trace by time and keep one count per time"
            )
    steps.append(int(np.median(steps)) if steps else MICROS)
    return Trace(tuple(steps), whole_counts(counts))


def check_counts(places: Sequence[str], counts: Sequence[float]) -> None:
    """Refuse a trace without counts, and counts that are not numbers from 0."""
    if not counts:
        raise ConfigurationError("the trace is empty; give at least one count")
    for place, count in zip(places, counts, strict=True):
        if not (np.isfinite(count) and count >= 0):
            raise ConfigurationError(f"{place}: a count of {count} rows; write a number from 0")


def whole_counts(counts: Sequence[float]) -> tuple[int, ...]:
    """Make counts whole by carrying each one's fraction to the next.

    >>> whole_counts([1.5, 1.5, 0.25, 0.75])
    (1, 2, 0, 1)
    """
    if all(float(count).is_integer() for count in counts):
        return tuple(int(count) for count in counts)
    return whole_steps(np.cumsum(np.array(counts, dtype=np.longdouble)))


def whole_steps(totals: NDArray[np.floating]) -> tuple[int, ...]:
    """Make the whole counts whose running totals are ``totals``, rounded down.

    >>> whole_steps(np.array([0.5, 1.0, 3.7]))
    (0, 1, 2)
    """
    whole = np.floor(totals + _ROUNDING).astype(np.int64)
    # Where the rate is 0 the total stands still, and rounding may make it tremble.
    whole = np.maximum.accumulate(whole)
    return tuple(np.diff(whole, prepend=0).tolist())


def _micros(place: str, seconds: float) -> int:
    if not np.isfinite(seconds):
        raise ConfigurationError(f"{place}: a time of {seconds}; write seconds")
    return round(seconds * MICROS)
