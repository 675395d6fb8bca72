"""How far a replay has been read: the offset that Spark keeps in the checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import CheckpointError

SOURCE_MARK = "penstock"


@dataclass(frozen=True, slots=True)
class ReplayOffset:
    """The rows before ``row`` have been read, of a replay whose clock started at ``origin_ms``.

    The origin is here so that a restart goes on with the same schedule: rows that came due while
    the query was down are waiting when it is back. ``rows_like`` tells rows of other traces, seeds
    or keys apart from these.
    """

    row: int
    origin_ms: int
    rows_like: str

    def as_dict(self) -> dict[str, Any]:
        """Give the offset as Spark stores it.

        >>> ReplayOffset(5, 1767225600000, "9d5e").as_dict()
        {'source': 'penstock', 'row': 5, 'origin_ms': 1767225600000, 'rows_like': '9d5e'}
        """
        return {
            "source": SOURCE_MARK,
            "row": self.row,
            "origin_ms": self.origin_ms,
            "rows_like": self.rows_like,
        }

    @classmethod
    def from_dict(cls, offset: Mapping[str, Any]) -> ReplayOffset:
        """Read an offset that Spark stored."""
        if offset.get("source") != SOURCE_MARK:
            raise CheckpointError(
                f"the checkpoint holds the offset {dict(offset)}, which is of another source; "
                "give this query a checkpoint of its own"
            )
        return cls(int(offset["row"]), int(offset["origin_ms"]), str(offset["rows_like"]))


def waiting_rows(
    end_offset: Mapping[str, Any] | str | None, latest_offset: Mapping[str, Any] | str | None
) -> int | None:
    """Count the rows that are due and not read yet, from the offsets of a query's progress.

    Both may be the JSON text that a progress holds. None where either is not of this source.

    >>> read = ReplayOffset(row=100, origin_ms=0, rows_like="").as_dict()
    >>> due = ReplayOffset(row=250, origin_ms=0, rows_like="").as_dict()
    >>> waiting_rows(read, due), waiting_rows({"0": 7}, {"0": 9}), waiting_rows(read, None)
    (150, None, None)
    """
    end_row, latest_row = _row_of(end_offset), _row_of(latest_offset)
    if end_row is None or latest_row is None:
        return None
    return max(0, latest_row - end_row)


def _row_of(offset: Mapping[str, Any] | str | None) -> int | None:
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return None
    if not isinstance(offset, Mapping) or offset.get("source") != SOURCE_MARK:
        return None
    return int(offset["row"])
