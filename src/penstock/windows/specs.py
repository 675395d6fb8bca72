"""Window specs: what a user configures, apart from the panes that compute it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from penstock.arguments import checked
from penstock.errors import ConfigurationError
from penstock.windows.durations import Duration, in_words, microseconds


@checked
@dataclass(frozen=True, slots=True)
class WindowSpec:
    """Windows of one length that start every ``slide_micros``, as Spark's ``window`` cuts them.

    A window holds its start and not its end. One starts at ``offset_micros`` after the epoch in
    UTC, the others whole slides before and after it.
    """

    name: str
    length_micros: int
    slide_micros: int
    offset_micros: int = 0

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigurationError("a window's name is empty. Write for example name='hourly'.")
        if self.length_micros < 1 or self.slide_micros < 1:
            raise ConfigurationError(
                f"window '{self.name}' has no length. Write for example tumbling('10 minutes')."
            )
        if self.slide_micros > self.length_micros:
            raise ConfigurationError(
                f"window '{self.name}' slides by {in_words(self.slide_micros)} and is only "
                f"{in_words(self.length_micros)} long: rows in between would be in no window. "
                f"Write a slide up to the length, or filter the rows and use "
                f"tumbling('{in_words(self.slide_micros)}')."
            )
        if not 0 <= self.offset_micros < self.slide_micros:
            raise ConfigurationError(
                f"window '{self.name}' has an offset that is not within its slide. Write one from "
                f"0 up to {in_words(self.slide_micros)}."
            )

    def describe(self) -> str:
        """Say the spec in a few words.

        >>> sliding("1 hour", "1 minute").describe(), tumbling(90, offset=30).describe()
        ('1 hour every 1 minute', '90 seconds, offset 30 seconds')
        """
        return _words(self.length_micros, self.slide_micros, self.offset_micros)


def tumbling(length: Duration, *, offset: Duration = 0, name: str | None = None) -> WindowSpec:
    """Return windows that lie side by side: every row is in exactly one.

    Durations are written as Spark writes them, as a ``timedelta``, or in seconds.

    >>> tumbling("10 minutes").name
    '10 minutes'
    >>> tumbling("1 day", offset="-5 hours").name
    '1 day, offset 19 hours'
    """
    return _spec(length, length, offset, name)


def sliding(
    length: Duration, every: Duration, *, offset: Duration = 0, name: str | None = None
) -> WindowSpec:
    """Return windows of one length that start ``every`` so often, and so overlap.

    >>> sliding("1 hour", "1 minute", name="hourly").slide_micros
    60000000
    """
    return _spec(length, every, offset, name)


def _spec(length: Duration, every: Duration, offset: Duration, name: str | None) -> WindowSpec:
    length_micros, slide_micros = microseconds(length), microseconds(every)
    offset_micros = _signed(offset)
    if slide_micros:
        offset_micros %= slide_micros
    label = _words(length_micros, slide_micros, offset_micros) if name is None else name
    return WindowSpec(label, length_micros, slide_micros, offset_micros)


def _signed(offset: Duration) -> int:
    """Return an offset in microseconds, which may lie before midnight, as Spark's may."""
    if isinstance(offset, str) and offset.lstrip().startswith("-"):
        return -microseconds(offset.lstrip()[1:])
    if isinstance(offset, timedelta) and offset < timedelta(0):
        return -microseconds(-offset)
    if isinstance(offset, int | float) and not isinstance(offset, bool) and offset < 0:
        return -microseconds(-offset)
    return microseconds(offset)


def _words(length_micros: int, slide_micros: int, offset_micros: int) -> str:
    every = "" if slide_micros == length_micros else f" every {in_words(slide_micros)}"
    offset = f", offset {in_words(offset_micros)}" if offset_micros else ""
    return in_words(length_micros) + every + offset
