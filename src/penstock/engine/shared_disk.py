"""Whether executors see the disk that a checkpoint or a file sink is on, found out by looking.

``file:`` is a path on every machine by itself. On a cluster the driver writes a file there, and
every executor looks for it; nothing else tells a shared disk from one that only the driver has.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from penstock.engine.cluster_view import ClusterView
from penstock.engine.executors import Executor
from penstock.engine.pinning import pinned
from penstock.engine.state_files import local_path
from penstock.errors import ConfigurationError, QueryError
from penstock.shipping import is_local
from penstock.sinks.files import FileSink
from penstock.topology.dag import Topology

if TYPE_CHECKING:
    from penstock.sinks.filesystem import HadoopFiles

# A session is there before its executors are, and they do not come all at once.
_EXECUTORS_WITHIN_SECONDS = 30.0
_NO_MORE_CAME_SECONDS = 1.0
_BOOKED_WITHIN_SECONDS = 2.0
_BOOKED_EVERY_SECONDS = 0.02
_MISSING, _READ_ONLY = "missing", "read-only"
# By a shell, since jobs of SQL alone need no Python on executors; each line is the path of a mark.
_LOOK = f"""
while IFS= read -r mark; do
  if [ ! -e "$mark" ]; then echo "{_MISSING} $(uname -n) $mark"
  elif [ ! -w "${{mark%/*}}" ]; then echo "{_READ_ONLY} $(uname -n) $mark"
  fi
done
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """A directory that executors write to, and the file in it that they are to see."""

    what: str
    directory: str
    mark: str = ""

    @property
    def marked(self) -> Path:
        return Path(self.directory) / self.mark

    def write(self) -> None:
        try:
            self.marked.parent.mkdir(parents=True, exist_ok=True)
            self.marked.touch()
        except OSError as error:
            raise ConfigurationError(
                f"the driver can't write to 'file:{self.directory}' ({self.what}): "
                f"{error.strerror}. Give a directory that it may write to."
            ) from error


class SharedDisk:
    """The directories of a query on a disk of the driver's, and the executors that looked at them.

    Looks only on a cluster, and only where there are such directories.
    """

    def __init__(
        self, spark: SparkSession, files: HadoopFiles, topology: Topology, checkpoint: str
    ) -> None:
        is_cluster = not is_local(str(spark.sparkContext.master))
        self._spark = spark
        self._places = _places(files, topology, checkpoint) if is_cluster else []
        self._view = ClusterView(spark.sparkContext) if self._places else None
        self._looked: set[str] = set()

    def check_start(self) -> None:
        """Refuse directories that executors of this moment do not have; leaves nothing behind."""
        executors = _those_it_begins_with(self._view) if self._view else ()
        made = [each for place in self._places for each in _missing_directories(place)]
        refusal = self._look(executors)
        if refusal:
            for directory in made:
                with suppress(OSError):  # somebody has put something there since
                    directory.rmdir()
            raise ConfigurationError(refusal)

    def check_newcomers(self, batch_id: int, *, at_end: bool) -> None:
        """Refuse to go on with executors that came since and do not have the directories.

        What they write stays with them, and would be missing without a word. At the end of a batch
        all that came may have written; before it those wait that are being made ready.
        """
        if self._view is None or self._view.registered() <= self._looked:
            return
        there = self._view.executors().values()
        came = [
            each for each in there if each.id not in self._looked and (at_end or _is_free(each))
        ]
        refusal = self._look(came)
        if refusal:
            raise QueryError(
                f"{refusal} Micro-batch {batch_id} is not committed, and nothing is lost: start "
                "the query again with the same checkpoint when the disk is mounted there, or "
                "without these executors."
            )

    def _look(self, executors: Sequence[Executor]) -> str | None:
        """Have executors look; return what is wrong, None where nothing is."""
        if not executors or self._view is None:
            return None
        places = [replace(place, mark=_new_mark()) for place in self._places]
        try:
            for place in places:
                place.write()
            found, looked = _found_by(self._spark, self._view, executors, places)
        finally:
            for place in places:
                with suppress(OSError):
                    place.marked.unlink()
        if found:
            return _refusal(places, found)
        self._looked.update(looked)
        return None


def _places(files: HadoopFiles, topology: Topology, checkpoint: str) -> list[_Place]:
    """Return the directories on the driver's disk; dead letters may have one in the checkpoint."""
    written = [("checkpoint", checkpoint)]
    written += [
        (f"sink '{output.name}'", output.sink.path)
        for output in topology.outputs
        if isinstance(output.sink, FileSink)
    ]
    places: list[_Place] = []
    for what, path in written:
        directory = local_path(files.qualify(path)) if files.is_local(path) else None
        if directory and not any(directory.startswith(f"{at.directory}/") for at in places):
            places.append(_Place(what, directory))
    return places


def _missing_directories(place: _Place) -> list[Path]:
    """Return what is not there of a directory and those above it, the innermost first."""
    path = Path(place.directory)
    return [each for each in (path, *path.parents) if not each.exists()]


def _new_mark() -> str:
    """Name a file that no machine remembers to have looked for."""
    return f"_seen_by_executors-{uuid.uuid4().hex}"


def _is_free(executor: Executor) -> bool:
    return executor.running_tasks < executor.slots


def _those_it_begins_with(view: ClusterView) -> Sequence[Executor]:
    """Return the executors that are there once no more come; none if there are none for long."""
    deadline = time.monotonic() + _EXECUTORS_WITHIN_SECONDS
    before: set[str] = set()
    while True:
        executors = view.executors()
        if (before and executors.keys() == before) or time.monotonic() > deadline:
            return tuple(executors.values())
        before = set(executors)
        time.sleep(_NO_MORE_CAME_SECONDS)


def _found_by(
    spark: SparkSession,
    view: ClusterView,
    executors: Sequence[Executor],
    places: Sequence[_Place],
) -> tuple[set[tuple[str, str, str]], set[str]]:
    """Have every executor look; return what is wrong, the host, and the path it is wrong with.

    And those that looked: for one that stays busy for seconds Spark has another do it.
    """
    marks = "\n".join(str(place.marked) for place in places)
    tag = f"penstock:look:{uuid.uuid4().hex}"
    spark.sparkContext.addJobTag(tag)
    try:
        look = pinned(spark, marks, "java.lang.String", executors).pipe(["sh", "-c", _LOOK])
        lines = look.collect()
    finally:
        spark.sparkContext.removeJobTag(tag)
    found = [str(line).split(" ", 2) for line in lines]
    deadline = time.monotonic() + _BOOKED_WITHIN_SECONDS
    while len(ran := view.ran_on(tag)) < len(executors) and time.monotonic() < deadline:
        time.sleep(_BOOKED_EVERY_SECONDS)
    return {(problem, host, os.path.dirname(mark)) for problem, host, mark in found}, set(ran)


def _refusal(places: Sequence[_Place], found: set[tuple[str, str, str]]) -> str:
    told = []
    for place in places:
        for problem, doing in ((_MISSING, "see"), (_READ_ONLY, "write to")):
            hosts = sorted({h for p, h, at in found if (p, at) == (problem, place.directory)})
            if hosts:
                told.append(
                    f"executors on {', '.join(hosts)} can't {doing} 'file:{place.directory}' "
                    f"({place.what}), where the driver just wrote a file"
                )
    return (
        f"{'; '.join(told)}. On a cluster give a path that the driver and all executors share: a "
        "directory that is mounted in the same place on every machine, or one on hdfs:, s3a: or "
        "the like."
    )
