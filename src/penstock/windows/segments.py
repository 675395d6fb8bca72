"""Segments: what the pane store holds, and which part of it a plan reads.

A **run** (``is_delta``) holds partials per pane of the batches ``since`` to ``through`` and of no
others: what one batch wrote, or several runs that were compacted into one. Its panes lie within
[first, end); some may be absent. Any other segment holds **entries** of ``width`` panes at
``first``, ``first + width``, ... below ``end``; each is complete up to a batch: it holds all rows
of the batches up to ``through`` that fall into its panes. An absent entry had no rows.

Two rules make every reading a merge of disjoint sets of rows:

- the batches of two runs never overlap, so a pane is the sum of all runs, and a run stays until no
  open window needs any of its panes;
- no run lies across the ``through`` of an entry, so an entry plus the later runs within its panes
  is the sum of all rows there, late ones included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.windows.whole_numbers import in_64_bits

DIRECTORY = "_penstock_segment"
"""The column that rows of the store have the number of their directory in, which names it, too."""
CROSSING = 0
"""The width under which a run stores, at a boundary, the rows that lie across it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A set of files in the pane store, written at once and dropped at once.

    >>> delta = Segment("7", 40, 43, width=1, through=7, is_delta=True, rows=9, bytes=400)
    >>> delta.oldest_batch, Segment.from_json(delta.to_json()) == delta
    (7, True)
    """

    name: str
    first: int
    end: int
    width: int
    through: int
    is_delta: bool
    rows: int
    bytes: int
    since: int | None = None

    def __post_init__(self) -> None:
        if self.end <= self.first or self.width < 1 or (self.end - self.first) % self.width:
            raise ValueError(f"segment {self.name!r} has no whole entries: {self}")
        if self.is_delta and (self.width != 1 or self.oldest_batch > self.through):
            raise ValueError(f"segment {self.name!r} is no run of batches: {self}")
        if not self.is_delta and self.since is not None:
            raise ValueError(f"segment {self.name!r} holds entries, which have no first batch")
        if self.rows < 0 or self.bytes < 0:
            raise ValueError(f"segment {self.name!r} has a negative size: {self}")

    @property
    def oldest_batch(self) -> int:
        """The first batch of a run."""
        return self.through if self.since is None else self.since

    @property
    def batches(self) -> int:
        """How many batches a run spans."""
        return self.through - self.oldest_batch + 1

    @property
    def entries(self) -> int:
        """How many entries, or panes, there may be."""
        return (self.end - self.first) // self.width

    def overlaps(self, first: int, end: int) -> bool:
        """Say whether any pane may lie in [first, end)."""
        return self.first < end and first < self.end

    def to_json(self) -> dict[str, Any]:
        """Return the segment as a commit record holds it."""
        return {
            "name": self.name,
            "first": self.first,
            "end": self.end,
            "width": self.width,
            "through": self.through,
            "is_delta": self.is_delta,
            "rows": self.rows,
            "bytes": self.bytes,
            "since": self.since,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Segment:
        """Read a segment back; a wrong record is a KeyError, a TypeError or a ValueError."""
        name, is_delta = record["name"], record["is_delta"]
        if not isinstance(name, str) or not isinstance(is_delta, bool):
            raise TypeError(f"a segment's name is text and is_delta true or false: {record!r}")
        # It becomes the name of a directory, and may not lead elsewhere.
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r:.80} is no name of a segment")
        in_64_bits(directory_of(name))
        numbers = {field: _whole(record, field) for field in _NUMBERS}
        since = None if record.get("since") is None else _whole(record, "since")
        return cls(name=name, is_delta=is_delta, since=since, **numbers)


_NAME = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,9})?")
_DIRECTORY = re.compile(rf"{DIRECTORY}=([0-9]+)")
_NUMBERS = ("first", "end", "width", "through", "rows", "bytes")


def directory_of(segment: str) -> int:
    """Return the number of the directory that a segment lies in, which others may share.

    >>> directory_of("12"), directory_of("13.2")
    (12, 13)
    """
    return int(segment.partition(".")[0])


def directory_name(number: int) -> str:
    """Name a directory of the store.

    >>> directory_name(13)
    '_penstock_segment=13'
    """
    return f"{DIRECTORY}={number}"


def directory_number(name: str) -> int | None:
    """Return the number of a directory; None for what is none of the store's.

    >>> directory_number("_penstock_segment=13"), directory_number("_temporary")
    (13, None)
    """
    found = _DIRECTORY.fullmatch(name)
    return None if found is None else int(found[1])


def _whole(record: Mapping[str, Any], field: str) -> int:
    number = record[field]
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"a segment's {field} is a whole number: {record!r}")
    return in_64_bits(number)


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a segment to read: its rows of this width at positions in [first, end).

    Width 1 reads panes, width ``CROSSING`` what lies across the boundary ``first``, any other
    width whole entries. With ``sign`` -1 the rows are to be taken away (see ``Ladder.inverse``).
    """

    segment: str
    first: int
    end: int
    width: int
    sign: int = 1


def joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Put pieces that touch into one, so that few ranges are read.

    >>> joined([Piece("b7", 4, 6, 1), Piece("b7", 2, 4, 1)])
    (Piece(segment='b7', first=2, end=6, width=1, sign=1),)
    """
    ordered = sorted(pieces, key=lambda p: (p.segment, p.width, p.sign, p.first))
    whole: list[Piece] = []
    for piece in ordered:
        last = whole[-1] if whole else None
        if last is not None and _touch(last, piece):
            whole[-1] = Piece(last.segment, last.first, piece.end, last.width, last.sign)
        else:
            whole.append(piece)
    return tuple(whole)


def _touch(left: Piece, right: Piece) -> bool:
    same = (left.segment, left.width, left.sign) == (right.segment, right.width, right.sign)
    return same and left.width != CROSSING and left.end == right.first
