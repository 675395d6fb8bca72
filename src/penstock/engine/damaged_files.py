"""Files of the checkpoint that Spark could not read, found in what it reports."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.engine.documents import WAY_OUT
from penstock.errors import CheckpointError

_PART = (
    r"(?:file:(?://)?)?/[^\s'\"(),;]*?/(?:spark|panes|state|commits)/[^\s'\"(),;]*[^\s'\"(),;:.]"
)
_FILE = re.compile(_PART)
_TROUBLE = re.compile(
    r"Checksum error|log file|doesn't exist|does not exist|NOT_EXIST|NOT_FOUND|Unable to find|"
    r"FAILED_READ|CANNOT_READ|not a Parquet file|corrupt|malformed|Could not read",
    re.IGNORECASE,
)


def damaged_file(text: str, places: Iterable[str]) -> CheckpointError | None:
    """Return the error for a report of a file of the checkpoint, None for any other report.

    The first of the ``places`` is the checkpoint.
    """
    home = next(iter(places), "").removeprefix("file:").replace("//", "/")
    if not home or not _TROUBLE.search(text):
        return None
    for path in _FILE.findall(text):
        if path.removeprefix("file:").replace("//", "/").startswith(f"{home}/"):
            return CheckpointError(
                f"'{path}' is missing, cut short or damaged: Spark can't read it. {WAY_OUT}"
            )
    return None
