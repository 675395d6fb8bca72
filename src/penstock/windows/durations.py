"""Lengths of time as people write them."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from penstock.errors import ConfigurationError

Duration = str | float | int | timedelta

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def microseconds(duration: Duration) -> int:
    """Return a duration in whole microseconds.

    Durations are written as Spark writes them, as a ``timedelta``, or as a number of seconds.

    >>> microseconds("1 minute 30 seconds"), microseconds(0.25), microseconds(timedelta(days=1))
    (90000000, 250000, 86400000000)
    """
    if isinstance(duration, timedelta):
        return round(duration / timedelta(microseconds=1))
    if isinstance(duration, bool):
        raise _unreadable(duration)
    if isinstance(duration, int | float):
        if not math.isfinite(duration):
            raise _unreadable(duration)
        return round(duration * 1_000_000)
    if not isinstance(duration, str):
        raise _unreadable(duration)
    return _parse(duration)


def seconds(duration: Duration) -> float:
    """Return a duration in seconds.

    >>> seconds("200 milliseconds")
    0.2
    """
    return microseconds(duration) / 1_000_000


def _parse(text: str) -> int:
    rest = text.strip()
    if rest.lower().startswith("interval "):
        rest = rest[len("interval ") :]
    total, position = 0.0, 0
    while position < len(rest):
        match = _PART.match(rest, position)
        unit = match.group(2).lower().removesuffix("s") if match else ""
        if match is None or unit not in _MICROSECONDS:
            raise _unreadable(text)
        total += float(match.group(1)) * _MICROSECONDS[unit]
        position = match.end()
    if not rest:
        raise _unreadable(text)
    return round(total)


def _unreadable(duration: object) -> ConfigurationError:
    return ConfigurationError(
        f"{duration!r} is not a length of time. Write it like '10 seconds', '1 hour 30 minutes', "
        f"a timedelta, or a number of seconds (months and years have no fixed length)."
    )
