"""What a micro-batch costs whatever its rows, learnt from batches of different sizes."""

from __future__ import annotations

from math import isfinite
from typing import Any

_TELLING = 0.8  # of the larger of two batches: a smaller one than that tells fixed costs apart
_VOTES = 3


class BatchCost:
    """The fixed cost of a batch: the height, at no rows, of a line through two batches in a row.

    Batches of nearly one size tell nothing of it, nor do two of which the larger was the quicker:
    then rows have changed their cost. It is the lowest that the last three telling pairs gave, and
    0 before: one slow batch makes no fixed cost.

    >>> cost = BatchCost()
    >>> for rows in (100, 1_000, 100, 1_000):
    ...     cost.learn(rows, 0.5 + rows / 1_000)
    >>> round(cost.fixed_seconds, 3)
    0.5
    """

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._votes: list[float] = []

    @property
    def fixed_seconds(self) -> float:
        """What a batch costs with no row in it."""
        return min(self._votes) if len(self._votes) == _VOTES else 0.0

    def learn(self, rows: int, batch_seconds: float) -> None:
        """Take in one batch that had rows."""
        now = (float(rows), batch_seconds)
        small, large = sorted((self._last or now, now))
        self._last = now
        if small[0] < _TELLING * large[0] and small[1] <= large[1]:
            slope = (large[1] - small[1]) / (large[0] - small[0])
            self._votes = [*self._votes, max(0.0, small[1] - slope * small[0])][-_VOTES:]

    def save(self) -> dict[str, Any]:
        """Return what was learnt, in what JSON knows."""
        return {"last": self._last and list(self._last), "votes": list(self._votes)}

    @classmethod
    def load(cls, state: Any) -> BatchCost:
        """Take up what ``save`` returned; ValueError where it is something else."""
        cost = cls()
        try:
            last, votes = state["last"], [float(vote) for vote in state["votes"]]
            if last is not None:
                rows, seconds = last
                cost._last = (float(rows), float(seconds))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the cost of a batch is {state!r:.80} ({error!r})") from None
        if not all(isfinite(value) and value >= 0 for value in (*votes, *(cost._last or ()))):
            raise ValueError(f"the cost of a batch is {state!r:.80}")
        cost._votes = votes[-_VOTES:]
        return cost
