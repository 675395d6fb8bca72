"""Panes: the longest steps of time that every window of a set is a whole number of.

Pane 0 starts at the epoch, in UTC. All positions and lengths here are counted in panes, so that
the planners work with small whole numbers; see Elastic-PPQ, section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, lcm

from penstock.errors import ConfigurationError
from penstock.windows.durations import in_words
from penstock.windows.specs import WindowSpec

MAX_PANES = 100_000


@dataclass(frozen=True, slots=True)
class PanedSpec:
    """A window spec counted in panes: windows [offset + k slide, offset + k slide + length)."""

    spec: WindowSpec
    length: int
    slide: int
    offset: int

    def first_end_after(self, pane: int) -> int:
        """Return the first end of a window that lies after a pane boundary.

        >>> from penstock.windows.specs import sliding
        >>> paned([sliding(60, 20)]).specs[0].first_end_after(3)
        4
        """
        phase = (self.offset + self.length) % self.slide
        return pane + self.slide - (pane - phase) % self.slide

    def last_end_with(self, pane: int) -> int:
        """Return the end of the last window that holds a pane."""
        start = pane - (pane - self.offset) % self.slide
        return start + self.length

    def ends(self, after: int, through: int) -> range:
        """Return the ends of windows in (after, through]."""
        return range(self.first_end_after(after), through + 1, self.slide)


@dataclass(frozen=True, slots=True)
class Panes:
    """What the windows of one operator have in common."""

    micros: int
    specs: tuple[PanedSpec, ...]

    def pane_of(self, time_micros: int) -> int:
        """Return the pane that holds a time."""
        return time_micros // self.micros

    def next_start(self, pane: int) -> int:
        """Return the first pane from ``pane`` on at which windows of every spec start.

        Where there is none, as offsets may have it, the first at which one of them does.

        >>> from penstock.windows.specs import sliding, tumbling
        >>> paned([sliding(60, 20), tumbling(40)]).next_start(3)
        4
        """
        period = lcm(*[spec.slide for spec in self.specs])
        for start in range(pane, pane + period):
            if all((start - spec.offset) % spec.slide == 0 for spec in self.specs):
                return start
        first = self.specs[0]
        return pane + (first.offset - pane) % first.slide

    def boundary(self, mark_micros: int) -> int:
        """Return the last pane boundary up to a watermark: windows that end there are complete."""
        return mark_micros // self.micros

    def start_micros(self, pane: int) -> int:
        """Return the time at which a pane starts."""
        return pane * self.micros

    def last_end_with(self, pane: int) -> int:
        """Return the end of the last window of any spec that holds a pane."""
        return max(spec.last_end_with(pane) for spec in self.specs)

    def late_before(self, closed: int) -> int:
        """Return the boundary before which every pane is in a window that has closed.

        >>> from penstock.windows.specs import sliding, tumbling
        >>> paned([sliding(4, 2), tumbling(3)]).late_before(5)
        4
        """
        return max(spec.first_end_after(closed) - spec.slide for spec in self.specs)

    def open_windows(self, closed: int, stored: Iterable[tuple[int, int]]) -> int:
        """Count the windows that end after ``closed`` and may have rows.

        ``stored`` are ranges of panes, each up to but without its second, in which there are rows.

        >>> from penstock.windows.specs import sliding, tumbling
        >>> paned([sliding(4, 2), tumbling(4)]).open_windows(4, [(2, 5)])
        3
        """
        ranges = sorted(stored)
        count = 0
        for spec in self.specs:
            counted = closed
            for first, end in ranges:
                after, last = max(counted, first), spec.last_end_with(end - 1)
                count += len(spec.ends(after, last))
                counted = max(counted, last)
        return count

    def first_needed(self, closed: int) -> int:
        """Return the first pane that a window still open may need, once ``closed`` has passed."""
        return min(spec.first_end_after(closed) - spec.length for spec in self.specs)


def paned(specs: Sequence[WindowSpec], max_panes: int = MAX_PANES) -> Panes:
    """Find the panes of a set of specs: their length is the GCD of all lengths, slides and offsets.

    >>> from penstock.windows.specs import sliding, tumbling
    >>> panes = paned([sliding("60 minutes", "1 minute"), tumbling("90 seconds")])
    >>> panes.micros // 1_000_000, [spec.length for spec in panes.specs]
    (30, [120, 3])
    """
    _check(specs)
    micros = 0
    for spec in specs:
        micros = gcd(micros, spec.length_micros, spec.slide_micros, spec.offset_micros)
    for spec in specs:
        count = spec.length_micros // micros
        if count > max_panes:
            raise ConfigurationError(
                f"window '{spec.name}' would be made of {count:,} panes of {in_words(micros)}, "
                f"which is the longest step that all lengths, slides and offsets of this call are "
                f"multiples of; {max_panes:,} panes are the limit. Write lengths, slides and "
                f"offsets that share a longer step, or put this window in a window(...) call of "
                f"its own."
            )
    return Panes(
        micros,
        tuple(
            PanedSpec(
                spec,
                spec.length_micros // micros,
                spec.slide_micros // micros,
                spec.offset_micros // micros,
            )
            for spec in specs
        ),
    )


def _check(specs: Sequence[WindowSpec]) -> None:
    if not specs:
        raise ConfigurationError("there is no window. Write window(tumbling('10 minutes')).")
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(
                f"two windows are called '{name}'. Give each its own, like name='hourly'."
            )
