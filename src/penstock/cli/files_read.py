"""Which files the file sources of a query have read, and which there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock.regular_files import open_regular

_FILE_SOURCE = "FileSource["
_NOT_AS_WRITTEN = (OSError, ValueError, KeyError, TypeError, RecursionError)


class FilesRead:
    """The files that Spark's part of a checkpoint on this machine's disk says have been read.

    Spark lists the files of a micro-batch when it plans it, in ``sources/<source>/<entry>``; the
    offsets of the batch name, for each source, the newest entry that belongs to it.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._spark = checkpoint / "spark"
        self._next: dict[int, int] = {}
        self._paths: set[str] = set()

    def last_batch(self) -> int | None:
        """Return the newest micro-batch that Spark has seen to its end."""
        return max(map(int, _numbers(self._spark / "commits")), default=None)

    def after(self, batch_id: int) -> set[str]:
        """Return the files that have been read when a micro-batch ends."""
        for source, entry in enumerate(self._entries_of(batch_id)):
            first = self._next.get(source, 0)
            for number in range(first, entry + 1):
                self._paths |= _listed(self._spark / "sources" / str(source), number)
            self._next[source] = max(first, entry + 1)
        return self._paths

    def _entries_of(self, batch_id: int) -> list[int]:
        try:
            lines = _lines(self._spark / "offsets" / str(batch_id))
            return [int(json.loads(line)["logOffset"]) for line in lines[2:]]
        except _NOT_AS_WRITTEN:
            return []  # it has been deleted, or a source is none of files


def _listed(directory: Path, number: int) -> set[str]:
    """Return the files of one entry; every tenth holds those before it as well."""
    for name in (str(number), f"{number}.compact"):
        try:
            found = [json.loads(line) for line in _lines(directory / name)[1:]]
            return {str(each["path"]) for each in found if each["batchId"] == number}
        except _NOT_AS_WRITTEN:
            continue
    return set()


def _lines(file: Path) -> list[str]:
    with open(open_regular(file), encoding="utf-8") as text:
        return text.read().splitlines()


def _numbers(directory: Path) -> Iterable[str]:
    try:
        return [each.name for each in directory.iterdir() if re.fullmatch(r"\d+", each.name)]
    except OSError:
        return []


def files_there(frames: Iterable[Any]) -> set[str] | None:
    """Return the files that streaming DataFrames would read; None where that can't be told."""
    # Only a query that runs needs them: the help of all commands should not wait for PySpark.
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    found: set[str] = set()
    try:
        for frame in frames:
            leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
            for leaf in (leaves.apply(n) for n in range(leaves.size())):
                if _reads_files(leaf):
                    found |= _files_of(frame, leaf)
                elif leaf.isStreaming():
                    return None
    except (Py4JError, PySparkException):
        return None
    return found


def _reads_files(leaf: Any) -> bool:
    if leaf.getClass().getSimpleName() != "StreamingRelation":
        return False
    return bool(leaf.sourceName().startswith(_FILE_SOURCE))


def _files_of(frame: Any, leaf: Any) -> set[str]:
    """List files as Spark does for a table at that place: the same patterns and hidden files."""
    source = leaf.dataSource()
    reader = frame.sparkSession._jsparkSession.read().format(source.className())
    table = reader.options(source.options()).schema(leaf.schema()).load()
    return set(map(str, table.inputFiles()))
