"""Files of a source that are gone before Spark reads them.

Spark notes which files a micro-batch has, and then reads those that it finds. One that is gone in
between it takes for read, for ever, without a word; it may only have been moved for a moment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from penstock.engine.source_options import stream_sources
from penstock.engine.spark_log import log_offsets
from penstock.engine.state_files import local_path
from penstock.errors import QueryError

if TYPE_CHECKING:
    from penstock.sinks.filesystem import HadoopFiles

IGNORED = "ignoreMissingFiles"
_SETTING = "spark.sql.files.ignoreMissingFiles"


class PlannedFiles:
    """Looks for the files of each micro-batch before its rows are taken for all there are.

    Sources that read no files, and those whose loss is said not to matter, it leaves alone.
    """

    def __init__(
        self, files: HadoopFiles, log: str, spark: SparkSession, frames: Iterable[DataFrame]
    ) -> None:
        self._files, self._log = files, log
        self._sources = _that_must_be_whole(spark, frames)

    def check(self, batch_id: int) -> None:
        """Raise where a file that Spark has planned for a micro-batch is not there."""
        if not self._sources:
            return
        entries, before = self._entries(batch_id), self._entries(batch_id - 1)
        for source in self._sources & entries.keys():
            # After a crash Spark finds more files, and puts several entries into one batch.
            for entry in range(before.get(source, -1) + 1, entries[source] + 1):
                self._look_for(self._paths(source, entry))

    def _entries(self, batch_id: int) -> dict[int, int]:
        return log_offsets(self._files.read(f"{self._log}/offsets/{batch_id}") or "")

    def _paths(self, source: int, entry: int) -> Iterator[str]:
        """Give the files of an entry; one that holds all before it has theirs, too.

        Such an entry has a line for every file that was ever read, so that no length is too great.
        """
        log = f"{self._log}/sources/{source}/{entry}"
        text = self._files.read(log, most_bytes=None)
        if text is None:
            text = self._files.read(f"{log}.compact", most_bytes=None) or ""
        for line in text.split("\n")[1:]:
            with suppress(ValueError, KeyError, TypeError):
                told = json.loads(line)
                if told["batchId"] == entry:
                    yield unquote(told["path"])

    def _look_for(self, paths: Iterable[str]) -> None:
        for path in paths:
            local = local_path(path)
            there = self._files.exists(path) if local is None else os.path.exists(local)
            if not there:
                raise QueryError(
                    f"the file '{path}' of a source is gone: Spark has planned to read it, and "
                    "would take it for read without its rows. Put the file back and start the "
                    "query again; if it is gone for good, start it with the option "
                    f"{IGNORED} of the source."
                )


def _that_must_be_whole(spark: SparkSession, frames: Iterable[DataFrame]) -> frozenset[int]:
    """Return the positions, as Spark counts sources, of those that read files and need them all."""
    may_be_lost = str(spark.conf.get(_SETTING, "false")).lower()
    sources = stream_sources(frames)
    return frozenset(
        position
        for position, source in enumerate(sources)
        if source.reads_files and source.option(IGNORED, may_be_lost).lower() != "true"
    )
