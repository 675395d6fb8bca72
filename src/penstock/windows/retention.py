"""What the pane store still needs: panes of open windows, and entries that one of them can use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.windows.panes import PanedSpec, Panes
from penstock.windows.rungs import Ladder
from penstock.windows.segments import Segment

_ENTRIES_LOOKED_AT = 64


def expired(
    panes: Panes, segments: Sequence[Segment], ladder: Ladder, closed: int | None
) -> tuple[str, ...]:
    """Return the names of the segments that no open window needs, once ``closed`` has passed.

    As long as the ladder stays the answer never changes back. Drop all that are named at once: a
    kept window is of no use without the panes that are to be taken out of it.
    """
    if closed is None:
        return ()
    bases = {base.name for base in inverse_bases(panes, segments, ladder, closed).values()}
    needed = needed_from(panes, segments, ladder, closed)
    return tuple(
        segment.name
        for segment in segments
        if segment.name not in bases and not _is_needed(panes, segment, closed, needed)
    )


def needed_from(
    panes: Panes, segments: Sequence[Segment], ladder: Ladder, closed: int | None
) -> int | None:
    """Return the first pane still read: by an open window, or to be taken out of a kept one.

    None: nothing is closed yet, everything is needed.
    """
    if closed is None:
        return None
    bases = inverse_bases(panes, segments, ladder, closed)
    return min([panes.first_needed(closed), *(base.first for base in bases.values())])


def inverse_bases(
    panes: Panes, segments: Iterable[Segment], ladder: Ladder, closed: int
) -> dict[int, Segment]:
    """Return the kept window from which the next one is formed, by position in ``panes.specs``."""
    if not ladder.inverse:
        return {}
    windows = [segment for segment in segments if not segment.is_delta and segment.entries == 1]
    found = {}
    for index in ladder.inverse:
        bases = [window for window in windows if _is_base(panes.specs[index], window, closed)]
        if bases:
            found[index] = max(bases, key=lambda base: (base.end, base.through))
    return found


def _is_base(spec: PanedSpec, window: Segment, closed: int) -> bool:
    """Say whether this is a closed window of a spec that overlaps the first open one."""
    is_window = window.width == spec.length and (window.first - spec.offset) % spec.slide == 0
    first_open = spec.first_end_after(closed) - spec.length
    return is_window and first_open < window.end <= closed


def usable(panes: Panes, first: int, width: int, closed: int) -> bool:
    """Say whether a window that is open once ``closed`` has passed holds all of an entry."""
    return any(
        spec.length >= width and spec.last_end_with(first) >= max(first + width, closed + 1)
        for spec in panes.specs
    )


def _is_needed(panes: Panes, segment: Segment, closed: int, needed: int | None) -> bool:
    if segment.is_delta:
        return needed is None or segment.end > needed
    starts = range(segment.end - segment.width, segment.first - 1, -segment.width)
    if len(starts) > _ENTRIES_LOOKED_AT:
        # Which entries fit repeats with the slides; rather than going through all, wait a little.
        return segment.end - segment.width >= panes.first_needed(closed)
    return any(usable(panes, first, segment.width, closed) for first in starts)
