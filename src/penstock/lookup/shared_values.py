"""Values that the Python workers of one executor share, in a file beside those of its shuffles."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from penstock.lookup.plain_text import NotPlain, as_text, of_text

_WAIT_SECONDS = 1.0
Found = dict[Hashable, tuple[Any, float]]
"""Values by key, each with the time at which it was loaded."""


def executor_directory() -> Path | None:
    """Return where this executor keeps temporary files; None but in a Python worker of Spark.

    Spark makes it when an executor starts, takes it away when it ends, and names it to workers.
    """
    first = Path(os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0])
    return first if first.name.startswith("blockmgr-") and first.is_dir() else None


class SharedValues:
    """Values of the last so many loads of a key, in a SQLite file.

    Only a second place to look: where the file can't be read or written, nothing is found and
    nothing is kept, and this process does not try again. Values that text does not tell exactly
    are not kept either.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as where:
    ...     one, other = (SharedValues(Path(where) / "kept", 2, None, lambda: 7.0) for _ in "12")
    ...     one.put_many({"a": 1, "b": None})
    ...     other.get_many(["a", "b", "c"])
    {'a': (1, 7.0), 'b': (None, 7.0)}
    """

    def __init__(
        self,
        path: Path,
        max_entries: int,
        ttl_seconds: float | None,
        clock: Callable[[], float],
    ) -> None:
        self._max_entries = max_entries
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._database: sqlite3.Connection | None
        try:
            self._database = _opened(path)
        except (OSError, sqlite3.Error):
            self._database = None

    def get_many(self, keys: Iterable[Hashable]) -> Found:
        """Return the values that are there for keys, and are not too old."""
        by_text = {text: key for key in keys if (text := _text(key)) is not None}
        oldest = float("-inf") if self._ttl_seconds is None else self._clock() - self._ttl_seconds
        asked = json.dumps(list(by_text))
        rows = self._run(
            "SELECT key, value, at FROM kept WHERE key IN (SELECT value FROM json_each(?))"
            " AND at > ?",
            [(asked, oldest)],
        )
        return {by_text[key]: (of_text(value), at) for key, value, at in rows}

    def put_many(self, values: Mapping[Hashable, Any]) -> None:
        """Keep values as of now."""
        now = self._clock()
        texts = [(_text(key), _text(value), now) for key, value in values.items()]
        plain = [row for row in texts if None not in row]
        if plain:
            # A row that is replaced gets a new number, so numbers count loads.
            self._run("INSERT OR REPLACE INTO kept (key, value, at) VALUES (?, ?, ?)", plain)
            oldest = "(SELECT max(number) FROM kept) - ?"
            self._run(f"DELETE FROM kept WHERE number <= {oldest}", [(self._max_entries,)])

    def _run(self, statement: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        if self._database is None:
            return []
        try:
            with self._database:
                if len(rows) == 1:
                    return self._database.execute(statement, rows[0]).fetchall()
                self._database.executemany(statement, rows)
        except sqlite3.Error:
            self._database.close()
            self._database = None
        return []


def _opened(path: Path) -> sqlite3.Connection:
    """Open the file, made whole before others see it: workers begin at the same time."""
    if not path.exists():
        _make(path)
    # Tasks of a worker may run in several threads; who uses this holds a lock.
    database = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)
    # A worker that is killed while it writes does no harm; a machine that fails loses the file.
    database.execute("PRAGMA synchronous = OFF")
    return database


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
        os.unlink(aside)


def _text(value: Any) -> str | None:
    try:
        return as_text(value)
    except (NotPlain, RecursionError, ValueError):
        return None
