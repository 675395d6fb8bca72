"""The segments of a store, arranged so that a planner finds entries and sizes quickly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from penstock.windows.segments import Segment

BEFORE_ALL = -1
"""A batch before the first one: nothing is complete up to it."""


class Shelf:
    """Looks up runs, entries and expected rows among the live segments."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        held = list(segments)
        self.runs = tuple(sorted((s for s in held if s.is_delta), key=lambda s: s.oldest_batch))
        self.hulls = union((run.first, run.end) for run in self.runs)
        self._firsts = [first for first, _ in self.hulls]
        rows: dict[tuple[int, int], list[Segment]] = {}
        for segment in held:
            if not segment.is_delta:
                rows.setdefault((segment.width, segment.first % segment.width), []).append(segment)
        # The widest first: that is the order in which a path tries them.
        self._rows = [EntryRow(w, p, rows[w, p]) for w, p in sorted(rows, reverse=True)]
        self._weights: dict[int, Weights] = {}

    @property
    def rungs(self) -> list[tuple[int, int]]:
        """The widths and phases of which there are entries, the widest first."""
        return [(row.width, row.phase) for row in self._rows]

    def row(self, width: int, phase: int) -> EntryRow:
        """Return the entries of one rung."""
        for row in self._rows:
            if (row.width, row.phase) == (width, phase):
                return row
        return EntryRow(width, phase, [])

    def rows_of(self, width: int) -> list[EntryRow]:
        """Return the entries of one width, by phase."""
        return [row for row in self._rows if row.width == width]

    def entries_at(self, pane: int, limit: int) -> Iterator[Segment]:
        """Yield the segments with an entry from ``pane`` to at most ``limit``, the widest first."""
        for row in self._rows:
            if pane + row.width <= limit and (pane - row.phase) % row.width == 0:
                segment = row.holding(pane)
                if segment is not None:
                    yield segment

    def rows_between(self, first: int, end: int, after_batch: int = BEFORE_ALL) -> float:
        """Return about how many rows the runs after a batch hold in [first, end)."""
        weights = self._weights.get(after_batch)
        if weights is None:
            later = [run for run in self.runs if run.oldest_batch > after_batch]
            weights = self._weights[after_batch] = Weights(later)
        return weights.between(first, end)

    def panes_between(self, first: int, end: int) -> int:
        """Return how many panes of [first, end) are not known to be empty."""
        at = max(0, bisect_right(self._firsts, first) - 1)
        count = 0
        for low, high in self.hulls[at:]:
            if low >= end:
                break
            count += max(0, min(high, end) - max(low, first))
        return count


class EntryRow:
    """The entries of one width and phase, in order."""

    def __init__(self, width: int, phase: int, segments: Sequence[Segment]) -> None:
        self.width, self.phase = width, phase
        self.segments = sorted(segments, key=lambda s: s.first)
        self._firsts = [segment.first for segment in self.segments]

    def holding(self, pane: int) -> Segment | None:
        """Return the segment that covers a pane."""
        at = bisect_right(self._firsts, pane) - 1
        if at < 0 or pane >= self.segments[at].end:
            return None
        return self.segments[at]

    def stretch(self, first: int, end: int) -> tuple[Segment, int, int] | None:
        """Return the first entries within [first, end) that lie side by side in one segment."""
        start = first + (self.phase - first) % self.width
        segment = self.holding(start)
        if segment is None:
            at = bisect_right(self._firsts, start)
            if at == len(self._firsts):
                return None
            segment = self.segments[at]
            start = segment.first
        stop = min(segment.end, end)
        stop -= (stop - start) % self.width
        return (segment, start, stop) if start < stop else None


class Weights:
    """Expected rows by pane: each run spreads its rows evenly over its panes."""

    def __init__(self, runs: Sequence[Segment]) -> None:
        slopes: dict[int, float] = {}
        for run in runs:
            density = run.rows / (run.end - run.first)
            slopes[run.first] = slopes.get(run.first, 0.0) + density
            slopes[run.end] = slopes.get(run.end, 0.0) - density
        self._points = sorted(slopes)
        self._sums: list[float] = []
        self._slopes: list[float] = []
        total = slope = 0.0
        for at, point in enumerate(self._points):
            if at:
                total += slope * (point - self._points[at - 1])
            slope += slopes[point]
            self._sums.append(total)
            self._slopes.append(slope)

    def between(self, first: int, end: int) -> float:
        """Return the expected rows in [first, end)."""
        return max(0.0, self._below(end) - self._below(first)) if self._points else 0.0

    def _below(self, pane: int) -> float:
        at = bisect_right(self._points, pane) - 1
        if at < 0:
            return 0.0
        return self._sums[at] + self._slopes[at] * (pane - self._points[at])


def union(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or touch.

    >>> union([(5, 7), (0, 2), (2, 3)])
    [(0, 3), (5, 7)]
    """
    whole: list[tuple[int, int]] = []
    for first, end in sorted(ranges):
        if whole and first <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((first, end))
    return whole
