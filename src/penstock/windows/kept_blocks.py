"""Which blocks of a ladder are complete, useful and not kept yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.windows.panes import Panes
from penstock.windows.retention import usable
from penstock.windows.rungs import Ladder, Rung
from penstock.windows.segments import Segment
from penstock.windows.shelf import EntryRow, Shelf


@dataclass(frozen=True, slots=True)
class Kept:
    """Results to keep as one segment: entries of ``width`` panes from ``first`` to ``end``."""

    width: int
    first: int
    end: int

    @property
    def entries(self) -> int:
        """How many entries there may be; those without rows are simply absent."""
        return (self.end - self.first) // self.width

    def holds(self, start: int, end: int) -> bool:
        """Say whether [start, end) is one of the entries."""
        inside = self.first <= start and end <= self.end
        return inside and end - start == self.width and (start - self.first) % self.width == 0

    def segment(self, name: str, through: int, rows: int, size_bytes: int) -> Segment:
        """Return what the store then holds, complete up to the batch that wrote it."""
        return Segment(name, self.first, self.end, self.width, through, False, rows, size_bytes)


def missing_blocks(
    panes: Panes, shelf: Shelf, ladder: Ladder, through: int, at_most: int
) -> tuple[list[Kept], list[tuple[int, int]]]:
    """Return the blocks to build now that ``through`` has passed, and the segments they make.

    Those are the blocks that just became complete, and any that were left out before: when the
    ladder was another, or when a closing was too large to build them. At most ``at_most`` are
    built at once, the widest and newest first, since they save the most.
    """
    keeps: list[Kept] = []
    blocks: list[tuple[int, int]] = []
    for rung in sorted(ladder.rungs, reverse=True):
        row = shelf.row(rung.width, rung.phase)
        stretch: list[int] = []
        for start in _missing_starts(panes, shelf, rung, through):
            if len(blocks) == at_most:
                break
            blocks.append((start, start + rung.width))
            if stretch and not _empty_between(shelf, row, start + rung.width, stretch[-1]):
                keeps.append(_kept(shelf, row, stretch))
                stretch = []
            stretch.append(start)
        if stretch:
            keeps.append(_kept(shelf, row, stretch))
    return keeps, blocks


def _missing_starts(panes: Panes, shelf: Shelf, rung: Rung, through: int) -> Iterator[int]:
    """Yield the starts of blocks to build, the newest first."""
    row = shelf.row(rung.width, rung.phase)
    lowest = panes.first_needed(through)
    newest = rung.start_before(through) - rung.width
    for first, end in reversed(shelf.hulls):
        start = min(newest, rung.start_before(end - 1))
        while start >= lowest and start + rung.width > first:
            held = row.holding(start)
            if held is not None:
                start = held.first - rung.width
                continue
            if usable(panes, start, rung.width, through):
                yield start
            start -= rung.width
        newest = min(newest, start)


def _empty_between(shelf: Shelf, row: EntryRow, first: int, end: int) -> bool:
    """Say whether blocks between two others are known to be empty and not kept already."""
    is_free = all(segment.end <= first or segment.first >= end for segment in row.segments)
    return first == end or (is_free and shelf.panes_between(first, end) == 0)


def _kept(shelf: Shelf, row: EntryRow, starts: list[int]) -> Kept:
    """Make one segment of blocks, newest first in ``starts``.

    It reaches back to the segment before it if all blocks between are empty: segments that lie end
    to end can be compacted.
    """
    first = starts[-1]
    before = max((segment.end for segment in row.segments if segment.end <= first), default=first)
    if shelf.panes_between(before, first) == 0:
        first = before
    return Kept(row.width, first, starts[0] + row.width)
