"""Lengths of time as people write them."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from fractions import Fraction

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
_SHORT = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3_600.0}
_LONGEST = (1 << 63) - 1  # what Spark can hold
_PART = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]+)\s*", re.IGNORECASE)


def microseconds(duration: Duration) -> int:
    """Return a duration in whole microseconds.

    Durations are written as Spark writes them, as a ``timedelta``, or as a number of seconds.

    >>> microseconds("1 minute 30 seconds"), microseconds(0.25), microseconds(timedelta(days=1))
    (90000000, 250000, 86400000000)
    """
    if isinstance(duration, timedelta):
        length = duration // timedelta(microseconds=1)
    elif isinstance(duration, bool):
        raise _unreadable(duration)
    elif isinstance(duration, int):
        length = duration * 1_000_000
    elif isinstance(duration, float) and math.isfinite(duration):
        length = round(Fraction(duration) * 1_000_000)
    elif isinstance(duration, str):
        length = _parse(duration)
    else:
        raise _unreadable(duration)
    if not 0 <= length <= _LONGEST:
        raise _unreadable(duration)
    return length


def seconds(duration: Duration) -> float:
    """Return a duration in seconds.

    >>> seconds("200 milliseconds")
    0.2
    """
    return microseconds(duration) / 1_000_000


def typed_seconds(text: str) -> float:
    """Return a duration as people type it on a command line: ``2s``, ``500ms``, ``5min``, ``1h``.

    What Spark reads is read as well.

    >>> typed_seconds("500ms"), typed_seconds("1.5h"), typed_seconds("2 minutes")
    (0.5, 5400.0, 120.0)
    """
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)(ms|s|min|h)", text.strip())
    return float(found[1]) * _SHORT[found[2]] if found else seconds(text)


def in_seconds(length_micros: int) -> str:
    """Write a length of time out, with every digit and no exponent.

    >>> in_seconds(1_209_600_000_000), in_seconds(1_500)
    ('1209600 s', '0.0015 s')
    """
    whole, micros = divmod(length_micros, 1_000_000)
    return f"{whole}.{micros:06d}".rstrip("0").rstrip(".") + " s"


def in_words(length_micros: int) -> str:
    """Write a length of time as people and Spark write it, in the largest unit that fits.

    >>> in_words(3_600_000_000), in_words(90_000_000), in_words(1_500)
    ('1 hour', '90 seconds', '1500 microseconds')
    """
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        count, rest = divmod(length_micros, _MICROSECONDS[unit])
        if count and not rest:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "0 seconds"


def _parse(text: str) -> int:
    rest = re.sub(r"^interval\s+", "", text.strip(), flags=re.IGNORECASE)
    total, position = Fraction(0), 0
    while position < len(rest):
        match = _PART.match(rest, position)
        unit = match.group(2).lower().removesuffix("s") if match else ""
        if match is None or unit not in _MICROSECONDS:
            raise _unreadable(text)
        total += Fraction(match.group(1)) * _MICROSECONDS[unit]
        position = match.end()
    if not rest:
        raise _unreadable(text)
    return int(total)


def _unreadable(duration: object) -> ConfigurationError:
    if isinstance(duration, str) and re.fullmatch(r"\s*[0-9]*\.?[0-9]+\s*", duration):
        return ConfigurationError(
            f"{duration!r} is not a length of time. Write it like '{duration.strip()} seconds', "
            "with its unit."
        )
    return ConfigurationError(
        f"{duration!r} is not a length of time. Write it like '10 seconds', '1 hour 30 minutes', "
        f"a timedelta, or a number of seconds (months and years have no fixed length)."
    )
