"""How far a replay has been read: the offset that Spark keeps in the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.elasticity.lag import SOURCE_MARK
from penstock.errors import CheckpointError

VERSION = 1
"""Of what is kept; an offset that names none is of version 1."""


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

        >>> ReplayOffset(5, 1767225600000, "f").as_dict()
        {'source': 'penstock', 'version': 1, 'row': 5, 'origin_ms': 1767225600000, 'rows_like': 'f'}
        """
        return {
            "source": SOURCE_MARK,
            "version": VERSION,
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
        version = offset.get("version", VERSION)
        if version != VERSION:
            raise CheckpointError(
                f"the checkpoint holds an offset of version {version!r}, and this Penstock reads "
                f"version {VERSION}. Run the query with the Penstock that wrote it, or a newer one"
            )
        return cls(int(offset["row"]), int(offset["origin_ms"]), str(offset["rows_like"]))
