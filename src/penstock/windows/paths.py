"""The cheapest way from one pane boundary to another, over what is there to be read.

Available results are edges over pane boundaries: single panes, kept entries, and results that are
finished in the same closing (Enorm, section 6.1). The weight of an edge is the rows that it adds to
a merge, plus a fixed cost for each input; panes known to be empty are free.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.windows.rungs import nested
from penstock.windows.segments import Piece, Segment, joined
from penstock.windows.shelf import BEFORE_ALL, Shelf

INPUT_ROWS = 100.0
"""What one more input costs, in rows: its ranges, its share of a plan, its files."""

EXACT_PANES = 512
"""The longest window for which a full search is made where blocks half overlap."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A result of this closing: others may count on it, but they read what it was made of."""

    first: int
    end: int
    rows: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """Edges side by side: single panes, kept entries, or one result of the same closing."""

    first: int
    end: int
    inputs: int
    rows: float
    entry: Segment | None = None
    finished: Finished | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """Steps that lie end to end."""

    steps: tuple[Step, ...]

    @property
    def inputs(self) -> int:
        """How many results are merged, a result of the same closing counted as one."""
        return sum(step.inputs for step in self.steps)

    @property
    def rows(self) -> float:
        """How many rows that adds up to."""
        return sum(step.rows for step in self.steps)

    @property
    def widest_rows(self) -> float:
        """The rows of the largest input: the result has about as many or more."""
        return max((step.rows / max(1, _results(step)) for step in self.steps), default=0.0)

    def pieces(self, shelf: Shelf) -> tuple[Piece, ...]:
        """Return what to read: each row of the path's panes exactly once."""
        return joined(piece for step in self.steps for piece in _pieces(step, shelf))


class Paths:
    """Finds paths over the segments of a store and the results finished so far."""

    def __init__(
        self, shelf: Shelf, input_rows: float = INPUT_ROWS, exact_panes: int = EXACT_PANES
    ) -> None:
        self._shelf = shelf
        self._input_rows, self._exact_panes = input_rows, exact_panes
        self._finished: dict[int, dict[int, Finished]] = {}  # by width, by start
        self._starts: dict[int, list[int]] = {}
        self._rungs = set(shelf.rungs)
        self._arrange()

    def _arrange(self) -> None:
        self._is_nested = nested(list(self._rungs))
        self._widths = sorted({width for width, _ in self._rungs}, reverse=True)

    def add(self, finished: Finished) -> None:
        """Make a result of this closing an edge for the ones that follow."""
        width = finished.end - finished.first
        if width < 2 or finished.first in self._finished.setdefault(width, {}):
            return
        self._finished[width][finished.first] = finished
        insort(self._starts.setdefault(width, []), finished.first)
        rung = (width, finished.first % width)
        if rung not in self._rungs:
            self._rungs.add(rung)
            self._arrange()

    def cheapest(self, first: int, end: int) -> Path:
        """Return the cheapest path from ``first`` to ``end``.

        Where blocks nest, taking the widest ones that fit is always right. Where they half overlap
        a full search is made, for windows of up to ``exact_panes``; longer ones take the widest
        first all the same, which is close.
        """
        if self._is_nested or end - first > self._exact_panes:
            return self.widest_first(first, end)
        return self.searched(first, end)

    def weight(self, path: Path) -> float:
        """Return what a path costs, in rows."""
        return path.rows + self._input_rows * path.inputs

    def widest_first(self, first: int, end: int) -> Path:
        """Take the widest results that fit, then fill what is left with narrower ones."""
        return Path(tuple(self._filled(first, end, 0)))

    def _filled(self, first: int, end: int, level: int) -> Iterator[Step]:
        while level < len(self._widths) and self._widths[level] > end - first:
            level += 1
        if level == len(self._widths):
            if first < end:
                yield self.panes(first, end)
            return
        at = first
        while (step := self._leftmost(at, end, self._widths[level])) is not None:
            yield from self._filled(at, step.first, level + 1)
            yield step
            at = step.end
        yield from self._filled(at, end, level + 1)

    def _leftmost(self, first: int, end: int, width: int) -> Step | None:
        best: Step | None = None
        for row in self._shelf.rows_of(width):
            found = row.stretch(first, end)
            if found is not None and (best is None or found[1] < best.first):
                best = self._kept(*found)
        starts = self._starts.get(width, [])
        at = bisect_left(starts, first)
        is_there = at < len(starts) and starts[at] + width <= end
        if is_there and (best is None or starts[at] < best.first):
            best = self._counted(self._finished[width][starts[at]])
        return best

    def searched(self, first: int, end: int) -> Path:
        """Weigh all paths, boundary by boundary."""
        best: list[tuple[float, Step | None]] = [(0.0, None)]
        best += [(float("inf"), None)] * (end - first)
        for at in range(first, end):
            here = best[at - first][0]
            for step in (*self._edges(at, end), self.panes(at, at + 1)):
                weight = here + step.rows + self._input_rows * step.inputs
                if weight < best[step.end - first][0]:
                    best[step.end - first] = (weight, step)
        steps: list[Step] = []
        at = end
        while at > first:
            last = best[at - first][1]
            assert last is not None  # single panes lead everywhere
            steps.append(last)
            at = last.first
        return Path(tuple(reversed(steps)))

    def _edges(self, at: int, limit: int) -> Iterator[Step]:
        for segment in self._shelf.entries_at(at, limit):
            yield self._kept(segment, at, at + segment.width)
        for width, results in self._finished.items():
            if at + width <= limit and at in results:
                yield self._counted(results[at])

    def _kept(self, segment: Segment, first: int, end: int) -> Step:
        count = (end - first) // segment.width
        late_rows = self._shelf.rows_between(first, end, segment.through)
        rows = count * segment.rows / segment.entries + late_rows
        inputs = min(count, self._shelf.panes_between(first, end))  # empty ones are free
        return Step(first, end, inputs, rows, entry=segment)

    def _counted(self, result: Finished) -> Step:
        return Step(result.first, result.end, 1, result.rows, finished=result)

    def panes(self, first: int, end: int) -> Step:
        """Return the step that reads single panes."""
        rows = self._shelf.rows_between(first, end)
        return Step(first, end, self._shelf.panes_between(first, end), rows)


def run_pieces(
    shelf: Shelf, first: int, end: int, after_batch: int = BEFORE_ALL, through: int | None = None
) -> Iterator[Piece]:
    """Yield the panes of [first, end) in the runs after one batch and up to another."""
    for run in shelf.runs:
        is_asked = run.oldest_batch > after_batch and (through is None or run.through <= through)
        if is_asked and run.overlaps(first, end):
            yield Piece(run.name, max(first, run.first), min(end, run.end), 1)


def _pieces(step: Step, shelf: Shelf) -> Iterable[Piece]:
    if step.finished is not None:
        return step.finished.pieces
    if step.entry is None:
        return run_pieces(shelf, step.first, step.end)
    entry = Piece(step.entry.name, step.first, step.end, step.entry.width)
    return [entry, *run_pieces(shelf, step.first, step.end, step.entry.through)]


def _results(step: Step) -> int:
    width = step.entry.width if step.entry else 1
    return 1 if step.finished else (step.end - step.first) // width
