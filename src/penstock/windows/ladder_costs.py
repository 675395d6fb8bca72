"""What a ladder costs per pane of event time, in rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import expm1, lcm, log1p
from typing import NamedTuple

from penstock.windows.panes import PanedSpec, Panes
from penstock.windows.paths import EXACT_PANES, INPUT_ROWS
from penstock.windows.rungs import Ladder, Rung, nested
from penstock.windows.segments import Segment

_SAMPLES = 160  # with fewer, a search over many ladders finds the luckiest and not the best
_SEARCHED_PANES = 64
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of a partial result by its width, from measurements.

    ``pane_rows`` is the number of rows of a pane, ``keys`` that of all keys; left out, every key
    is taken to be in every pane.

    >>> [round(Sizes(100, keys=1_000).rows(width)) for width in (1, 10, 100)]
    [100, 651, 1000]
    """

    pane_rows: float
    keys: float | None = None

    def rows(self, width: int) -> float:
        """Return the expected rows of ``width`` panes: each pane draws its keys from all keys."""
        if self.keys is None or self.keys <= self.pane_rows:
            return self.pane_rows
        return -self.keys * expm1(width * log1p(-self.pane_rows / self.keys))

    @classmethod
    def measured(cls, segments: Iterable[Segment]) -> Sizes:
        """Read sizes off the store: panes from its runs, keys from its widest entries."""
        runs: list[Segment] = []
        entries: list[Segment] = []
        for segment in segments:
            (runs if segment.is_delta else entries).append(segment)
        panes = sum(run.end - run.first for run in runs)
        pane_rows = sum(run.rows for run in runs) / panes if panes else 0.0
        widest = max((entry.width for entry in entries), default=0)
        keys = [entry.rows / entry.entries for entry in entries if entry.width == widest]
        return cls(pane_rows, max(keys, default=None))


@dataclass(frozen=True, slots=True)
class LadderCosts:
    """Prices, in rows that are read and merged.

    ``input_rows`` is for each input of a merge, ``write_rows`` for each row that is kept: it is
    written, later rewritten by compactions, and dropped. ``kept_write_rows`` is for each closing
    that keeps something at all: an extra Spark job. ``closing_panes`` is how many panes a closing
    passes on average. Where a window is longer than ``long_panes``, a ladder with at most
    ``most_inputs`` per result goes before any other, however few the rows are: plans must stay
    small. That is a mean; some stretches of windows take up to a fifth more. A ladder in use is
    given up for one cheaper by ``margin``.
    """

    input_rows: float = INPUT_ROWS
    write_rows: float = 5.0
    kept_write_rows: float = 100_000.0
    closing_panes: float = 1.0
    long_panes: int = EXACT_PANES
    most_inputs: float = 25.0
    margin: float = 0.2


@dataclass(frozen=True, slots=True)
class LadderBill:
    """What a ladder costs per pane of event time.

    ``inputs_per_result`` counts building too. ``is_small`` says that it is within ``most_inputs``
    where that matters.
    """

    reading: float
    building: float
    writing: float
    inputs_per_result: float
    is_small: bool

    @property
    def total(self) -> float:
        """All costs together."""
        return self.reading + self.building + self.writing

    @property
    def rank(self) -> tuple[bool, float]:
        """The order in which ladders are preferred."""
        return (not self.is_small, self.total)


class _Cost(NamedTuple):
    rows: float
    inputs: float


def bill(panes: Panes, ladder: Ladder, sizes: Sizes, costs: LadderCosts) -> LadderBill:
    """Return what a ladder costs once all its blocks are there."""
    ideal = _Ideal(ladder.rungs, sizes, costs)
    reading = building = writing = inputs = results = 0.0
    for index, spec in enumerate(panes.specs):
        cost = ideal.window(spec, is_chained=index in ladder.inverse)
        reading, inputs = reading + cost.rows / spec.slide, inputs + cost.inputs / spec.slide
        results += 1 / spec.slide
        if index in ladder.inverse:
            writing += costs.write_rows * sizes.rows(spec.length) / spec.slide
    for rung in ladder.rungs:
        if not any(_is_window(rung, spec) for spec in panes.specs):
            cost = ideal.block(rung)
            building, inputs = building + cost.rows / rung.width, inputs + cost.inputs / rung.width
        writing += costs.write_rows * sizes.rows(rung.width) / rung.width
    writing += costs.kept_write_rows * _kept_writes(panes, ladder, costs)
    is_long = any(spec.length > costs.long_panes for spec in panes.specs)
    is_small = not is_long or inputs / results <= costs.most_inputs
    return LadderBill(reading, building, writing, inputs / results, is_small)


