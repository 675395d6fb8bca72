"""A pane store in memory that does what plans say, row by row, and checks each step."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from penstock.windows.compaction import Rewrite, compaction
from penstock.windows.consolidation import ClosingPlan, plan_closing
from penstock.windows.panes import Panes
from penstock.windows.retention import expired
from penstock.windows.rungs import Ladder
from penstock.windows.segments import CROSSING, Piece, Segment, joined

Row = tuple[int, int]  # the pane it falls into, and a number of its own
Spans = dict[int, int]  # rows that lie across boundaries: their number, and their last pane
Cells = dict[tuple[int, int], Counter[Row]]  # rows by position and width


def windows_with(panes: Panes, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Yield spec, start and end of all windows that touch the panes from first to last."""
    for index, spec in enumerate(panes.specs):
        for end in spec.ends(first, last + spec.length):
            yield index, end - spec.length, end


@dataclass
class StoreModel:
    """Segments with their rows; ``closed`` and ``batch`` move as an engine moves them."""

    panes: Panes
    ladder: Ladder
    crossings: bool = False
    segments: dict[str, Segment] = field(default_factory=dict)
    cells: dict[str, Cells] = field(default_factory=dict)
    closed: int | None = None
    batch: int = -1
    written: int = 0
    rewrites: Counter[Row] = field(default_factory=Counter)

    def add_batch(self, rows: Iterable[Row], spans: Spans | None = None) -> None:
        """Write the delta of the next batch; rows too late for every window are left out."""
        self.batch += 1
        cells: Cells = {}
        for row in rows:
            pane, last = row[0], (spans or {}).get(row[1], row[0])
            boundaries = [i for i in range(pane + 1, last + 1) if self._starts(i)]
            kept = [(pane, 1), *((i, CROSSING) for i in boundaries)]
            for at in kept:
                if self.closed is None or self.panes.last_end_with(at[0]) > self.closed:
                    cells.setdefault(at, Counter())[row] += 1
        if cells:
            first, end = min(p for p, _ in cells), max(p for p, _ in cells) + 1
            size = sum(len(rows) for rows in cells.values())
            name = str(self.batch)
            self._put(Segment(name, first, end, 1, self.batch, True, size, size), cells)

    def _starts(self, pane: int) -> bool:
        return any((pane - spec.offset) % spec.slide == 0 for spec in self.panes.specs)

    def close(self, through: int, **options: int) -> tuple[ClosingPlan, dict]:
        """Move the watermark; return the plan and the rows of each window (spec, start)."""
        plan = plan_closing(
            self.panes,
            list(self.segments.values()),
            self.ladder,
            self.closed,
            through,
            crossings=self.crossings,
            **options,
        )
        emitted = self._bulk(plan) if plan.is_bulk else self._merged(plan)
        self.closed = through
        return plan, emitted

    def _merged(self, plan: ClosingPlan) -> dict:
        emitted: dict = {}
        kept: dict[int, Cells] = {}
        for merge in plan.merges:
            assert joined(merge.pieces) == tuple(
                sorted(merge.pieces, key=lambda p: (p.segment, p.width, p.sign, p.first))
            )
            rows = self.read(merge.pieces)
            if merge.spec is not None:
                assert (merge.spec, merge.start) not in emitted
                emitted[merge.spec, merge.start] = rows
            if merge.keep:
                width = merge.end - merge.start
                homes = [i for i, k in enumerate(plan.keeps) if k.holds(merge.start, merge.end)]
                assert len(homes) == 1
                if rows:
                    kept.setdefault(homes[0], {})[merge.start, width] = rows
        for index, keep in enumerate(plan.keeps):
            cells = kept.get(index, {})
            size = sum(len(rows) for rows in cells.values())
            self._put(keep.segment(self._name(), self.batch, size, size), cells)
        return emitted

    def _bulk(self, plan: ClosingPlan) -> dict:
        """Form all windows by arithmetic from panes and crossings alone."""
        assert not plan.merges
        assert not plan.keeps
        emitted: dict = {}
        for piece in plan.reads:
            for (at, width), rows in self.cells[piece.segment].items():
                if piece.first <= at < piece.end and width == piece.width:
                    for index, spec in enumerate(self.panes.specs):
                        for end in spec.ends(at, at + spec.length):
                            start = end - spec.length
                            inside = start == at if width == CROSSING else start <= at < end
                            low = plan.after is None or end > plan.after
                            if inside and low and end <= plan.through:
                                emitted.setdefault((index, start), Counter()).update(rows)
        return emitted

    def read(self, pieces: Iterable[Piece]) -> Counter[Row]:
        """Merge pieces; nothing may be read twice, taken away twice, or from a dropped segment."""
        total: Counter[Row] = Counter()
        for piece in pieces:
            for (at, width), rows in self.cells[piece.segment].items():
                if piece.first <= at < piece.end and width == piece.width:
                    for row, count in rows.items():
                        total[row] += piece.sign * count
        assert all(count >= 0 for count in total.values())
        return +total

    def live(self) -> list[Segment]:
        """Return the segments that have not expired, dropped or not."""
        held = list(self.segments.values())
        gone = expired(self.panes, held, self.ladder, self.closed)
        return [segment for segment in held if segment.name not in gone]

    def drop_expired(self) -> None:
        for name in expired(self.panes, list(self.segments.values()), self.ladder, self.closed):
            del self.segments[name], self.cells[name]

    def reload(self) -> None:
        """Go through a commit record, and check the two rules of the store."""
        records = [segment.to_json() for segment in self.segments.values()]
        self.segments = {r["name"]: Segment.from_json(json.loads(json.dumps(r))) for r in records}
        runs = sorted((s for s in self.live() if s.is_delta), key=lambda s: s.oldest_batch)
        for older, newer in pairwise(runs):
            assert older.through < newer.oldest_batch
        for entry in self.live():
            if not entry.is_delta:
                assert not any(r.oldest_batch <= entry.through < r.through for r in runs)

    def compact(self, **options: int) -> bool:
        """Take one step of compaction, if there is one."""
        plan = compaction(
            self.panes,
            list(self.segments.values()),
            self.ladder,
            self.closed,
            crossings=self.crossings,
            **options,
        )
        if plan is None:
            return False
        assert not {s.name for s in plan.restamped} & set(plan.replaced)
        written = [(rewrite, self._rewritten(rewrite)) for rewrite in plan.rewrites]
        assert len(set(plan.replaced)) == len(plan.replaced)
        for name in plan.replaced:
            del self.segments[name], self.cells[name]
        for segment in plan.restamped:
            self.segments[segment.name] = segment
        for rewrite, cells in written:
            size = sum(len(rows) for rows in cells.values())
            self._put(rewrite.segment(self._name(), size, size), cells)
        return True

    def _rewritten(self, rewrite: Rewrite) -> Cells:
        cells: Cells = {}
        for piece in rewrite.pieces:
            assert piece.sign == 1
            for (at, width), rows in self.cells[piece.segment].items():
                if piece.first <= at < piece.end and width == piece.width:
                    to = (at, width) if rewrite.is_delta else (rewrite.entry_of(at), rewrite.width)
                    cells.setdefault(to, Counter()).update(rows)
                    if rewrite.is_delta:
                        self.rewrites.update(rows.keys())
        return cells

    def _put(self, segment: Segment, cells: Cells) -> None:
        assert segment.name not in self.segments
        for at, width in cells:
            assert segment.first <= at < segment.end
            assert segment.is_delta or width == segment.width
        self.segments[segment.name] = segment
        self.cells[segment.name] = cells

    def _name(self) -> str:
        self.written += 1
        return f"{self.written}.0"
