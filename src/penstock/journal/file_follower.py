"""Follows one file of a journal, where somebody has only that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from penstock.journal.lines import Event
from penstock.journal.reader import Cursor, Follower, RawLine


class FileFollower:
    r"""Hands out each event of one growing file once, in order; half a line waits for the rest.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     follower = FileFollower(Path(file.name))
    ...     _ = file.write('{"v":1,"seq":1,"at":0.0,"kind":"BatchSkipped","batch_id":3}\n{"v"')
    ...     file.flush()
    ...     [event.seq for event in follower.poll()], [event.seq for event in follower.poll()]
    ([1], [])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cursor = Cursor()
        self.times_begun_anew = 0

    def poll(self) -> Iterator[Event]:
        """Hand out what is new by now."""
        return (line.event() for line in self.poll_lines())

    def poll_lines(self) -> Iterator[RawLine]:
        """Hand out what is new by now, undecoded; a file that became shorter is another one."""
        with self.path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self.cursor.offset:
                self.cursor = Cursor()
                self.times_begun_anew += 1
            file.seek(self.cursor.offset)
            for text in file:
                if not text.endswith(b"\n"):
                    return
                number = self.cursor.line + 1
                self.cursor = Cursor(0, self.cursor.offset + len(text), number)
                yield RawLine(self.path, number, text)

    def close(self) -> None:
        """Do nothing: no file stays open between two polls."""


def follower_of(journal: Path) -> Follower | FileFollower:
    """Return what follows a journal that ``journal_of`` found: a directory or one file."""
    return FileFollower(journal) if journal.is_file() else Follower(journal)
