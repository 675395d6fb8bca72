"""How many points the partial results in the pane store hold: as told, or estimated by bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.preference.packing import Partial
from penstock.windows.segments import Piece, Segment

UNKNOWN = -1
"""The part of a partial result of which only the panes are known: it stands for all parts."""

_BYTES_PER_POINT = 100.0  # a guess until a segment is known by both
_MOST_APART = 64  # more panes of one piece, most of them empty, are taken together


@dataclass(frozen=True, slots=True)
class PartSize:
    """One part of a pane: how many points it holds."""

    pane: int
    part: int
    points: int


class PartialSizes:
    """Remembers sizes for as long as their segments are read; a new run begins with none.

    >>> sizes = PartialSizes()
    >>> sizes.told("6", [PartSize(pane=40, part=0, points=7), PartSize(40, 1, 5)])
    >>> segment = Segment("6", 40, 41, 1, through=2, is_delta=True, rows=2, bytes=1200)
    >>> [(each.part, each.points) for each in sizes.of(Piece("6", 40, 41, 1), segment)]
    [(0, 7.0), (1, 5.0)]
    """

    def __init__(self) -> None:
        self._parts: dict[str, tuple[PartSize, ...]] = {}
        self._bytes_per_point = _BYTES_PER_POINT

    def told(self, segment: str, parts: Iterable[PartSize]) -> None:
        """Take in what the tasks that wrote a segment said."""
        self._parts[segment] = tuple(parts)

    def keep(self, segments: Mapping[str, Segment]) -> None:
        """Forget segments that are gone; learn what a point takes from those that are there."""
        self._parts = {name: parts for name, parts in self._parts.items() if name in segments}
        points = sum(part.points for parts in self._parts.values() for part in parts)
        size = sum(segments[name].bytes for name in self._parts)
        if points and size:
            self._bytes_per_point = size / points

    def of(self, piece: Piece, segment: Segment) -> list[Partial]:
        """Return the partial results that lie in a piece of a segment."""
        directory = int(piece.segment.partition(".")[0])
        known = self._parts.get(piece.segment)
        if known is not None and piece.width == 1:
            return [
                Partial(directory, part.pane, 1, part.part, float(part.points))
                for part in known
                if piece.first <= part.pane < piece.end
            ]
        firsts = range(piece.first, piece.end, max(1, piece.width))
        points = segment.bytes / self._bytes_per_point / segment.entries
        if len(firsts) > _MOST_APART:
            return [Partial(directory, piece.first, piece.width, UNKNOWN, points * len(firsts))]
        return [Partial(directory, first, piece.width, UNKNOWN, points) for first in firsts]
