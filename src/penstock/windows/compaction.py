"""Compaction: many small segments become few, and each partial is rewritten only a few times.

Runs are merged as a log-structured tree merges them: neighbours in the order of batches, and only
when together they are ``fan`` times as long as the longest of them. So a partial is rewritten at
most log_fan(batches) times, and the runs that stay grow in length towards the old ones. How far a
run reaches over panes plays no part: late rows make runs wide, and that is all.

No run may lie across the ``through`` of an entry. So the entries that were made within the batches
of the runs are brought up to the last of these batches at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from penstock.windows.panes import Panes
from penstock.windows.paths import run_pieces
from penstock.windows.retention import expired, needed_from
from penstock.windows.rungs import Ladder
from penstock.windows.segments import CROSSING, Piece, Segment, joined
from penstock.windows.shelf import Shelf

FAN = 8
MAX_RUNS = 64


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One segment to write from pieces of others.

    A run keeps positions and widths as they are: merge by position, width and key. An entry
    segment puts each piece into the entry that holds its position: merge by ``entry_of`` and key.
    """

    first: int
    end: int
    width: int
    through: int
    since: int | None
    pieces: tuple[Piece, ...]

    @property
    def is_delta(self) -> bool:
        """Whether this is a run."""
        return self.since is not None

    def entry_of(self, pane: int) -> int:
        """Return where the entry that holds a pane starts."""
        return pane - (pane - self.first) % self.width

    def segment(self, name: str, rows: int, size_bytes: int) -> Segment:
        """Return what the store then holds."""
        return Segment(
            name,
            self.first,
            self.end,
            self.width,
            self.through,
            self.is_delta,
            rows,
            size_bytes,
            self.since,
        )


@dataclass(frozen=True, slots=True)
class Compaction:
    """Segments to write, and the names of those to drop for them or expired, all in one step.

    ``restamped`` are segments that stay as they are, but are known to be complete up to a later
    batch; they replace the ones of the same name, and no file is touched.
    """

    rewrites: tuple[Rewrite, ...]
    replaced: tuple[str, ...]
    restamped: tuple[Segment, ...] = ()


def compaction(
    panes: Panes,
    segments: Sequence[Segment],
    ladder: Ladder,
    closed: int | None,
    *,
    crossings: bool = False,
    fan: int = FAN,
    max_runs: int = MAX_RUNS,
) -> Compaction | None:
    """Return what to compact once ``closed`` has passed, or None when it would not pay.

    Call it after a closing, when the batch has time to spare; one call plans one step.
    """
    if fan < 2:
        raise ValueError(f"fan is {fan}: merging needs at least 2")
    gone = set(expired(panes, segments, ladder, closed))
    live = [segment for segment in segments if segment.name not in gone]
    shelf = Shelf(live)
    group = _grown(shelf.runs, fan) or _overfull(shelf.runs, fan, max_runs)
    if group is None:
        return None
    since, through = group[0].oldest_batch, group[-1].through
    entries = [s for s in live if not s.is_delta and since <= s.through <= through]
    stamped, rewritten = _entry_rewrites(shelf, entries, through)
    needed = needed_from(panes, live, ladder, closed)
    run = _run_rewrite(group, needed, since, through, crossings)
    stays = {segment.name for segment in stamped}
    # What has expired goes too: runs may now lie across it, and another ladder could want it back.
    dropped = [s.name for s in segments if s.name in gone]
    replaced = [s.name for s in (*group, *entries) if s.name not in stays]
    return Compaction((run, *rewritten), (*replaced, *dropped), tuple(stamped))


def _grown(runs: Sequence[Segment], fan: int) -> Sequence[Segment] | None:
    """Return neighbours that together are ``fan`` times as long as the longest of them.

    Short ones go first, and all that lie side by side at once: where compaction had no time for a
    while, one step makes up for it.
    """
    for longest in sorted({run.batches for run in runs}):
        stretches = groupby(runs, key=lambda run: run.batches <= longest)
        groups = [list(stretch) for is_short, stretch in stretches if is_short]
        group = max(groups, key=_length)
        if _length(group) >= fan * longest:
            return group
    return None


def _overfull(runs: Sequence[Segment], fan: int, max_runs: int) -> Sequence[Segment] | None:
    """Where expiry left an odd sequence of lengths, merge the shortest neighbours all the same."""
    if len(runs) <= max_runs:
        return None
    size = min(fan, len(runs))
    groups = [runs[at : at + size] for at in range(len(runs) - size + 1)]
    return min(groups, key=_length)


def _length(group: Sequence[Segment]) -> int:
    return sum(run.batches for run in group)


def _run_rewrite(
    group: Sequence[Segment], needed: int | None, since: int, through: int, crossings: bool
) -> Rewrite:
    first, end = min(run.first for run in group), max(run.end for run in group)
    first = first if needed is None else max(first, needed)
    pieces = [
        Piece(run.name, max(first, run.first), run.end, 1) for run in group if run.end > first
    ]
    if crossings:
        pieces += [replace(piece, width=CROSSING) for piece in pieces]
    return Rewrite(first, end, 1, through, since, tuple(pieces))


def _entry_rewrites(
    shelf: Shelf, entries: Iterable[Segment], through: int
) -> tuple[list[Segment], list[Rewrite]]:
    """Bring entries up to a batch, neighbours of one width together."""
    stamped: list[Segment] = []
    rewritten: list[Rewrite] = []
    for stretch in _stretches(entries):
        late = [list(_late_pieces(shelf, entry, through)) for entry in stretch]
        if len(stretch) == 1 and not late[0]:
            if stretch[0].through < through:
                stamped.append(replace(stretch[0], through=through))
            else:
                stamped.append(stretch[0])
            continue
        own = [Piece(entry.name, entry.first, entry.end, entry.width) for entry in stretch]
        pieces = joined([*own, *(piece for some in late for piece in some)])
        first, end, width = stretch[0].first, stretch[-1].end, stretch[0].width
        rewritten.append(Rewrite(first, end, width, through, None, pieces))
    return stamped, rewritten


def _late_pieces(shelf: Shelf, entry: Segment, through: int) -> Iterator[Piece]:
    return run_pieces(shelf, entry.first, entry.end, entry.through, through)


def _stretches(entries: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Yield entry segments of one width that lie end to end."""
    stretch: list[Segment] = []
    for entry in sorted(entries, key=lambda e: (e.width, e.first % e.width, e.first)):
        if stretch and (stretch[-1].width, stretch[-1].end) != (entry.width, entry.first):
            yield stretch
            stretch = []
        stretch.append(entry)
    if stretch:
        yield stretch
