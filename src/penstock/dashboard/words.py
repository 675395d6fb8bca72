"""Numbers, times and lengths of time as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite

NOTHING = "–"


def count(number: float | None) -> str:
    """Write a number of things.

    >>> count(1234), count(2.5), count(12_345_678), count(None), count(float("nan"))
    ('1,234', '2.5', '12.3 M', '–', '–')
    """
    if number is None or not isfinite(number):
        return NOTHING
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(number) >= limit:
            return f"{number / limit:.3g} {unit}"
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def counted(number: float | None, what: str) -> str:
    """Write how many there are of something.

    >>> counted(1, "row"), counted(12_345_678, "row"), counted(0, "batch"), counted(None, "slot")
    ('1 row', '12.3 M rows', '0 batches', '– slots')
    """
    ending = "es" if what.endswith(("ch", "s", "x")) else "s"
    return f"{count(number)} {what}{'' if number == 1 else ending}"


def span(seconds: float | None) -> str:
    """Write a length of time.

    >>> span(0.0042), span(0.25), span(12.3), span(125), span(7300), span(200_000)
    ('4.2 ms', '250 ms', '12.3 s', '2 min 5 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds is None or not isfinite(seconds):
        return NOTHING
    if seconds < 0:
        return f"-{span(-seconds)}"
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    for unit, below, name, smaller in ((86400, 3600, "d", "h"), (3600, 60, "h", "min")):
        if whole >= unit:
            return f"{whole // unit} {name} {whole % unit // below} {smaller}"
    return f"{whole // 60} min {whole % 60} s"


def unit_of(seconds: float) -> tuple[float, str]:
    """Return the unit in which such a length of time is a small number, and its seconds.

    >>> unit_of(90.0), unit_of(600.0), unit_of(7_200.0), unit_of(30_000_000.0)
    ((1.0, 'seconds'), (60.0, 'minutes'), (3600.0, 'hours'), (86400.0, 'days'))
    """
    units = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"))
    return next((each for each in units if seconds >= 2 * each[0]), (1.0, "seconds"))


def lateness(operators: int) -> str:
    """Say what a number of late rows counts, where so many operators found some.

    >>> lateness(1), lateness(2)
    ('missed a window', 'counted for each of 2 operators')
    """
    return "missed a window" if operators < 2 else f"counted for each of {operators} operators"


def share(part: float | None) -> str:
    """Write a part of a whole.

    >>> share(0.256), share(0.0004), share(None)
    ('26 %', '0.04 %', '–')
    """
    if part is None or not isfinite(part):
        return NOTHING
    percent = 100 * part
    return f"{percent:.0f} %" if abs(percent) >= 1 or percent == 0 else f"{percent:.2g} %"


def size(number: float | None) -> str:
    """Write a number of bytes.

    >>> size(512), size(123_456), size(5_000_000_000)
    ('512 B', '123 kB', '5 GB')
    """
    if number is None or not isfinite(number):
        return NOTHING
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= limit:
            return f"{number / limit:.3g} {unit}"
    return f"{number:.0f} B"


def moment(seconds: float | None) -> str:
    """Write a time, in UTC.

    >>> moment(1_700_000_000.0)
    '2023-11-14 22:13:20'
    """
    if seconds is None or not isfinite(seconds):
        return NOTHING
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return NOTHING


def signed_share(part: float | None) -> str:
    """Write how far off something was.

    >>> signed_share(0.12), signed_share(-0.5), signed_share(None)
    ('+12 %', '-50 %', '–')
    """
    if part is None or not isfinite(part):
        return NOTHING
    return f"{100 * part:+.0f} %"
