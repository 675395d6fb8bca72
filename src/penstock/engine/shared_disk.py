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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from penstock.engine.cluster_view import ClusterView
from penstock.engine.executors import Executor
from penstock.engine.pinning import pinned
from penstock.engine.state_files import local_path
from penstock.errors import ConfigurationError
from penstock.shipping import is_local
from penstock.sinks.files import FileSink
from penstock.topology.dag import Topology

if TYPE_CHECKING:
    from penstock.sinks.filesystem import HadoopFiles

# A session is there before its executors are, and they do not come all at once.
_EXECUTORS_WITHIN_SECONDS = 30.0
_NO_MORE_CAME_SECONDS = 1.0
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
    mark: str = field(default_factory=lambda: f"_seen_by_executors-{uuid.uuid4().hex}")

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


def check_executors_see(
    spark: SparkSession, files: HadoopFiles, topology: Topology, checkpoint: str
) -> None:
    """Refuse a checkpoint or a sink on a disk of the driver's that executors do not have.

    Looks only on a cluster and only where there is such a path, at the executors of this moment.
    """
    if is_local(str(spark.sparkContext.master)):
        return
    places = _places(files, topology, checkpoint)
    executors = _those_it_begins_with(spark) if places else ()
    if not executors:
        return
    made = [each for place in places for each in _missing_directories(place)]
    try:
        for place in places:
            place.write()
        found = _look(spark, executors, places)
    finally:
        for place in places:
            with suppress(OSError):
                place.marked.unlink()
    if found:
        for directory in made:
            with suppress(OSError):  # somebody has put something there since
                directory.rmdir()
        raise ConfigurationError(_refusal(places, found))


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


def _those_it_begins_with(spark: SparkSession) -> Sequence[Executor]:
    """Return the executors that are there once no more come; none if there are none for long."""
    view = ClusterView(spark.sparkContext)
    deadline = time.monotonic() + _EXECUTORS_WITHIN_SECONDS
    before: set[str] = set()
    while True:
        executors = view.executors()
        if (before and executors.keys() == before) or time.monotonic() > deadline:
            return tuple(executors.values())
        before = set(executors)
        time.sleep(_NO_MORE_CAME_SECONDS)


def _look(
    spark: SparkSession, executors: Sequence[Executor], places: Sequence[_Place]
) -> set[tuple[str, str, str]]:
    """Have every executor look; return what is wrong, the host, and the path it is wrong with."""
    marks = "\n".join(str(place.marked) for place in places)
    lines = pinned(spark, marks, "java.lang.String", executors).pipe(["sh", "-c", _LOOK]).collect()
    found = [str(line).split(" ", 2) for line in lines]
    return {(problem, host, os.path.dirname(mark)) for problem, host, mark in found}


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
