"""Which disk is full, for the person who has to free some space."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from penstock.engine.state_files import local_path
from penstock.errors import QueryError

_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_NAMED = re.compile(r"(/[^\s:'\"()]+) \((?:No space left on device|Disk quota exceeded)")
_LITTLE_BYTES = 4 << 20
_LITTLE_SHARE = 0.001


def full_disk(text: str, places: Iterable[str]) -> QueryError | None:
    """Return the error for a report that a disk is full, None for any other report.

    ``places`` are where the query writes; those on a disk with next to nothing left are named.
    """
    if not _FULL.search(text):
        return None
    named = _NAMED.findall(text)[:1]
    full = named or [path for path in map(local_path, places) if path and _is_full(path)]
    where = " and ".join(f"'{path}'" for path in full) or "the query writes to, or of Spark itself"
    return QueryError(
        f"there is no space left on the disk of {where}. Nothing of the micro-batch that ran was "
        "committed. Free some space, then start the query again with the same checkpoint: it goes "
        "on where it stopped.",
        text,
    )


def _is_full(path: str) -> bool:
    while not os.path.exists(path):
        path = os.path.dirname(path) or "/"
    disk = os.statvfs(path)
    free = disk.f_bavail * disk.f_frsize
    return free < _LITTLE_BYTES or free < _LITTLE_SHARE * disk.f_blocks * disk.f_frsize
