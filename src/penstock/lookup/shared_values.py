"""Values that the Python workers of one executor share, in a file beside those of its shuffles."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Hashable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from penstock.lookup.plain_text import NotPlain, as_text, of_text

_WAIT_SECONDS = 1.0
_REST_SECONDS = 30.0
_UNUSED_SECONDS = 6 * 3600.0
_PREFIX = "penstock-lookup-"
_BUSY_OR_FULL = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL}
_NO_ROOM_FOR_LOCKS = sqlite3.SQLITE_IOERR_SHMSIZE
Found = tuple[Any, float]
"""A value, with the time at which it was loaded."""


_has_opened = _is_fork = False


def _note_fork() -> None:
    global _is_fork
    _is_fork = _has_opened


os.register_at_fork(after_in_child=_note_fork)


def executor_directory() -> Path | None:
    """Return where this executor keeps temporary files; None but in a Python worker of Spark.

    Spark makes it when an executor starts and names it to workers. None also where another user
    could put something there.
    """
    first = Path(os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0])
    try:
        found, above = first.stat(), first.parent.stat()
    except OSError:
        return None
    # What is above is what Spark keeps for itself, whatever mode new directories have.
    others_write = found.st_mode & 0o022 and above.st_mode & 0o077
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not others_write
    return first if is_own and first.name.startswith("blockmgr-") else None


def directory_of(executor: Path, lookup: str) -> Path:
    """Return what is for a lookup with an id in an executor's directory."""
    return executor / f"{_PREFIX}{lookup}"


class SharedValues:
    """Values of the last so many loads of a key, in a SQLite file in a directory of its own.

    Only a second place to look: where the file can't be read or written, nothing is found and
    nothing is kept. This process then does not try again, unless the file was only locked or its
    disk full; then it is not written, or not opened, for a while. Nor is it used in a process
    forked off one that uses such files, as SQLite can't be. Values that text does not tell exactly
    are not kept.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as where:
    ...     one, other = (SharedValues(Path(where) / "kept", 2, None, lambda: 7.0) for _ in "12")
    ...     one.put_many([("a", 1), ("b", None)], 7.0)
    ...     other.get_many(["a", "b", "c"])
    [(1, 7.0), (None, 7.0), None]
    """

    def __init__(
        self,
        directory: Path,
        max_entries: int,
        ttl_seconds: float | None,
        clock: Callable[[], float],
    ) -> None:
        self._max_entries = max_entries
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._directory = directory
        self._rests_until = 0.0
        self._database: sqlite3.Connection | None = None
        self._run(lambda _: None)

    def get_many(self, keys: Iterable[Hashable]) -> list[Found | None]:
        """Return what is there for each key, and is not too old."""
        if self._database is None and self._rests():
            return [None for _ in keys]
        texts = list(map(_text, keys))
        oldest = float("-inf") if self._ttl_seconds is None else self._clock() - self._ttl_seconds
        asked = json.dumps([text for text in texts if text is not None])
        rows = self._run(
            lambda database: database.execute(
                "SELECT key, value, at FROM kept WHERE key IN (SELECT value FROM json_each(?))"
                " AND at > ?",
                (asked, oldest),
            ).fetchall()
        )
        found: dict[str | None, Found] = {}
        for key, value, at in rows or []:
            with suppress(Exception):  # what this process can't read, it asks for itself
                found[key] = of_text(value), at
        return [found.get(text) for text in texts]

    def put_many(self, values: Iterable[tuple[Hashable, Any]], loaded_at: float) -> None:
        """Keep values as of when they were asked for, but for those that are newer already."""
        if self._rests():
            return
        texts = [(_text(key), _text(value)) for key, value in values]
        plain = [(key, value, loaded_at, key, loaded_at) for key, value in texts if key and value]
        if not plain:
            return

        def write(database: sqlite3.Connection) -> None:
            # A row that is replaced gets a new number, so numbers count loads.
            database.executemany(
                "INSERT OR REPLACE INTO kept (key, value, at) SELECT ?, ?, ?"
                " WHERE NOT EXISTS (SELECT 1 FROM kept WHERE key = ? AND at > ?)",
                plain,
            )
            oldest = "(SELECT max(number) FROM kept) - ?"
            database.execute(f"DELETE FROM kept WHERE number <= {oldest}", (self._max_entries,))

        self._run(write)

    def _run(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Do something in one transaction; return None where that can't be done."""
        try:
            if self._database is None:
                self._database = _opened(self._directory)
            with self._database:
                return work(self._database)
        except (OSError, sqlite3.Error, OverflowError) as error:
            if _is_busy_or_full(error):  # so that not every row waits for a lock
                self._rests_until = time.monotonic() + _REST_SECONDS
            elif getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_TOOBIG:
                self._end()
        return None

    def _rests(self) -> bool:
        return time.monotonic() < self._rests_until

    def _end(self) -> None:
        self._rests_until = float("inf")
        if self._database is not None:
            self._database.close()
            self._database = None


def _is_busy_or_full(error: Exception) -> bool:
    """Whether what was wrong may pass by itself."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOSPC
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in _BUSY_OR_FULL or code == _NO_ROOM_FOR_LOCKS


def _opened(directory: Path) -> sqlite3.Connection:
    """Open the file, made whole before others see it: workers begin at the same time."""
    global _has_opened
    if _is_fork:
        raise OSError("this process was forked off one that has such files open")
    path = directory / "kept.sqlite"
    if not os.path.lexists(path):
        _sweep(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
        _make(path)
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(f"{path} was put there by another")
    os.utime(path)
    # Tasks of a worker may run in several threads; who uses this holds a lock.
    # It is not made again, should somebody have swept it away by now.
    there = f"{path.absolute().as_uri()}?mode=rw"
    database = sqlite3.connect(there, timeout=_WAIT_SECONDS, check_same_thread=False, uri=True)
    _has_opened = True
    try:
        # A worker that is killed while it writes does no harm; a machine that fails loses the file.
        database.execute("PRAGMA synchronous = OFF")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _sweep(executor: Path) -> None:
    """Take away files of look-ups that are long over; where one goes on, it begins anew."""
    for each in executor.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            newest = max(file.stat().st_mtime for file in (each, *each.iterdir()))
            if newest < time.time() - _UNUSED_SECONDS:
                # At once for all who open it by its name; who has it open still has it.
                shutil.rmtree(each.rename(each.with_name(f"{_PREFIX}over-{os.getpid()}")))


def _make(path: Path) -> None:
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(sqlite3.connect(aside)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            columns = "number INTEGER PRIMARY KEY, key TEXT UNIQUE, value TEXT, at REAL"
            database.execute(f"CREATE TABLE kept ({columns})")
        with suppress(FileExistsError):  # another worker was faster
            os.link(aside, path)
    finally:
        for end in ("", "-wal", "-shm"):  # on a full disk SQLite leaves some
            aside.with_name(f"{aside.name}{end}").unlink(missing_ok=True)


def _text(value: Any) -> str | None:
    try:
        return as_text(value)
    except (NotPlain, RecursionError, ValueError):
        return None
