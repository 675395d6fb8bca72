"""The directory that the demo writes to: its own earlier output is replaced, nobody else's."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from penstock.errors import ConfigurationError

MARK = "_penstock_demo"
OWN = (
    *("readings", "windows", "peaks", "late", "alarms", "unread"),
    *("checkpoint", "spark.log", "skyline.png"),
)


@contextlib.contextmanager
def claim(directory: Path, *, keep: bool = False) -> Iterator[Path]:
    """Hand out an empty directory of the demo's own, and hold it against a second demo.

    With ``keep`` earlier output stays, and the next free name is taken: ``out-2`` after ``out``.
    """
    directory = directory.absolute()
    if keep:
        directory = next(path for path in _names(directory) if not path.exists())
    _refuse_foreign(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        mark = (directory / MARK).open("a")
    except OSError as error:
        raise ConfigurationError(
            f"the demo can't write to {directory}: {error.strerror}. Name another place with --out."
        ) from error
    with mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigurationError(
                f"another demo is writing to {directory}. Name another place with --out."
            ) from None
        _remove_own(directory)
        yield directory


def _names(directory: Path) -> Iterator[Path]:
    yield directory
    for number in count(2):
        yield directory.with_name(f"{directory.name}-{number}")


def _refuse_foreign(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise ConfigurationError(f"{directory} is a file. Name a directory with --out.")
    if not directory.is_dir() or (directory / MARK).is_file():
        return
    there = next(iter(sorted(directory.iterdir())), None)
    if there is not None:
        raise ConfigurationError(
            f"{directory} holds files that the demo did not write, such as {there.name}. "
            "Name an empty or new directory with --out."
        )


def _remove_own(directory: Path) -> None:
    # Only by name: somebody may have put files of their own beside ours.
    for name in OWN:
        path = directory / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
