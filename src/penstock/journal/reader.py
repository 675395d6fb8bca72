"""Reads journals: whole ones, and those that are still being written."""

from __future__ import annotations

import errno
import math
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from penstock.arguments import check_wait, checked, shown, shown_path
from penstock.errors import ConfigurationError
from penstock.journal.events import CorruptLine
from penstock.journal.lines import Event, from_json
from penstock.journal.location import refuse_impossible, why_unread
from penstock.journal.segments import segment_numbers, segment_path

_CHUNK_BYTES = 256 * 1024
_MOST_LINE_BYTES = 64 * 1024 * 1024
_TELL_EVERY_LINES = 1_000


class Cursor(NamedTuple):
    """A place between two lines of a journal: ``line`` lines of ``segment``, ``offset`` bytes."""

    segment: int = 0
    offset: int = 0
    line: int = 0


class RawLine(NamedTuple):
    """One line of a journal as it stands in its file, with its end unless it was cut off."""

    path: Path
    number: int
    text: bytes

    def event(self) -> Event:
        """Read the line; one that is no event gives a :class:`CorruptLine`."""
        return _event(self.text, self.path, self.number)


class LineFollower:
    """Hands out each line of a growing journal once, in order, for readers that decode their own.

    ``cursor`` is the place after the last line handed out; a follower made with it goes on from
    there. Segments deleted before they were read are passed over. A journal that was deleted and
    begun anew is read from its start, and ``times_begun_anew`` counts how often that was so.
    """

    def __init__(self, directory: str | Path, cursor: Cursor | None = None) -> None:
        self.directory = Path(directory)
        self._segment, self._offset, self._line = cursor or Cursor()
        self.times_begun_anew = 0
        self._file: FileIO | None = None

    @property
    def cursor(self) -> Cursor:
        """The place after the last line handed out."""
        return Cursor(self._segment, self._offset, self._line)

    def poll_lines(self) -> Iterator[RawLine]:
        """Hand out what is new by now; half a line at the very end waits for its other half."""
        while True:
            self._begin_anew_if_replaced()
            # Looked up before reading on: a segment gets no more lines once there is a next one.
            following = self._following_segment()
            yield from self._rest_of_segment(is_finished=following is not None)
            if following is None:
                return
            self.close()
            self._segment, self._offset, self._line = Cursor(segment=following)

    def close(self) -> None:
        """Close the open segment; polling again opens it again."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _following_segment(self) -> int | None:
        return next((n for n in self._numbers() if n > self._segment), None)

    def _numbers(self) -> list[int]:
        try:
            return segment_numbers(self.directory)
        except NotADirectoryError:  # a file is in the way, which may go as a directory may come
            return []

    def _begin_anew_if_replaced(self) -> None:
        numbers = self._numbers()
        if self._file is None and self._segment in numbers:
            self._file = _open(segment_path(self.directory, self._segment))
            replaced = self._file is not None and not _ends_line(self._file, self._offset)
        elif self._file is not None and self._segment in numbers:
            replaced = self._is_cut() or _is_replaced(
                self._file, segment_path(self.directory, self._segment)
            )
        else:
            # Writers never delete their newest segment, so these are another journal's.
            replaced = bool(numbers) and numbers[-1] < self._segment
        if replaced:
            self.close()
            self._segment, self._offset, self._line = Cursor()
            self.times_begun_anew += 1

    def _is_cut(self) -> bool:
        """Say whether lines were taken back that had been handed out: no writer does that."""
        return self._file is not None and os.fstat(self._file.fileno()).st_size < self._offset

    def _rest_of_segment(self, is_finished: bool) -> Iterator[RawLine]:
        if self._file is None:
            return
        path = segment_path(self.directory, self._segment)
        for text in _lines_from(self._file, self._offset, also_half=is_finished):
            self._offset += len(text)
            self._line += 1
            yield RawLine(path, self._line, text)


@checked
class Follower(LineFollower):
    """Hands out each event of a growing journal once, in order.

    ``cursor`` is the place after the last event handed out; a Follower made with it goes on from
    there. Segments deleted before they were read are passed over, which shows as a gap in ``seq``.
    A journal that was deleted and begun anew is read from its start.

    >>> import tempfile
    >>> from penstock.journal import BatchSkipped, JournalWriter
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with JournalWriter(directory, clock=lambda: 0.0) as journal, Follower(directory) as new:
    ...         journal.write(BatchSkipped(1))
    ...         _ = journal.flush()
    ...         before = [event.seq for event in new.poll()]
    ...         journal.write(BatchSkipped(2))
    ...         _ = journal.flush()
    ...         before, [event.seq for event in new.poll()]
    ([1], [2])
    """

    def __init__(self, directory: str | Path, cursor: Cursor | None = None) -> None:
        refuse_impossible(Path(directory))
        if not all(type(number) is int and number >= 0 for number in cursor or ()):
            raise ConfigurationError(
                f"journal: {shown(cursor)} is no place in a journal. Give the cursor of a Follower."
            )
        super().__init__(directory, cursor)

    def poll(self) -> Iterator[Event]:
        """Hand out what is new by now; half a line at the very end waits for its other half."""
        return (line.event() for line in self.poll_lines())

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@checked
def read(path: str | Path, on_read: Callable[[float], object] | None = None) -> Iterator[Event]:
    """Read a journal, or one of its files, from its start to what is written by now.

    A line that can't be read comes as a ``CorruptLine`` and reading goes on; half a line at the
    very end is left out, because its writer may still be at it. ``on_read`` is told now and then
    which share of the journal has been read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            return _read_directory(path, on_read)
        if path.is_file():
            return _read_file(path, on_read)
        what = f"there is nothing at {shown_path(path)}"
    except (OSError, ValueError) as error:
        what = why_unread(path, error)
    raise ConfigurationError(f"journal: {what}. Name a journal's directory.")


