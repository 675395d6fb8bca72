"""The file by which another process asks something of a running query: JSON beside its journal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path

from penstock.elasticity.control import Control
from penstock.errors import ConfigurationError
from penstock.journal.codec import decode
from penstock.regular_files import read_regular

FILE_NAME = "control.json"
SCHEMA_VERSION = 1
MOST_BYTES = 4_096
MOST_LETTERS = 200
_SHORT_LETTERS = 60
MOST_EARLIER = 8
_ASKED = ("paused", "min_slots", "max_slots", "forced_slots", "by", "at")
_FIELDS = ("v", *_ASKED)
_EARLIER = "earlier"


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
    written aside and renamed, so that a query never meets half of it. What was asked just before
    stays in it for a while: a query that had no time to look journals that, too.

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
    with _one_at_a_time(directory):
        document = {"v": SCHEMA_VERSION, **asdict(control), "by": said, "at": clock()}
        _write(directory, _within_bound(document, _asked_before(directory)))


@contextlib.contextmanager
def _one_at_a_time(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # this file system has no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _asked_before(directory: Path) -> list[dict[str, object]]:
    try:
        asked = _all_parsed(_content(directory / FILE_NAME))
    except (OSError, ValueError, ConfigurationError):
        return []
    return [
        {**asdict(each.control), "by": each.by[:_SHORT_LETTERS], "at": each.at_seconds}
        for each in asked[-MOST_EARLIER:]
    ]


def _within_bound(document: Mapping[str, object], earlier: list[dict[str, object]]) -> str:
    """Return the file's content; what was asked long before gives way where names are long."""
    content = json.dumps({**document, _EARLIER: earlier}, allow_nan=False)
    if len(content) <= MOST_BYTES or not earlier:
        return content
    return _within_bound(document, earlier[1:])


def _write(directory: Path, content: str) -> None:
    descriptor, aside = tempfile.mkstemp(prefix=".control-", dir=directory)
    try:
        # A query may run as another user than whoever asks, and there is nothing secret in it.
        os.fchmod(descriptor, 0o644)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(aside, directory / FILE_NAME)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def read_control(journal_dir: str | Path) -> AskedControl | None:
    """Return what is asked of the query whose journal is in a directory; None where nothing is.

    A file that is no control is a ConfigurationError that says what is wrong with it.
    """
    asked = _all_asked(Path(journal_dir))
    return asked[-1] if asked else None


def _all_asked(directory: Path) -> tuple[AskedControl, ...]:
    """Return what is asked for, last, after what was asked just before."""
    path = directory / FILE_NAME
    try:
        return _all_parsed(_content(path))
    except FileNotFoundError:
        return ()
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
        self._last: AskedControl | None = None

    def news(self) -> tuple[AskedControl, ...]:
        """Return what was asked for since the last look, the last of which holds; often nothing.

        The first look finds what holds alone. A file that was deleted asks for nothing. One that is
        broken is a ConfigurationError, once.
        """
        found = self._identity()
        if found == self._known:
            return ()
        self._known = found
        asked = _all_asked(self._directory) or (NOTHING_ASKED,)
        last, self._last = self._last, asked[-1]
        if last is None:
            return asked[-1:]
        news = [each for each in asked[:-1] if each.at_seconds > last.at_seconds]
        return (*news, asked[-1])

    def _identity(self) -> tuple[int, ...] | None:
        try:
            seen = os.stat(self._directory / FILE_NAME, follow_symlinks=False)
        except OSError:
            return None
        return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size


def _content(path: Path) -> bytes:
    # A pipe in its place must not keep a query waiting, nor a link lead it elsewhere.
    return read_regular(path, MOST_BYTES, follow_links=False)


def _all_parsed(content: bytes) -> tuple[AskedControl, ...]:
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
    earlier = raw.pop(_EARLIER, [])
    if not isinstance(earlier, list):
        raise ValueError(f"'{_EARLIER}' is not a list")
    return (*(_parsed(each, _ASKED) for each in earlier), _parsed(raw, _FIELDS))


def _parsed(raw: object, fields: tuple[str, ...]) -> AskedControl:
    if not isinstance(raw, dict):
        raise ValueError("what was asked is not a JSON object")
    if set(raw) != set(fields):
        odd = sorted(set(raw) ^ set(fields))[0]
        raise ValueError(f"'{odd:.40}' is {'unknown' if odd in raw else 'missing'}")
    control: Control = decode(Control, raw)
    by: str = decode(str, raw["by"])
    if len(by) > MOST_LETTERS:
        raise ValueError(f"'by' is longer than {MOST_LETTERS} letters")
    at_seconds: float = decode(float, raw["at"])
    if not isfinite(at_seconds):
        raise ValueError(f"'at' is {raw['at']!r}, which is no time")
    return AskedControl(control, by, at_seconds)
