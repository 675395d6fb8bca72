"""The files of keyed state, as Spark's Python workers read and write them.

Files never change once they are there. On a disk that the worker sees they are mapped into memory
where they lie; from other file systems they are fetched to a scratch directory first. Nothing here
imports Spark: it runs in Spark's Python workers, where start-up time counts.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.engine.file_checksums import file_checksum
from penstock.engine.state_pieces import Piece
from penstock.errors import CheckpointError, ConfigurationError

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):")
_NAMED_OTHERWISE = {"s3a": "s3", "s3n": "s3"}


@dataclass(slots=True)
class Fetching:
    """How much had to be fetched from a file system that can't be mapped, and how long it took."""

    bytes: int = 0
    nanos: int = 0


@dataclass(slots=True)
class _OpenFile:
    reader: Any
    pieces: dict[int, Piece] = field(default_factory=dict)


# Workers live from batch to batch, and so do their open files: by path, for every directory.
_open_files: dict[str, dict[str, _OpenFile]] = {}


class StateFiles:
    """The directory of one operator's state, seen from a worker.

    ``names`` are the files that there are, as the commit record has them.
    """

    def __init__(self, directory: str, query_id: str, names: Collection[str]) -> None:
        self._directory = directory
        self._names = names
        self.fetching = Fetching()
        local = local_path(directory)
        self._remote = None if local is not None else connect(directory)
        self._place = local or _scratch(query_id, directory)
        self._open = _open_files.setdefault(directory, {})
        for name in [name for name in self._open if name not in names]:
            del self._open[name]

    def piece(self, name: str, position: int) -> Piece:
        """Return a piece of a file."""
        file = self._open.get(name)
        if file is None:
            file = self._open[name] = _OpenFile(self._opened(name))
        piece = file.pieces.get(position)
        if piece is None:
            piece = file.pieces[position] = Piece.of(file.reader.get_batch(position))
        return piece

    def writer(self, name: str, schema: pa.Schema) -> StateWriter:
        """Return a writer of a new file."""
        os.makedirs(self._place, exist_ok=True)
        target = None
        if self._remote is not None:
            system, inside = self._remote
            target = (system, f"{inside}/{name}")
        return StateWriter(f"{self._place}/{name}", schema, target)

    def tidy(self) -> None:
        """Delete fetched copies of files that are not needed any more."""
        if self._remote is None:
            return
        newest = max(self._names, default="")
        for name in os.listdir(self._place) if os.path.isdir(self._place) else ():
            if name not in self._names and name[0] > "." and name < newest:
                with suppress(FileNotFoundError):  # another worker of this host was faster
                    os.remove(f"{self._place}/{name}")

    def _opened(self, name: str) -> Any:
        path = f"{self._place}/{name}"
        if self._remote is not None and not os.path.exists(path):
            self._fetch(name, path)
        try:
            return pa.ipc.open_file(pa.memory_map(path))
        except (OSError, pa.ArrowInvalid) as error:
            if self._remote is None:
                raise self._damaged(name, error) from None
        self._fetch(name, path)
        try:
            return pa.ipc.open_file(pa.memory_map(path))
        except (OSError, pa.ArrowInvalid) as error:
            raise self._damaged(name, error) from None

    def _fetch(self, name: str, path: str) -> None:
        started = time.perf_counter_ns()
        assert self._remote is not None
        system, inside = self._remote
        os.makedirs(self._place, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=self._place, prefix=".")
        os.close(handle)
        try:
            with system.open_input_file(f"{inside}/{name}") as source:
                content = source.read_buffer()
        except OSError as error:
            os.remove(aside)
            raise self._damaged(name, error) from None
        with pa.OSFile(aside, "wb") as sink:
            sink.write(content)
        os.replace(aside, path)
        self.fetching.bytes += content.size
        self.fetching.nanos += time.perf_counter_ns() - started

    def _damaged(self, name: str, error: Exception) -> CheckpointError:
        return CheckpointError(
            f"the state file '{self._directory}/{name}' is missing or damaged ({error}). If a copy "
            "of the checkpoint exists, put the file back from it; otherwise start with a new "
            "checkpoint directory: the query then reads its sources from the beginning."
        )


class StateWriter:
    """Writes one file, piece after piece; it is there when ``close`` returns."""

    def __init__(self, path: str, schema: pa.Schema, remote: tuple[Any, str] | None) -> None:
        self._path = path
        self._remote = remote
        self._sink = pa.OSFile(path, "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the next piece."""
        self._writer.write_batch(batch)

    def close(self) -> tuple[int, str]:
        """End the file, and bring it to where it belongs; return its length and its checksum."""
        self._writer.close()
        self._sink.close()
        if self._remote is not None:
            system, path = self._remote
            with (
                pa.OSFile(self._path, "rb") as source,
                system.open_output_stream(path, compression=None) as sink,
            ):
                sink.write(source.read_buffer())
        return os.path.getsize(self._path), file_checksum(self._path)


def state_directory(checkpoint: str, operator: str) -> str:
    """Return where the state of an operator's keys is."""
    return f"{checkpoint}/state/{operator}"


def local_path(directory: str) -> str | None:
    """Return a directory on a disk that this machine sees as a plain path, None for others.

    >>> local_path("file:/tmp/a"), local_path("file:///tmp/a"), local_path("s3a://bucket/a")
    ('/tmp/a', '/tmp/a', None)
    """
    scheme = _SCHEME.match(directory)
    if scheme is None:
        return directory
    if scheme.group(1) != "file":
        return None
    path = directory.removeprefix("file:")
    return path.removeprefix("//") if path.startswith("///") else path


def connect(directory: str) -> tuple[Any, str]:
    """Return Arrow's file system for a directory, and the directory's path in it.

    Raises whatever Arrow does where it knows no such file system or can't reach it.
    """
    from pyarrow import fs  # takes a while to load, and most workers see the disk itself

    scheme = _SCHEME.match(directory)
    name = scheme.group(1) if scheme else ""
    uri = _NAMED_OTHERWISE.get(name, name) + directory.removeprefix(name)
    system, path = fs.FileSystem.from_uri(uri)
    return system, path


def check_reachable(checkpoint: str) -> None:
    """Refuse a checkpoint on a file system that Python workers can't open."""
    if local_path(checkpoint) is not None:
        return
    try:
        connect(checkpoint)
    except Exception as error:  # each file system has errors of its own
        raise ConfigurationError(
            f"process keeps the states of keys in the checkpoint, and Python workers can't open "
            f"'{checkpoint}': {error}. Give a checkpoint on a file system that pyarrow.fs knows: "
            "a shared disk, s3:, gs: or hdfs: (which needs Hadoop's libhdfs)."
        ) from None


def _scratch(query_id: str, directory: str) -> str:
    """Return a directory for copies on this host, which Spark deletes when the executor ends."""
    roots = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    root = roots[0] or tempfile.gettempdir()
    operator = directory.rstrip("/").rpartition("/")[2]
    os.makedirs(root, exist_ok=True)
    return f"{_own(f'{root}/penstock-state-{os.getuid()}')}/{query_id}/{operator}"


def _own(directory: str) -> str:
    """Make a directory that other users of a machine can't write to, or refuse theirs.

    What is read from it are the states of keys: whoever could put a file there first could choose
    them.
    """
    with suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    found = os.lstat(directory)
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
        raise ConfigurationError(
            f"'{directory}' belongs to another user, or others may write to it, so no states of "
            "keys can be kept there. Delete it, or set SPARK_LOCAL_DIRS to a directory of your own."
        )
    return directory
