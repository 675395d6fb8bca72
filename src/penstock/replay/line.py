"""A line through points of which some are wild."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

_PARTS = 20
_EACH = 20
_ALIKE = 0.1


def median_slope(loads: Sequence[float], took: Sequence[float]) -> float | None:
    """Return the median of the slopes of all pairs (Theil, Sen); None where loads are too alike.

    A few wild points don't bend it. Of many points it takes a sample from all over the range.

    >>> median_slope([1, 2, 3, 4, 5], [3, 5, 7, 99, 11])
    2.0
    """
    points = _sample(sorted(zip(loads, took, strict=True)))
    least_apart = _ALIKE * points[-1][0]
    slopes = [
        (y2 - y1) / (x2 - x1)
        for number, (x1, y1) in enumerate(points)
        for x2, y2 in points[number + 1 :]
        if x2 - x1 > least_apart
    ]
    return median(slopes) if len(slopes) >= len(points) else None


def _sample(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Take points from all over the range of loads: where few batches were large, those count."""
    least, most = points[0][0], points[-1][0]
    width = (most - least) / _PARTS or 1.0
    parts: dict[int, list[tuple[float, float]]] = {}
    for point in points:
        parts.setdefault(int((point[0] - least) / width), []).append(point)
    return [point for part in parts.values() for point in part[:: -(-len(part) // _EACH)]]
