"""Figures of event time: watermarks, panes, aggregates in pieces, and what is merged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from axes import Axes

import penstock as ps
from drawing import BLUE, FAINT, GREEN, GRID, MUTED, ORANGE, RED, Drawing
from penstock.reproduction.enorm import closing, over_time
from penstock.windows.kslack import KSlack
from penstock.windows.panes import paned
from penstock.windows.watermark import FixedDelay, Mark, Seen, Watermark

SECOND = 1_000_000
BATCHES, ROWS = 24, 9


def watermarks() -> Drawing:
    """Rows out of order, a fixed delay, and K-slack that learns how late they come."""
    times = _out_of_order()
    d = Drawing(372, "Event times of rows, and two watermarks that trail them")
    axes = Axes(d, (66, 62), (630, 236), (0, BATCHES), (0, 130))
    axes.frame([], [0, 40, 80, 120], y_label="event time in seconds")
    d.note(axes.right, 318, "micro-batches, one after the other", anchor="end")
    slack = _marks(KSlack(), times)
    fixed = _marks(FixedDelay.of("10 seconds"), times)
    late = 0
    for batch, rows in enumerate(times):
        for place, time in enumerate(rows):
            before = slack[batch - 1] if batch else None
            is_late = before is not None and time <= before
            late += is_late
            x = axes.x(batch + 0.08 + 0.84 * place / ROWS)
            d.dot(x, axes.y(time), RED if is_late else BLUE, radius=3.4 if is_late else 2.3)
    axes.steps(range(1, BATCHES + 1), fixed, MUTED, width=1.6, dashed=True)
    axes.steps(range(1, BATCHES + 1), slack, ORANGE, width=2.4)
    d.text(axes.x(18.6), axes.y(58), "K-slack", colour=ORANGE, bold=True, anchor="start")
    d.line([(axes.x(13.5), axes.y(100)), (axes.x(13.5), axes.y(fixed[12]) - 3)], FAINT, width=1)
    d.text(axes.x(13.5), axes.y(104), "a fixed 10 seconds", colour=MUTED, size=13)
    d.text(axes.x(9.9), axes.y(22), "a row 25 seconds late: K grows,", size=13, anchor="start")
    d.text(
        axes.x(9.9),
        axes.y(12),
        "and the watermark waits until it is K behind",
        size=13,
        anchor="start",
    )
    entries = [("a row", BLUE), (f"late for K-slack: {late} of {BATCHES * ROWS}", RED)]
    d.key(66, 348, entries, step=90)
    return d


def _out_of_order() -> list[list[float]]:
    rng = np.random.default_rng(4)
    times = []
    for batch in range(BATCHES):
        now = 5.0 * (batch + 1)
        delays = rng.exponential(2.0, ROWS)
        times.append([max(0.0, now + 5 * i / ROWS - delay) for i, delay in enumerate(delays)])
    times[9][4] -= 25.0
    return times


def _marks(rule: Watermark, times: Sequence[Sequence[float]]) -> list[float]:
    mark, marks = Mark(), []
    for rows in times:
        newest, oldest = round(max(rows) * SECOND), round(min(rows) * SECOND)
        mark = rule.advance(mark, Seen(len(rows), newest, oldest))
        marks.append(max(0.0, (mark.micros or 0) / SECOND))
    return marks


def windows() -> Drawing:
    """Rows go into panes once, and windows are made of panes."""
    panes = paned([ps.sliding("30 minutes", "10 minutes"), ps.tumbling("20 minutes")])
    step = panes.micros // (60 * SECOND)
    sliding, tumbling = panes.specs
    d = Drawing(356, "Rows, panes and the windows that are made of them")
    count, left, width = 6, 120, 94
    for row, words in ((62, "rows"), (124, "panes"), (182, "30 minutes"), (290, "20 minutes")):
        d.text(24, row, words, anchor="start", bold=True, size=13)
    d.note(24, 198, "every 10", anchor="start")
    for pane in range(count + 1):
        d.line([(left + pane * width, 144), (left + pane * width, 326)], GRID, width=1)
    rng = np.random.default_rng(3)
    held = rng.integers(3, 8, count)
    for pane in range(count):
        x = left + pane * width
        for place in rng.permutation(12)[: held[pane]]:
            d.dot(x + 12 + place * 6.2, 50 + rng.integers(0, 3) * 8, BLUE, radius=3)
        d.arrow([(x + width / 2, 76), (x + width / 2, 100)])
        d.box(x + 3, 100, width - 6, 38, f"{held[pane]}", colour=BLUE, filled=0.16)
        d.note(x, 342, str(pane * step))
    d.note(left + count * width, 342, f"{count * step} min")
    for end in sliding.ends(0, count):
        if end - sliding.length >= 0:
            y = 160 + (end - sliding.length) * 29
            total = int(held[end - sliding.length : end].sum())
            x = left + (end - sliding.length) * width
            d.box(x + 3, y, sliding.length * width - 6, 24, f"{total} rows", colour=ORANGE)
    for end in tumbling.ends(0, count):
        x, total = (
            left + (end - tumbling.length) * width,
            int(held[end - tumbling.length : end].sum()),
        )
        d.box(x + 3, 284, tumbling.length * width - 6, 24, f"{total} rows", colour=GREEN)
    return d


def aggregates() -> Drawing:
    """Avg in three steps: partial, merge, finish."""
    panes = ((4, 8, 6), (10, 2), (9, 7, 5, 3))
    partials = [(sum(rows), len(rows)) for rows in panes]
    total, count = (sum(each) for each in zip(*partials, strict=True))
    d = Drawing(282, "How an average comes about in pieces")
    for left, words in (
        (24, "rows of panes"),
        (232, "states"),
        (424, "window's state"),
        (602, "result"),
    ):
        d.heading(left, 34, words)
    for place, (rows, (added, number)) in enumerate(zip(panes, partials, strict=True)):
        y = 54 + place * 62
        d.box(24, y, 128, 44, ", ".join(map(str, rows)), colour=BLUE)
        d.arrow([(152, y + 22), (232, y + 22)])
        d.box(232, y, 118, 44, f"sum {added}, n {number}", colour=ORANGE)
        d.arrow([(350, y + 22), (386, y + 22), (386, 138), (424, 138)])
    d.box(424, 108, 118, 60, f"sum {total}, n {count}", colour=ORANGE, filled=0.2)
    d.arrow([(542, 138), (602, 138)])
    d.box(602, 108, 94, 60, f"{total / count:g}", colour=GREEN, filled=0.2)
    for x, words in ((192, "partial"), (386, "merge"), (572, "finish")):
        d.text(x, 248, words, mono=True, colour=MUTED)
    d.note(360, 270, "a sum and a count can be merged in any order; an average could not")
    return d


class Spread(ps.Aggregate):
    """The example of the page: highest less lowest."""

    state = pa.schema([("low", pa.float64()), ("high", pa.float64())])
    result = "spread double"
    columns = ("rate",)

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take rows into a state."""
        rates = [batch["rate"]] if state is None else [batch["rate"], *state.columns]
        return self._bounds(rates)

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        """Make one state of several."""
        return self._bounds([column for state in states for column in state.columns])

    def finish(self, state: pa.RecordBatch) -> dict[str, float]:
        """Say what comes out."""
        row = state.to_pylist()[0]
        return {"spread": row["high"] - row["low"]}

    def _bounds(self, columns: list[pa.Array]) -> pa.RecordBatch:
        bounds = pc.min_max(pa.chunked_array(columns)).as_py()
        return pa.RecordBatch.from_pydict({"low": [bounds["min"]], "high": [bounds["max"]]})


