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

from penstock.engine.source_options import source_options
from penstock.engine.spark_log import log_offsets
from penstock.engine.state_files import local_path
from penstock.errors import QueryError

if TYPE_CHECKING:
    from penstock.sinks.filesystem import HadoopFiles

IGNORED = "ignoreMissingFiles"
_SETTING = "spark.sql.files.ignoreMissingFiles"


class PlannedFiles:
    """Looks for the files of each micro-batch before its rows are taken for all there are.

    Where nobody reads files, or their loss is said not to matter, it looks at nothing.
    """

    def __init__(
        self, files: HadoopFiles, log: str, spark: SparkSession, frames: Iterable[DataFrame]
    ) -> None:
        self._files, self._log = files, log
        self._is_needed = not _is_loss_ignored(spark, frames)

    def check(self, batch_id: int) -> None:
        """Raise where a file that Spark has planned for a micro-batch is not there."""
        if not self._is_needed:
            return
        entries = self._entries(batch_id)
        if not entries:
            self._is_needed = False
            return
        before = self._entries(batch_id - 1)
        for source, entry in entries.items():
            if entry != before.get(source):
                self._look_for(self._paths(source, entry))

    def _entries(self, batch_id: int) -> dict[int, int]:
        return log_offsets(self._files.read(f"{self._log}/offsets/{batch_id}") or "")

    def _paths(self, source: int, entry: int) -> Iterator[str]:
        """Give the files of an entry; one that holds all before it has theirs, too."""
        log = f"{self._log}/sources/{source}/{entry}"
        text = self._files.read(log)
        if text is None:
            text = self._files.read(f"{log}.compact") or ""
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


def _is_loss_ignored(spark: SparkSession, frames: Iterable[DataFrame]) -> bool:
    if str(spark.conf.get(_SETTING, "false")).lower() == "true":
        return True
    with suppress(Exception):  # a source whose options can't be looked at has none
        options = [each for frame in frames for each in source_options(frame)]
        named = [{name.lower(): str(value).lower() for name, value in o.items()} for o in options]
        return any(each.get(IGNORED.lower()) == "true" for each in named)
    return False
