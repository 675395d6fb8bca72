"""Numbers, times and shares as a story says them."""

from __future__ import annotations

from datetime import tzinfo
from math import isfinite

from penstock.drawing.ticks import local

_LONG = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"))


def counted(number: float, what: str) -> str:
    """Write how many there are of something.

    >>> counted(1, "row"), counted(2500, "row"), counted(0, "batch")
    ('1 row', '2,500 rows', 'no batches')
    """
    ending = "es" if what.endswith(("ch", "s", "x")) else "s"
    if number == 1:
        return f"1 {what}"
    return f"{f'{number:,.0f}' if number else 'no'} {what}{ending}"


def duration(seconds: float) -> str:
    """Write how long something took, in its two largest units.

    >>> duration(0.0123), duration(42.0), duration(5400.0), duration(86400.0), duration(3599.9)
    ('12 ms', '42 s', '1 hour 30 minutes', '1 day', '1 hour')
    """
    if not isfinite(seconds):
        return "an unknown time"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.5:
        return f"{seconds:.3g} s"
    whole = round(seconds) if seconds < 3_599.5 else round(seconds / 60) * 60
    parts = []
    for size, name in _LONG:
        number, whole = divmod(whole, int(size))
        if number:
            parts.append(counted(number, name))
    if whole:
        parts.append(f"{whole} s")
    return " ".join(parts[:2])


def share(part: float) -> str:
    """Write a share in per cent; neither all nor nothing unless it is.

    >>> share(0.5), share(0.0001), share(0.9999), share(0.0), share(1.0)
    ('50 %', 'below 1 %', 'above 99 %', '0 %', '100 %')
    """
    if 0 < part < 0.005:
        return "below 1 %"
    if 0.995 <= part < 1:
        return "above 99 %"
    return f"{part:.0%}".replace("%", " %")


def figure(number: float | None, unit: str = "") -> str:
    """Write a measured number with three digits that count, or a dash where there is none.

    >>> figure(1234.5), figure(0.01234), figure(None), figure(3.0, "s"), figure(float("nan"))
    ('1,234', '0.0123', '-', '3 s', '-')
    """
    if number is None or not isfinite(number):
        return "-"
    text = f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
    return f"{text} {unit}".rstrip()


def measured(number: float | None, what: str) -> str:
    """Write a measured number of something.

    >>> measured(1.0, "slot"), measured(2.2, "slot"), measured(1.0, "row per second")
    ('1 slot', '2.2 slots', '1 row per second')
    """
    text, (first, *others) = figure(number), what.split(" ")
    return " ".join([text, first if text == "1" else f"{first}s", *others])


def size(of_bytes: float) -> str:
    """Write how large something is.

    >>> size(512), size(46_436), size(3e9)
    ('512 B', '45.3 KiB', '2.79 GiB')
    """
    left = of_bytes
    for unit in ("B", "KiB", "MiB"):
        if abs(left) < 1024:
            return f"{left:.3g} {unit}"
        left /= 1024
    return f"{left:.3g} GiB"


def clock(at_seconds: float, zone: tzinfo) -> str:
    """Write the time of day of a moment.

    >>> from datetime import UTC
    >>> clock(3_661.4, UTC), clock(float("nan"), UTC)
    ('01:01:01', 'at an unknown time')
    """
    if not isfinite(at_seconds):
        return "at an unknown time"
    return f"{local(at_seconds, zone):%H:%M:%S}"


def clock_on_day(at_seconds: float, zone: tzinfo) -> str:
    """Write the time of day of a moment in a run of several days.

    >>> from datetime import UTC
    >>> clock_on_day(90_061.0, UTC)
    '2 Jan, 01:01:01'
    """
    if not isfinite(at_seconds):
        return "at an unknown time"
    moment = local(at_seconds, zone)
    return f"{moment.day} {moment:%b, %H:%M:%S}"


def day_and_clock(at_seconds: float, zone: tzinfo) -> str:
    """Write a moment with its date and its time zone.

    >>> from datetime import UTC
    >>> day_and_clock(3_661.4, UTC)
    '1 January 1970, 01:01:01 UTC'
    """
    if not isfinite(at_seconds):
        return "an unknown time"
    moment = local(at_seconds, zone)
    return f"{moment.day} {moment:%B %Y, %H:%M:%S %Z}"
