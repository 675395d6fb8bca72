"""The file by which another process asks something of a running query: JSON beside its journal."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path

from penstock.elasticity.control import Control
from penstock.errors import ConfigurationError
from penstock.journal.codec import decode

FILE_NAME = "control.json"
SCHEMA_VERSION = 1
MOST_BYTES = 4_096
MOST_LETTERS = 200
_FIELDS = ("v", "paused", "min_slots", "max_slots", "forced_slots", "by", "at")


@dataclass(frozen=True, slots=True)
class AskedControl:
    """What is asked of a query, by whom, and when (seconds since the epoch)."""

    control: Control
    by: str
    at_seconds: float


NOTHING_ASKED = AskedControl(Control(), "somebody who deleted the file", 0.0)


def write_control(
    journal_dir: str | Path,
    control: Control,
    *,
    by: str,
    clock: Callable[[], float] = time.time,
) -> None:
    """Ask something of the query whose journal is in a directory; it is taken up within a second.

    ``by`` says who asks, for the journal. ``Control()`` gives the policy the say again. The file is
    written aside and renamed, so that a query never meets half of it.

    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_control(directory, Control(max_slots=4), by="the dashboard", clock=lambda: 12.5)
    ...     read_control(directory)
    AskedControl(control=Control(paused=False, min_slots=None, max_slots=4, forced_slots=None), \
by='the dashboard', at_seconds=12.5)
    """
    directory = Path(journal_dir)
    if not directory.is_dir():
        raise ConfigurationError(
            f"there is no journal in {directory}, so nobody would read what is asked for. Name the "
            "directory of a query's journal."
        )
    said = " ".join(by.split())[:MOST_LETTERS]
    document = {"v": SCHEMA_VERSION, **asdict(control), "by": said, "at": clock()}
    descriptor, aside = tempfile.mkstemp(prefix=".control-", dir=directory)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, allow_nan=False)
        os.replace(aside, directory / FILE_NAME)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def read_control(journal_dir: str | Path) -> AskedControl | None:
    """Return what is asked of the query whose journal is in a directory; None where nothing is.

    A file that is no control is a ConfigurationError that says what is wrong with it.
    """
    path = Path(journal_dir) / FILE_NAME
    try:
        return _parsed(_content(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, ConfigurationError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"{path} is no control: {why}. Write it with penstock's dashboard, or delete it."
        ) from None


class WatchedControl:
    """Looks at the control of one journal: one ``stat`` each time, a read where it is new."""

    def __init__(self, journal_dir: str | Path) -> None:
        self._directory = Path(journal_dir)
        self._known: tuple[int, ...] | None = None

    def news(self) -> AskedControl | None:
        """Return what is asked for if that is new since the last look; None if it is not.

        A file that was deleted asks for nothing. One that is broken is a ConfigurationError, once.
        """
        found = self._identity()
        if found == self._known:
            return None
        self._known = found
        return read_control(self._directory) or NOTHING_ASKED

    def _identity(self) -> tuple[int, ...] | None:
        try:
            seen = os.stat(self._directory / FILE_NAME, follow_symlinks=False)
        except OSError:
            return None
        return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size


def _content(path: Path) -> bytes:
    # A pipe in its place must not keep a query waiting, nor a link lead it elsewhere.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a file")
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is longer than {MOST_BYTES:,} bytes")
    return content


def _parsed(content: bytes) -> AskedControl:
    try:
        raw = json.loads(content.decode())
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(raw, dict):
        raise ValueError("it is not a JSON object")
    version = raw.get("v")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise ValueError(f"its version 'v' is {version!r:.40}, and this Penstock reads 1")
    if set(raw) != set(_FIELDS):
        odd = sorted(set(raw) ^ set(_FIELDS))[0]
        raise ValueError(f"'{odd:.40}' is {'unknown' if odd in raw else 'missing'}")
    control: Control = decode(Control, raw)
    by: str = decode(str, raw["by"])
    if len(by) > MOST_LETTERS:
        raise ValueError(f"'by' is longer than {MOST_LETTERS} letters")
    at_seconds: float = decode(float, raw["at"])
    if not isfinite(at_seconds):
        raise ValueError(f"'at' is {raw['at']!r}, which is no time")
    return AskedControl(control, by, at_seconds)
