"""What dominance means, in plain Python: slow, and short enough to be believed."""

from __future__ import annotations

from collections.abc import Sequence

Point = Sequence[float]


def dominates(one: Point, other: Point) -> bool:
    """Whether one is at least as good (small) everywhere and better somewhere."""
    pairs = list(zip(one, other, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def skyline(points: Sequence[Point]) -> list[int]:
    return [
        place
        for place, point in enumerate(points)
        if not any(dominates(other, point) for other in points)
    ]


def dominance_counts(points: Sequence[Point], of: Sequence[int]) -> list[int]:
    return [sum(dominates(points[place], other) for other in points) for place in of]
