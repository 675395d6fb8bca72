"""The consolidation planner: what to merge when the watermark closes windows.

After Enorm, section 6.1. The planner is pure: it is given what the store holds and says what to
read for each result; an engine merges, emits and keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.windows.kept_blocks import Kept, missing_blocks
from penstock.windows.panes import PanedSpec, Panes
from penstock.windows.paths import EXACT_PANES, INPUT_ROWS, Finished, Path, Paths, run_pieces
from penstock.windows.retention import inverse_bases
from penstock.windows.rungs import Ladder
from penstock.windows.segments import CROSSING, Piece, Segment, joined
from penstock.windows.shelf import Shelf, union

MAX_ENUMERATED = 512


@dataclass(frozen=True, slots=True)
class Merge:
    """One result: the window [start, end) of a spec to emit, a block to keep, or both.

    ``spec`` is a position in ``Panes.specs``, None for a block. ``pieces`` hold each row of the
    result exactly once. ``inputs`` counts what is merged, a result of the same closing as one;
    ``panes`` are those not known to be empty, which a naive plan would merge one by one.
    """

    start: int
    end: int
    spec: int | None
    keep: bool
    pieces: tuple[Piece, ...]
    inputs: int
    panes: int


@dataclass(frozen=True, slots=True)
class ClosingPlan:
    """What a closing reads, emits and keeps.

    Each of ``keeps`` becomes one segment of the merges with ``keep`` whose starts it holds. A bulk
    plan has no merges: all windows with ``after`` < end <= ``through`` are to be formed from
    ``reads`` by arithmetic, and nothing is kept.
    """

    after: int | None
    through: int
    merges: tuple[Merge, ...] = ()
    keeps: tuple[Kept, ...] = ()
    is_bulk: bool = False
    reads: tuple[Piece, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.merges and not self.is_bulk

    @property
    def inputs(self) -> int:
        """How many partial results are consolidated, as Enorm counts them."""
        return sum(merge.inputs for merge in self.merges)

    @property
    def naive_inputs(self) -> int:
        """How many it would be if each window were formed from its panes."""
        return sum(merge.panes for merge in self.merges if merge.spec is not None)

    @property
    def segments(self) -> frozenset[str]:
        """The names of the segments that are read."""
        pieces = [piece for merge in self.merges for piece in merge.pieces]
        return frozenset(piece.segment for piece in (*pieces, *self.reads))


def plan_closing(
    panes: Panes,
    segments: Sequence[Segment],
    ladder: Ladder,
    after: int | None,
    through: int,
    *,
    crossings: bool = False,
    max_enumerated: int = MAX_ENUMERATED,
    input_rows: float = INPUT_ROWS,
    exact_panes: int = EXACT_PANES,
) -> ClosingPlan:
    """Plan how to form the windows with ``after`` < end <= ``through``, and the blocks to keep.

    ``segments`` is all that the store holds, the batch being closed included. ``after`` is None
    when nothing was closed before. ``crossings`` says that rows may lie across boundaries (see
    ``CROSSING``): each window then also reads those at its start. Windows without a row are left
    out. ``exact_panes`` bounds the windows for which a full search is made (see ``Paths``).

    >>> from penstock.windows.panes import paned
    >>> from penstock.windows.specs import sliding
    >>> store = [Segment("b0", 0, 5, 1, through=0, is_delta=True, rows=5, bytes=100)]
    >>> plan = plan_closing(paned([sliding(3, 1)]), store, Ladder(), after=3, through=4)
    >>> plan.merges[0].pieces
    (Piece(segment='b0', first=1, end=4, width=1, sign=1),)
    """
    shelf = Shelf(segments)
    ends = [_closing_ends(spec, shelf.hulls, after, through) for spec in panes.specs]
    if sum(len(some) for spec_ends in ends for some in spec_ends) > max_enumerated:
        return _bulk(panes, shelf, after, through, crossings)
    windows = [
        (end - panes.specs[index].length, end, index)
        for index, spec_ends in enumerate(ends)
        for some in spec_ends
        for end in some
    ]
    keeps, blocks = missing_blocks(panes, shelf, ladder, through, max_enumerated)
    keeps += _chained(panes, ladder, windows, keeps)
    kept = {*blocks, *((keep.first, keep.end) for keep in keeps if keep.entries == 1)}
    bases = {} if after is None else inverse_bases(panes, segments, ladder, after)
    planner = _Planner(shelf, Paths(shelf, input_rows, exact_panes), bases, crossings)
    return ClosingPlan(after, through, tuple(planner.merges(windows, kept)), tuple(keeps))


class _Planner:
    """Plans the results of one closing, narrow ones first so that wide ones can count on them."""

    def __init__(
        self, shelf: Shelf, paths: Paths, bases: Mapping[int, Segment], crossings: bool
    ) -> None:
        self._shelf, self._paths, self._bases = shelf, paths, bases
        self._crossings = crossings

    def merges(
        self, windows: Iterable[tuple[int, int, int]], kept: set[tuple[int, int]]
    ) -> Iterator[Merge]:
        results: dict[tuple[int, int], list[int]] = {block: [] for block in kept}
        for start, end, index in windows:
            results.setdefault((start, end), []).append(index)
        for start, end in sorted(results, key=lambda r: (r[1] - r[0], r[1])):
            yield from self._merges(start, end, results[start, end], (start, end) in kept)

    def _merges(self, start: int, end: int, specs: list[int], keep: bool) -> Iterator[Merge]:
        body = self._body(start, end, specs)
        crossing = tuple(self._crossing(start)) if specs else ()
        if keep and (crossing or not specs):
            # What lies across the start belongs to the window alone and never to the block.
            yield replace(body, keep=True)
            body, keep = replace(body, inputs=1), False
        for index in specs:
            yield replace(body, spec=index, keep=keep, pieces=(*body.pieces, *crossing))
            body, keep = replace(body, inputs=1), False

    def _body(self, start: int, end: int, specs: list[int]) -> Merge:
        path = self._paths.cheapest(start, end)
        pieces, inputs, rows = path.pieces(self._shelf), path.inputs, path.widest_rows
        base = next((self._bases[index] for index in specs if index in self._bases), None)
        if base is not None and start < base.end < end:
            chained = self._from_base(base, start, end)
            if chained[2] < self._paths.weight(path):
                pieces, inputs, rows = chained[0], chained[1], base.rows
        self._paths.add(Finished(start, end, rows, pieces))
        panes = self._shelf.panes_between(start, end)
        return Merge(start, end, None, False, pieces, inputs, panes)

    def _from_base(
        self, base: Segment, start: int, end: int
    ) -> tuple[tuple[Piece, ...], int, float]:
        """Form a window as a kept one, plus its late rows and new panes, minus its old panes."""
        new = self._paths.cheapest(base.end, end)
        old = Path((self._paths.panes(base.first, start),))
        late = run_pieces(self._shelf, start, base.end, base.through)
        # Only what the kept window holds may be taken away: the batches up to its last.
        gone = run_pieces(self._shelf, base.first, start, through=base.through)
        pieces = [
            Piece(base.name, base.first, base.first + 1, base.width),
            *late,
            *new.pieces(self._shelf),
            *(replace(piece, sign=-1) for piece in gone),
        ]
        late_rows = self._shelf.rows_between(start, base.end, base.through)
        weight = self._paths.weight(new) + self._paths.weight(old) + base.rows + late_rows
        return joined(pieces), 1 + new.inputs + old.inputs, weight

    def _crossing(self, start: int) -> Iterator[Piece]:
        if self._crossings:
            for run in self._shelf.runs:
                if run.overlaps(start, start + 1):
                    yield Piece(run.name, start, start + 1, CROSSING)


def _closing_ends(
    spec: PanedSpec, hulls: Iterable[tuple[int, int]], after: int | None, through: int
) -> list[range]:
    """Return the ends in (after, through] of windows that hold a pane not known to be empty."""
    ranges = []
    for first, end in hulls:
        low = first if after is None else max(first, after)
        high = min(through, end - 1 + spec.length)
        if low < high:
            ranges.append((low, high))
    return [range(spec.first_end_after(low), high + 1, spec.slide) for low, high in union(ranges)]


def _chained(
    panes: Panes, ladder: Ladder, windows: Sequence[tuple[int, int, int]], keeps: Sequence[Kept]
) -> list[Kept]:
    """Keep the last closed window of each spec whose next one may be formed from it."""
    last: dict[int, tuple[int, int]] = {}
    for start, end, index in windows:
        if index in ladder.inverse and panes.specs[index].slide < panes.specs[index].length:
            last[index] = max(last.get(index, (start, end)), (start, end))
    added: list[Kept] = []
    for start, end in sorted(set(last.values())):
        kept = Kept(end - start, start, end)
        if not any(keep.holds(start, end) for keep in keeps):
            added.append(kept)
    return added


def _bulk(
    panes: Panes, shelf: Shelf, after: int | None, through: int, crossings: bool
) -> ClosingPlan:
    lowest = min((first for first, _ in shelf.hulls), default=through)
    if after is not None:
        lowest = max(lowest, panes.first_needed(after))
    reads = list(run_pieces(shelf, lowest, through))
    if crossings:
        reads += [replace(piece, width=CROSSING) for piece in reads]
    return ClosingPlan(after, through, is_bulk=True, reads=tuple(reads))
