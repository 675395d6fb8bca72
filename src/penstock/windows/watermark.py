"""Watermarks: up to which event time the stream is taken to be complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from penstock.errors import ConfigurationError
from penstock.windows.durations import Duration, in_seconds, microseconds

MICROS_PER_MILLI = 1_000


@runtime_checkable
class Watermark(Protocol):
    """Moves the watermark of one source forward, micro-batch by micro-batch."""

    def advance(self, current_micros: int | None, newest_micros: int | None) -> int | None:
        """Return the watermark after a batch whose newest event time was ``newest_micros``.

        Both are microseconds since the epoch; None means that there is none yet. The answer is
        never before ``current_micros``.
        """
        ...

    def describe(self) -> str:
        """Say the rule in a few words."""
        ...


@dataclass(frozen=True, slots=True)
class FixedDelay:
    """Trails the newest event time by a fixed delay, as Spark's ``withWatermark`` does.

    Spark counts both in whole milliseconds and cuts off the rest, so this does too.

    >>> FixedDelay(10_000_000).advance(None, 25_000_999)
    15000000
    >>> FixedDelay(10_000_000).advance(15_000_000, 20_000_000)
    15000000
    """

    delay_micros: int

    def __post_init__(self) -> None:
        if self.delay_micros < 0:
            raise ConfigurationError(
                "a watermark's delay cannot be negative. Write for example watermark='10 seconds'."
            )

    @classmethod
    def of(cls, delay: Duration) -> FixedDelay:
        """Read the delay as people write it.

        >>> FixedDelay.of("2 seconds")
        FixedDelay(delay_micros=2000000)
        """
        return cls(microseconds(delay))

    def advance(self, current_micros: int | None, newest_micros: int | None) -> int | None:
        """Return the newest event time seen, less the delay."""
        if newest_micros is None:
            return current_micros
        candidate = _whole_millis(newest_micros) - _whole_millis(self.delay_micros)
        return candidate if current_micros is None else max(current_micros, candidate)

    def describe(self) -> str:
        """Say the rule in a few words."""
        return f"{in_seconds(self.delay_micros)} behind the newest row"


def _whole_millis(micros: int) -> int:
    return micros - micros % MICROS_PER_MILLI
