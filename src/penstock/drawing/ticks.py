"""Round numbers and round times along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from math import ceil, floor, log10

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_YEAR = 365 * _DAY
_TIME_STEPS = (
    1, 2, 5, 10, 15, 30,
    _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE,
    _HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR,
    _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 90 * _DAY, _YEAR,
)  # fmt: skip
_EPOCH = datetime(1970, 1, 1)
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800.0, 253_402_300_799.0  # of the years 1 and 9999
_SMALLEST, _LARGEST = 1e-300, 1e300  # so that steps are neither 0 nor infinite


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from below the low to above the high.

    There are few of them, whatever the numbers.

    >>> ticks(0.0, 5751.0)
    [0.0, 2000.0, 4000.0, 6000.0]
    """
    low, high = (max(-_LARGEST, min(each, _LARGEST)) for each in (low, high))
    span = (high - low) or abs(high) or 1.0
    rough = max(span / most, _SMALLEST)
    power = 10.0 ** floor(log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * (1 - 1e-9))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, max(last, first + 1) + 1)]


def time_ticks(low: float, high: float, zone: tzinfo, most: int = 6) -> list[float]:
    """Return round times of day within a time, in seconds since the epoch.

    There are few of them, and none where no calendar knows the time: a journal may say anything.

    >>> from datetime import UTC
    >>> time_ticks(10.0, 130.0, UTC)
    [30.0, 60.0, 90.0, 120.0]
    """
    low, high = max(low, _FIRST_SECOND), min(high, _LAST_SECOND)
    if low > high:
        return []
    span = max(high - low, 1.0)
    years = ceil(span / most / _YEAR) * _YEAR
    step = next((step for step in _TIME_STEPS if span / step <= most), years)
    # Steps are counted from midnight there, so that a tick of a day is a midnight.
    offset = local(low, zone).replace(tzinfo=None) - (_EPOCH + timedelta(seconds=low))
    shift = round(offset.total_seconds())
    first, last = ceil((low + shift) / step), floor((high + shift) / step)
    return [float(number * step - shift) for number in range(first, last + 1)]


def time_labels(times: Sequence[float], zone: tzinfo) -> list[str]:
    """Write times as short as they can be told apart, with the date where it changes.

    >>> from datetime import UTC
    >>> time_labels([30.0, 60.0], UTC), time_labels([0.0, 43_200.0, 86_400.0], UTC)
    (['00:00:30', '00:01:00'], ['1 Jan', '12:00', '2 Jan'])
    """
    moments = [local(each, zone) for each in times]
    if any(moment.second for moment in moments):
        return [f"{moment:%H:%M:%S}" for moment in moments]
    if len({moment.date() for moment in moments}) <= 1:
        return [f"{moment:%H:%M}" for moment in moments]
    return [
        f"{moment.day} {moment:%b}" if moment.hour == moment.minute == 0 else f"{moment:%H:%M}"
        for moment in moments
    ]


def local(at_seconds: float, zone: tzinfo) -> datetime:
    """Return a moment as clocks show it there; one that no calendar knows is the nearest it knows.

    >>> from datetime import UTC
    >>> f"{local(1e300, UTC):%Y}"
    '9999'
    """
    try:
        return datetime.fromtimestamp(at_seconds, zone)
    except (ValueError, OverflowError, OSError):
        end = datetime.max if at_seconds > 0 else datetime(1, 1, 1)
        return end.replace(tzinfo=zone)


def number_label(value: float) -> str:
    """Write a number on an axis; millions in words, so that they fit.

    >>> number_label(1500.0), number_label(2_500_000.0), number_label(0.2)
    ('1,500', '2.5 M', '0.2')
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:,.10g} {letter}"
    return f"{value:,.10g}"