@checked
def follow(
    directory: str | Path,
    poll_seconds: float = 0.5,
    stop: Callable[[], bool] = lambda: False,
    *,
    sleep: Callable[[float], object] = time.sleep,
    cursor: Cursor | None = None,
) -> Iterator[Event]:
    """Hand out a journal's events as they come, from ``cursor`` on, until ``stop()`` is true.

    What was written before ``stop`` turned true is still handed out. The directory need not exist
    yet. To keep the cursor and go on later, poll a :class:`Follower` instead.
    """
    check_wait("follow", "poll_seconds", poll_seconds)
    return _followed(Follower(directory, cursor), poll_seconds, stop, sleep)


def _followed(
    follower: Follower,
    poll_seconds: float,
    stop: Callable[[], bool],
    sleep: Callable[[float], object],
) -> Iterator[Event]:
    with follower:
        while True:
            is_last = stop()
            yield from follower.poll()
            if is_last:
                return
            sleep(poll_seconds)


def _read_directory(
    directory: Path, on_read: Callable[[float], object] | None = None
) -> Iterator[Event]:
    with Follower(directory) as follower:
        if on_read is None:
            yield from follower.poll()
            return
        before = _bytes_before(directory)
        total = max(1, *before.values()) if before else 1
        for number, event in enumerate(follower.poll()):
            if number % _TELL_EVERY_LINES == 0:
                cursor = follower.cursor
                on_read(min(1.0, (before.get(cursor.segment, 0) + cursor.offset) / total))
            yield event


def _bytes_before(directory: Path) -> dict[int, int]:
    """Return, by segment, the bytes of those before it; the one after the last has all."""
    before, total = {}, 0
    for number in segment_numbers(directory):
        before[number] = total
        with suppress(FileNotFoundError):  # its writer may just have deleted it as too old
            total += segment_path(directory, number).stat().st_size
        before[number + 1] = total
    return before


def _read_file(path: Path, on_read: Callable[[float], object] | None = None) -> Iterator[Event]:
    size, seen = max(1, path.stat().st_size), 0
    for line in raw_lines(path):
        seen += len(line.text)
        if on_read is not None and line.number % _TELL_EVERY_LINES == 0:
            on_read(min(1.0, seen / size))
        yield line.event()


def raw_lines(path: Path) -> Iterator[RawLine]:
    """Hand out the whole lines of one file of a journal, undecoded."""
    with FileIO(path) as file:
        for line, text in enumerate(_lines_from(file, 0, also_half=False), start=1):
            yield RawLine(path, line, text)


def _event(text: bytes, path: Path, line: int) -> Event:
    if not text.endswith(b"\n"):
        reason = "it was cut off"
    else:
        try:
            return from_json(text[:-1], where=f"{path} line {line}")
        except ValueError as error:
            reason = str(error)
    start = text[:200].decode(errors="replace").rstrip("\n")
    return Event(0, math.nan, CorruptLine(str(path), line, reason, start))


def _lines_from(file: FileIO, offset: int, also_half: bool) -> Iterator[bytes]:
    """Give the whole lines after ``offset`` and, if ``also_half``, what stands after the last.

    Nothing of half a line is kept between calls: a writer on a full disk takes half lines back.
    What has no end within 64 MB is no line of a journal, and is given in pieces.
    """
    size = _CHUNK_BYTES
    while data := os.pread(file.fileno(), size, offset):
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) == size:
            if size < _MOST_LINE_BYTES:
                size *= 2
            else:
                yield data
                offset += size
            continue
        if end == 0:
            if also_half:
                yield data
            return
        yield from _whole_lines(data[:end])
        offset += end


def _whole_lines(data: bytes) -> Iterable[bytes]:
    """Part at line feeds alone: other ends of lines are there only in corrupt ones."""
    if b"\r" in data:
        return (line + b"\n" for line in data[:-1].split(b"\n"))
    return data.splitlines(keepends=True)


def _open(path: Path) -> FileIO | None:
    """Open a segment; None where there is none, or what has its name is no file and might block."""
    try:
        file = FileIO(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    except (FileNotFoundError, IsADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link that leads round in a circle
            return None
        raise
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    return None


def _is_replaced(file: FileIO, path: Path) -> bool:
    # The file is held open, so its inode can't have been given to another one meanwhile.
    try:
        return not os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        # Its writer has just deleted it as too old; what it held can still be read.
        return False


def _ends_line(file: FileIO, offset: int) -> bool:
    return offset == 0 or os.pread(file.fileno(), 1, offset - 1) == b"\n"
