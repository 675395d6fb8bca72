"""Which files hold the state of an operator's keys, group by group, as a commit record names them.

A micro-batch writes the changes of a group's keys as one *piece*; now and then it writes a piece
that holds what several earlier ones hold, or all. A group's state is its pieces, the newest first,
down to one that holds all. Files have names of their own for every attempt of a task, and count
when a commit record names them, so no try can spoil what another wrote.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.windows.whole_numbers import in_64_bits

FULL = 9  # the level of pieces that hold all of a group's keys
FANOUT = 8
_LEAST = 3  # so few changes are not worth putting together
_FULL_SHARE = 0.5
# The last number is one of 64 bits, which has up to 20 digits.
_FILE_NAME = re.compile(r"[0-9]{12,18}-[0-9]{1,2}-[0-9]{1,20}\.arrow")
_MOST_DIGITS = 1 << 16  # groups of which one digit tells of four: far more than anybody has


@dataclass(frozen=True, slots=True)
class StateFile:
    """A file of pieces: that of ``groups[i]`` is at position ``i``, groups ascending.

    ``since`` says, for every piece, the first micro-batch whose changes it holds; 0 is all.
    ``checksum`` is that of its content, None in records of earlier versions.
    """

    name: str
    bytes: int
    groups: tuple[int, ...]
    since: tuple[int, ...]
    checksum: str | None = None

    @property
    def batch(self) -> int:
        """The micro-batch that wrote it."""
        return int(self.name.split("-")[0])

    @property
    def level(self) -> int:
        """How often its pieces were put together: 0 for changes, ``FULL`` for all keys."""
        return int(self.name.split("-")[1])

    def to_json(self) -> list[Any]:
        """Write it as plain JSON values; groups as the bits of a number."""
        bits = sum(1 << group for group in self.groups)
        batch = self.batch
        is_plain = all(since == batch for since in self.since)
        since = None if is_plain else list(self.since)
        return [self.name, self.bytes, f"{bits:x}", since, self.checksum]

    @classmethod
    def from_json(cls, document: Sequence[Any]) -> StateFile:
        """Read what ``to_json`` wrote; a wrong document is a TypeError or ValueError."""
        name, size, bits, since, *checksum = document
        # A name is joined to a directory, so a record may not lead to a file elsewhere with it.
        if not isinstance(name, str) or _FILE_NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r:.80} is no name of a state file")
        if not isinstance(bits, str) or len(bits) > _MOST_DIGITS:
            raise ValueError(f"the groups of {name} are {bits!r:.80}")
        groups = _groups_of(int(bits, 16))
        file = cls(name, in_64_bits(int(size)), groups, ())
        first = (file.batch,) * len(groups) if since is None else tuple(int(s) for s in since)
        if len(first) != len(groups):
            raise ValueError(f"{name} has {len(groups)} groups and {len(first)} starts")
        return cls(name, int(size), groups, first, checksum[0] if checksum else None)


@dataclass(frozen=True, slots=True)
class PieceAt:
    """Where a piece is: a position in a file."""

    file: str
    position: int
    batch: int
    since: int
    level: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one operator's state, as of one micro-batch, oldest first."""

    files: tuple[StateFile, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of the files."""
        return frozenset(file.name for file in self.files)

    @property
    def bytes(self) -> int:
        """The length of all files."""
        return sum(file.bytes for file in self.files)

    def after(self, written: Iterable[StateFile]) -> Manifest:
        """Add the files that a micro-batch wrote; leave out those that no group needs any more."""
        files = sorted((*self.files, *written), key=lambda file: (file.batch, file.name))
        covered: dict[int, int] = {}
        live = []
        for file in reversed(files):
            if _claim(file, covered, None):
                live.append(file)
        return Manifest(tuple(reversed(live)))

    def pieces(self, groups: Collection[int]) -> dict[int, list[PieceAt]]:
        """Return the pieces of some groups, the newest first."""
        wanted = set(groups)
        covered: dict[int, int] = {}
        found: dict[int, list[PieceAt]] = {group: [] for group in groups}
        for file in reversed(self.files):
            for position in _claim(file, covered, wanted):
                piece = PieceAt(file.name, position, file.batch, file.since[position], file.level)
                found[file.groups[position]].append(piece)
        return found

    def to_json(self) -> list[Any]:
        """Write it as plain JSON values."""
        return [file.to_json() for file in self.files]

    @classmethod
    def from_json(cls, document: Sequence[Any]) -> Manifest:
        """Read what ``to_json`` wrote; a wrong document is a TypeError or ValueError."""
        return cls(tuple(StateFile.from_json(each) for each in document))


def file_name(batch: int, level: int, attempt: int) -> str:
    """Name the file that one attempt of a task writes for pieces of one level.

    >>> file_name(12, 0, 345)
    '000000000012-0-345.arrow'
    """
    return f"{batch:012d}-{level}-{attempt}.arrow"


def to_merge(batch: int, group: int, new_rows: int, pieces: Sequence[tuple[int, int]]) -> int:
    """Say how many of a group's newest pieces to put together with the changes of a batch.

    ``pieces`` are level and rows, the newest first. Changes are put together every few batches,
    what came out of that again, and all of it with the full piece when there is half as much: so
    a key is written again a few times, and found among few pieces. Groups take turns.
    """
    changes = _run(pieces, 0)
    is_turn = (batch + group) % FANOUT == 0 and changes >= _LEAST
    if not (is_turn or changes >= 2 * FANOUT):
        return 0
    above = [rows for level, rows in pieces if level != FULL]
    full = sum(rows for level, rows in pieces if level == FULL)
    if new_rows + sum(above) >= _FULL_SHARE * full:
        return len(pieces)
    depth, level = changes, 1
    while (same := _run(pieces[depth:], level)) >= FANOUT - 1:
        depth += same
        level += 1
    return depth


def _run(pieces: Sequence[tuple[int, int]], level: int) -> int:
    count = 0
    while count < len(pieces) and pieces[count][0] == level:
        count += 1
    return count


def _claim(file: StateFile, covered: dict[int, int], wanted: set[int] | None) -> list[int]:
    """Return the positions of a file's pieces that no newer piece covers; mark what they cover."""
    batch = file.batch
    positions = []
    for position, group in enumerate(file.groups):
        if wanted is not None and group not in wanted:
            continue
        if batch < covered.get(group, batch + 1):
            positions.append(position)
            covered[group] = file.since[position]
    return positions


def _groups_of(bits: int) -> tuple[int, ...]:
    groups = []
    while bits:
        lowest = bits & -bits
        groups.append(lowest.bit_length() - 1)
        bits ^= lowest
    return tuple(groups)