class _Ideal:
    """Paths over a store that holds every block of a ladder."""

    def __init__(self, rungs: Sequence[Rung], sizes: Sizes, costs: LadderCosts) -> None:
        self._rungs = sorted(rungs, reverse=True)
        self._is_nested = nested([(rung.width, rung.phase) for rung in rungs])
        self._base_rows = costs.input_rows
        self._sizes = sizes
        self._price = {
            width: sizes.rows(width) + costs.input_rows
            for width in {1, *(rung.width for rung in rungs)}
        }
        self._built: dict[int, _Cost] = {}
        for rung in reversed(self._rungs):
            self._built[rung.width] = self._path(rung.phase, rung.phase + rung.width, rung.width)

    def window(self, spec: PanedSpec, is_chained: bool) -> _Cost:
        """Return the mean cost of the windows of a spec."""
        starts = _sampled_starts(spec, self._rungs)
        rows = inputs = 0.0
        for start in starts:
            path = self._path(start, start + spec.length, spec.length)
            if is_chained:
                path = min(path, self._chained(spec, start + spec.length))
            rows, inputs = rows + path.rows, inputs + path.inputs
        return _Cost(rows / len(starts), inputs / len(starts))

    def _chained(self, spec: PanedSpec, end: int) -> _Cost:
        """Return the cost of the kept window, the new panes at its end, the old ones before it."""
        new = self._path(end - spec.slide, end, spec.length)
        base = self._sizes.rows(spec.length) + self._base_rows
        rows = base + new.rows + spec.slide * self._price[1]
        return _Cost(rows, 1 + new.inputs + spec.slide)

    def block(self, rung: Rung) -> _Cost:
        """Return the cost of building a block from narrower ones."""
        return self._built[rung.width]

    def _path(self, first: int, end: int, narrower_than: int) -> _Cost:
        rungs = [rung for rung in self._rungs if rung.width < narrower_than]
        if self._is_nested or end - first > _SEARCHED_PANES:
            return self._widest_first(rungs, first, end, end)
        return self._searched(rungs, first, end)

    def _widest_first(self, rungs: Sequence[Rung], first: int, end: int, last: int) -> _Cost:
        for at, rung in enumerate(rungs):
            start = rung.start_from(first)
            count = (end - start) // rung.width
            if count > 0:
                stop = start + count * rung.width
                left = self._widest_first(rungs[at + 1 :], first, start, last)
                right = self._widest_first(rungs[at + 1 :], stop, end, last)
                middle = (count - 1) * self._price[rung.width] + self._at(rung.width, stop, last)
                return _Cost(left.rows + middle + right.rows, left.inputs + count + right.inputs)
        return _Cost((end - first) * self._price[1], end - first)

    def _at(self, width: int, stop: int, last: int) -> float:
        """Return the price of a block; one that ends with the window cannot be read yet."""
        return self._built[width].rows if stop == last and width > 1 else self._price[width]

    def _searched(self, rungs: Sequence[Rung], first: int, end: int) -> _Cost:
        best = [_Cost(0.0, 0.0)] + [_Cost(float("inf"), 0.0)] * (end - first)
        for at in range(first, end):
            here = best[at - first]
            for width in [*(r.width for r in rungs if r.start_from(at) == at), 1]:
                if at + width <= end:
                    rows = here.rows + self._at(width, at + width, end)
                    if rows < best[at + width - first].rows:
                        best[at + width - first] = _Cost(rows, here.inputs + 1)
        return best[-1]


def _sampled_starts(spec: PanedSpec, rungs: Sequence[Rung]) -> list[int]:
    """Return starts of windows, spread over all the ways in which they can lie on the rungs."""
    period = lcm(spec.slide, *(rung.width for rung in rungs)) // spec.slide
    if period <= _SAMPLES:
        steps = list(range(period))
    else:
        # Even spacing would meet powers of two far too often.
        steps = [int((sample * _GOLDEN % 1.0) * period) for sample in range(_SAMPLES)]
    return [spec.offset + spec.slide * step for step in steps]


def _is_window(rung: Rung, spec: PanedSpec) -> bool:
    """Say whether every block of a rung is a window of a spec, and so is built anyway."""
    on_grid = rung.width % spec.slide == 0 and (rung.phase - spec.offset) % spec.slide == 0
    return rung.width == spec.length and on_grid


def _kept_writes(panes: Panes, ladder: Ladder, costs: LadderCosts) -> float:
    """Return how many closings per pane keep something."""
    chained = [1 / panes.specs[index].slide for index in ladder.inverse]
    widths = [1 / rung.width for rung in ladder.rungs]
    blocks = max(widths, default=0.0) if ladder.is_nested else sum(widths)
    return min(1 / costs.closing_panes, max([blocks, *chained]))
