"""Many key groups in few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MOST_PIECES = 40
_SHORTEST_RUN = 3


def in_ranges(groups: Iterable[int], most: int = MOST_PIECES) -> str:
    """Write key groups as ranges, as they are dealt: to neighbours, or to every so many-th.

    >>> in_ranges([0, 1, 2, 3, 9])
    '0–3, 9'
    >>> in_ranges([0, 4, 8, 12, 17, 20, 24, 28])
    '0–12 by 4, 17, 20–28 by 4'
    >>> in_ranges([1, 10, 2, 30, 31], most=2)
    '1, 2 and 3 more'
    """
    ordered = sorted(set(groups))
    pieces: list[str] = []
    told = 0
    for piece, count in _pieces(ordered):
        if len(pieces) == most:
            return f"{', '.join(pieces)} and {len(ordered) - told:,} more"
        pieces.append(piece)
        told += count
    return ", ".join(pieces)


def _pieces(ordered: list[int]) -> Iterator[tuple[str, int]]:
    """Yield runs of numbers that are equally far apart, and how many numbers each has."""
    first = 0
    while first < len(ordered):
        last = first + 1
        step = ordered[last] - ordered[first] if last < len(ordered) else 1
        while last < len(ordered) and ordered[last] - ordered[last - 1] == step:
            last += 1
        if last - first < _SHORTEST_RUN:
            last = first + 1
            yield str(ordered[first]), 1
        else:
            run = f"{ordered[first]}–{ordered[last - 1]}"
            yield run if step == 1 else f"{run} by {step}", last - first
        first = last
