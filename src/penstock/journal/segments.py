"""The files of a journal: numbered segments, each with at most so many bytes.

A segment is finished once there is one with a higher number. Nothing here knows about threads.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from io import FileIO
from pathlib import Path

_NAME = re.compile(r"journal-(\d{8,})\.jsonl")
_NO_EVENT = (ValueError, TypeError, KeyError, RecursionError, OverflowError)


def segment_path(directory: Path, number: int) -> Path:
    """Name a segment's file.

    >>> segment_path(Path("runs"), 12).name
    'journal-00000012.jsonl'
    """
    return directory / f"journal-{number:08d}.jsonl"


def segment_numbers(directory: Path) -> list[int]:
    """List the segments there are, oldest first; none where the directory does not exist."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def last_seq(directory: Path) -> int:
    """Find the number of the last whole event in a journal; 0 where there is none."""
    for number in reversed(segment_numbers(directory)):
        path = segment_path(directory, number)
        if not path.is_file():  # somebody else's; reading it might even block
            continue
        for line in reversed(path.read_bytes().split(b"\n")[:-1]):
            with contextlib.suppress(*_NO_EVENT):
                return int(json.loads(line)["seq"])
    return 0


def open_for_append(path: Path) -> FileIO:
    """Open a segment so that every write goes straight to the file's end."""
    return FileIO(path, "a")


class SegmentAppender:
    """Appends whole lines to the newest segment, begins the next one, deletes the oldest.

    It never appends to a segment that another run left, because that may end in half a line.
    """

    def __init__(
        self,
        directory: Path,
        segment_bytes: int,
        max_segments: int,
        opener: Callable[[Path], FileIO] = open_for_append,
    ) -> None:
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._max_segments = max_segments
        self._opener = opener
        self._number = 0
        self._file: FileIO | None = None
        self._whole_bytes = 0

    @property
    def number(self) -> int:
        """The number of the segment that was last written to; 0 before the first line."""
        return self._number

    def append(self, line: bytes) -> None:
        """Write one line whole, or raise OSError and leave no part of it for a reader to see."""
        if self._file is not None and (self._is_full_for(line) or not self._is_in_place()):
            self.close()
        if self._file is None:
            self._open_next()
        file = self._file
        assert file is not None
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            self._take_back()
            raise
        self._whole_bytes += len(line)

    def close(self) -> None:
        """Close the open segment; a later ``append`` begins another."""
        file, self._file = self._file, None
        if file is not None:
            # Some file systems tell only here that earlier bytes were refused; it is too late.
            with contextlib.suppress(OSError):
                file.close()

    def _is_full_for(self, line: bytes) -> bool:
        return self._whole_bytes + len(line) > self._segment_bytes

    def _is_in_place(self) -> bool:
        # A file whose directory was deleted still takes bytes, which nobody will ever read.
        assert self._file is not None
        try:
            named = os.stat(segment_path(self._directory, self._number))
            return os.path.samestat(os.fstat(self._file.fileno()), named)
        except OSError:
            return False

    def _open_next(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        numbers = segment_numbers(self._directory)
        number = max([self._number, *numbers])
        # An empty segment is used again: a full disk often still gives out names, and each try
        # to write would otherwise leave one more and push out an old segment that has content.
        if number not in numbers or segment_path(self._directory, number).stat().st_size > 0:
            number += 1
        self._file = self._opener(segment_path(self._directory, number))
        self._number, self._whole_bytes = number, 0
        self._delete_oldest({*numbers, number})

    def _delete_oldest(self, numbers: set[int]) -> None:
        for number in sorted(numbers)[: -self._max_segments]:
            with contextlib.suppress(OSError):
                segment_path(self._directory, number).unlink()

    def _take_back(self) -> None:
        assert self._file is not None
        try:
            self._file.truncate(self._whole_bytes)
        except OSError:
            self.close()
