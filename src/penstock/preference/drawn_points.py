"""The points of a window that are kept for drawing: few enough for a journal, from any task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 500
MOST_GROUPS = 8


@dataclass(frozen=True, slots=True)
class DrawnPoints:
    """Points of one group in one window, in the order of ``x``; there were ``rows`` of them.

    ``window`` tells windows apart, and which is the newest: the largest. ``key`` is the group as
    text, None where rows are not grouped. Moments are in seconds since 1970.
    """

    window: tuple[int, ...]
    key: str | None
    x: tuple[float, ...]
    y: tuple[float, ...]
    rows: int
    x_is_time: bool = False
    y_is_time: bool = False


def drawn(
    window: tuple[int, ...],
    key: str | None,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    most: int = MOST_POINTS,
) -> DrawnPoints:
    """Order points by ``x`` and leave some out where there are more than ``most``.

    Those that stay are evenly many apart, the first and the last among them.

    >>> few = drawn((0,), None, np.array([3.0, 1.0, 2.0]), np.array([0.0, 5.0, 1.0]), most=2)
    >>> few.x, few.y, few.rows
    ((1.0, 3.0), (5.0, 0.0), 3)
    """
    order = np.lexsort((y, x))
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).round().astype(np.int64)]
    return DrawnPoints(window, key, tuple(x[order].tolist()), tuple(y[order].tolist()), len(x))


def newest(found: Iterable[DrawnPoints], most_groups: int = MOST_GROUPS) -> tuple[DrawnPoints, ...]:
    """Keep the newest window alone, and of its groups the first few by name.

    They are the same groups from window to window, as long as they have rows, and the same whether
    all points are looked at together or each task's first.

    >>> old, new = (drawn((window,), "a", np.zeros(1), np.zeros(1)) for window in (3, 4))
    >>> newest([new, old]) == (new,)
    True
    """
    points = list(found)
    last = max((each.window for each in points), default=())
    groups = {each.key or "": each for each in points if each.window == last}
    return tuple(groups[key] for key in sorted(groups)[:most_groups])
