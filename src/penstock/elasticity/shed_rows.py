"""How many rows a micro-batch read and did not process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShedRows:
    """The rows of a micro-batch that were shed, by why.

    >>> ShedRows(too_old=3, too_many=4).rows
    7
    """

    too_old: int = 0
    too_many: int = 0

    @property
    def rows(self) -> int:
        """All of them."""
        return self.too_old + self.too_many


NO_ROWS_SHED = ShedRows()
