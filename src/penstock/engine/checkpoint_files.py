"""How what a checkpoint holds is read: through Spark, or from this machine's disk without it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Protocol

from penstock.regular_files import read_text


class CheckpointFiles(Protocol):
    """What looks at the files of a checkpoint and changes none."""

    def read(self, path: str) -> str | None:
        """Read a text file whole, or None if there is no such file."""

    def list(self, path: str) -> list[str]:
        """Names of what is inside a directory, sorted; empty if it is missing."""

    def lengths(self, path: str) -> dict[str, int]:
        """Return the length of every file inside a directory by name; none if it is missing."""


class LocalFiles:
    """The files of this machine's disk, as plain paths, where there is no Spark to ask."""

    def read(self, path: str) -> str | None:
        """Read a text file whole, or None if there is no such file."""
        return read_text(path)

    def list(self, path: str) -> list[str]:
        """Names of what is inside a directory, sorted; empty if it is missing."""
        try:
            return sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def lengths(self, path: str) -> dict[str, int]:
        """Return the length of every file inside a directory by name; none if it is missing."""
        if not os.path.isdir(path):
            return {}
        found = {}
        for name in os.listdir(path):
            with suppress(FileNotFoundError):  # a query that runs has deleted it
                state = os.stat(os.path.join(path, name))
                if not stat.S_ISDIR(state.st_mode):
                    found[name] = state.st_size
        return found