def own_aggregates() -> Drawing:
    """What is computed of rows cut in two ways is the same."""
    rates = (3.0, 8.0, 5.0, 1.0, 6.0, 4.0)
    d = Drawing(310, "Rows cut in two ways give the same result")
    d.heading(24, 32, "Two tasks")
    d.heading(24, 184, "Three micro-batches: the same result")
    _cut(d, 46, (rates[:4], rates[4:]))
    _cut(d, 198, (rates[:1], rates[1:3], rates[3:]))
    for x, words in ((226, "compute"), (404, "consolidate"), (578, "finish")):
        d.text(x, 152, words, mono=True, colour=MUTED, size=13)
    d.line([(24, 164), (696, 164)], GRID, width=1)
    return d


def _cut(d: Drawing, top: float, pieces: Sequence[Sequence[float]]) -> None:
    spread = Spread()
    states = [
        spread.compute(None, pa.RecordBatch.from_pydict({"rate": list(piece)})) for piece in pieces
    ]
    middle, step = top + 46, 92 / len(pieces)
    height = step - 6
    for place, (piece, state) in enumerate(zip(pieces, states, strict=True)):
        y = top + place * step + (98 - 92) / 2
        d.box(24, y, 150, height, ", ".join(f"{rate:g}" for rate in piece), colour=BLUE)
        d.arrow([(174, y + height / 2), (278, y + height / 2)])
        d.box(278, y, 84, height, _bounds_of(state), colour=ORANGE)
        d.arrow([(362, y + height / 2), (388, y + height / 2), (388, middle), (452, middle)])
    whole = spread.consolidate(states)
    d.box(452, middle - 22, 84, 44, _bounds_of(whole), colour=ORANGE, filled=0.2)
    d.arrow([(536, middle), (620, middle)])
    d.box(620, middle - 22, 76, 44, f"{spread.finish(whole)['spread']:g}", colour=GREEN, filled=0.2)


