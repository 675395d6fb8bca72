"""Watermarks: up to which event time the stream is taken to be complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Protocol, runtime_checkable

from penstock.arguments import checked
from penstock.errors import ArgumentError, ConfigurationError
from penstock.windows.durations import Duration, in_seconds, microseconds
from penstock.windows.whole_numbers import in_64_bits

MICROS_PER_MILLI = 1_000


@checked
@dataclass(frozen=True, slots=True)
class Seen:
    """What one micro-batch showed of one source.

    The times are null when no row had one. ``late_rows`` are the rows at or before the watermark
    that this source itself had when the batch started; it is 0 where nobody counted them.
    """

    rows: int
    newest_micros: int | None
    oldest_micros: int | None
    late_rows: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.late_rows <= self.rows:
            raise ArgumentError(f"{self.late_rows} late rows of {self.rows}")
        if self.newest_micros is None or self.oldest_micros is None:
            if self.newest_micros != self.oldest_micros:
                raise ArgumentError("the newest and the oldest time come together or not at all")
        elif self.rows == 0 or self.oldest_micros > self.newest_micros:
            raise ArgumentError(
                f"{self.rows} rows from {self.oldest_micros} to {self.newest_micros} cannot be"
            )


NOTHING_SEEN = Seen(rows=0, newest_micros=None, oldest_micros=None)


@dataclass(frozen=True, slots=True)
class Mark:
    """The whole state of one source's watermark, as the commit record keeps it.

    ``micros`` is the watermark, None before the first row. ``slack_micros`` is how far it trails
    ``newest_micros`` where the rule learns that. ``memory`` is the rule's own.
    ``seen_at_seconds`` is the time of the last batch with rows, or of the first of all: a source
    is idle when that is long ago.

    >>> Mark.from_json(Mark(micros=5_000, memory={"rate": 0.5}).to_json()).memory["rate"]
    0.5
    """

    micros: int | None = None
    newest_micros: int | None = None
    slack_micros: int | None = None
    memory: Mapping[str, float] = field(default_factory=dict)
    seen_at_seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Write it as a JSON object; reading that gives an equal mark."""
        return {
            "micros": self.micros,
            "newest_micros": self.newest_micros,
            "slack_micros": self.slack_micros,
            "memory": dict(self.memory),
            "seen_at_seconds": self.seen_at_seconds,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Mark:
        """Read a mark, field by field.

        A field that is missing is a KeyError, one of another type a TypeError, and one that cannot
        be, or that is not known, a ValueError.
        """
        if not isinstance(document, Mapping):
            raise TypeError(f"a mark is {document!r}")
        mark = cls(
            micros=_whole(document, "micros"),
            newest_micros=_whole(document, "newest_micros"),
            slack_micros=_whole(document, "slack_micros"),
            memory=_numbers(document, "memory"),
            seen_at_seconds=_seconds(document, "seen_at_seconds"),
        )
        unknown = sorted(str(name) for name in document if name not in mark.to_json())
        if unknown:
            raise ValueError(f"a mark has no {', '.join(unknown)}")
        if mark.slack_micros is not None and mark.slack_micros < 0:
            raise ValueError(f"slack_micros is {mark.slack_micros}")
        return mark


def _whole(document: Mapping[str, Any], name: str) -> int | None:
    value = document[name]
    if value is not None and type(value) is not int:
        raise TypeError(f"{name} is {value!r:.80}")
    return None if value is None else in_64_bits(value)


def _seconds(document: Mapping[str, Any], name: str) -> float | None:
    return None if document[name] is None else _number(name, document[name])


def _numbers(document: Mapping[str, Any], name: str) -> dict[str, float]:
    values = document[name]
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} is {values!r}")
    for key in values:
        if type(key) is not str:
            raise TypeError(f"{name} names {key!r}")
    return {key: _number(f"{name}.{key}", value) for key, value in values.items()}


def _number(name: str, value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"{name} is {value!r}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} is {value!r}") from None
    if not isfinite(number):
        raise ValueError(f"{name} is {value!r}")
    return number


@runtime_checkable
class Watermark(Protocol):
    """Moves the watermark of one source forward, micro-batch by micro-batch.

    A rule keeps nothing itself: what it must know of earlier batches is in the mark.
    """

    def advance(self, mark: Mark, seen: Seen) -> Mark:
        """Return the mark after a batch.

        The watermark never goes back, is None until there was a row with a time, and depends on
        the arguments alone: a batch that is run again gives the same.
        """
        ...

    def describe(self) -> str:
        """Say the rule in a few words."""
        ...

    @property
    def counts_late(self) -> bool:
        """Whether the rule needs ``late_rows``, which cost a count in every batch."""
        return False


@checked
@dataclass(frozen=True, slots=True)
class FixedDelay:
    """Trails the newest event time by a fixed delay, as Spark's ``withWatermark`` does.

    Spark counts both in whole milliseconds and cuts off the rest, so this does too.

    >>> rule = FixedDelay.of("10 seconds")
    >>> mark = rule.advance(Mark(), Seen(rows=2, newest_micros=25_000_999, oldest_micros=0))
    >>> mark.micros
    15000000
    >>> rule.advance(mark, Seen(rows=1, newest_micros=20_000_000, oldest_micros=20_000_000)).micros
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

    @property
    def counts_late(self) -> bool:
        """It does not look at late rows."""
        return False

    @checked
    def advance(self, mark: Mark, seen: Seen) -> Mark:
        """Return the newest event time seen, less the delay."""
        if seen.newest_micros is None:
            return mark
        candidate = whole_millis(seen.newest_micros) - whole_millis(self.delay_micros)
        return replace(
            mark,
            micros=latest(mark.micros, candidate),
            newest_micros=latest(mark.newest_micros, seen.newest_micros),
            # What another rule learned before is not true of this one.
            slack_micros=None,
            memory={},
        )

    def describe(self) -> str:
        """Say the rule in a few words."""
        return f"{in_seconds(self.delay_micros)} behind the newest row"


def whole_millis(micros: int) -> int:
    """Return a time or a length cut down to whole milliseconds, as Spark's watermarks are.

    >>> whole_millis(1_999), whole_millis(-1)
    (1000, -1000)
    """
    return micros - micros % MICROS_PER_MILLI


def latest(known: int | None, candidate: int) -> int:
    """Return the later of a time that may not be known yet and one that is."""
    return candidate if known is None else max(known, candidate)