def _bounds_of(state: pa.RecordBatch) -> str:
    row = state.to_pylist()[0]
    return f"{row['low']:g} to {row['high']:g}"


def consolidation() -> Drawing:
    """Windows made of other windows, and what that saves over an hour."""
    lengths = (5, 10, 15, 20)
    plan = closing(lengths, 60)
    figure = over_time("", "", plan, 60, "minutes")
    d = Drawing(336, "A window from other windows, and what an hour of them merges")
    d.heading(24, 32, "The first windows, and what each merges")
    first = [merge for merge in plan.merges if merge.start == 0 and merge.spec is not None]
    pixels = 12.6
    for place, merge in enumerate(sorted(first, key=lambda each: each.end)):
        y, parts = 52 + place * 58, merge.inputs
        d.text(24, y + 22, f"{merge.end} min", anchor="start", size=13)
        whole = merge.inputs == merge.panes
        shown = [1] * merge.end if whole else _parts_of(merge.end, lengths, parts)
        x = 82.0
        for width in shown:
            words = "" if width == 1 else f"{width} min"
            colour = BLUE if width == 1 else ORANGE
            d.box(x + 1, y, width * pixels - 2, 32, words, colour=colour, filled=0.2, radius=3)
            x += width * pixels
        d.note(82, y + 48, f"{parts} instead of {merge.panes}", anchor="start")
    axes = Axes(d, (424, 62), (236, 190), (0, 60), (0, 250))
    axes.frame(
        [0, 20, 40, 60], [0, 100, 200], x_label="minutes", y_label="results merged in an hour"
    )
    axes.steps(figure.x, figure.series["naive"], RED)
    axes.steps(figure.x, figure.series["efficient"], GREEN)
    for value, colour in ((plan.naive_inputs, RED), (plan.inputs, GREEN)):
        y = axes.y(value) + 5
        d.text(axes.right + 6, y, str(value), colour=colour, bold=True, anchor="start")
    d.text(axes.x(34), axes.y(165), "from panes", colour=RED, size=13, anchor="end")
    d.text(axes.x(36), axes.y(22), "as planned", colour=GREEN, size=13, anchor="start")
    d.key(24, 316, [("a pane", BLUE), ("a window that was just formed", ORANGE)], step=100)
    return d


def _parts_of(length: int, lengths: Sequence[int], parts: int) -> list[int]:
    """Find the widths of so many windows, the widest first, that fill a longer one."""
    left, found = length, []
    for width in sorted((each for each in lengths if each < length), reverse=True):
        while left >= width:
            found.append(width)
            left -= width
    if len(found) != parts or left:
        raise ValueError(f"{length} is not {parts} windows of {lengths}")
    return found


FIGURES = {
    "watermarks": watermarks,
    "windows": windows,
    "aggregates": aggregates,
    "own-aggregates": own_aggregates,
    "consolidation": consolidation,
}
