"""The files of a checkpoint on this machine's disk: what there is, how much, and who holds it."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.inspection.holding import HeldFiles, HeldRows
from penstock.regular_files import open_regular

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/")
COMMIT_RECORDS = "commit records"
_KINDS = {
    "commits": COMMIT_RECORDS,
    "panes": "partial results of windows",
    "state": "states of keys",
    "journal": "event log",
    "dead_letters": "dead letters",
    "shed_rows": "rows that were shed",
    "spark": "Spark's own offsets",
    "spark.log": "what Spark said",
    "query.json": "whose checkpoint it is",
    "split.json": "how the newest batch was split",
}
_UNPUBLISHED = frozenset({"_staging", "_temporary"})
_ENDS = {".parquet": (b"PAR1", b"PAR1"), ".arrow": (b"ARROW1", b"ARROW1")}


def local_checkpoint(text: str) -> Path:
    """Return the directory of a checkpoint on this machine's disk, or say why there is none.

    >>> str(local_checkpoint("file:///tmp"))
    '/tmp'
    """
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme.group(1) != "file":
        raise ConfigurationError(
            f"'{text}' is not on this machine's disk, where inspect reads checkpoints. Copy it "
            f"here first, for example: hadoop fs -get {text} checkpoint"
        )
    path = Path(re.sub(r"^file:(//(?=/))?", "", text)).absolute()
    if not path.exists():
        raise ConfigurationError(
            f"there is nothing at {path}. Name the directory that a query has as its checkpoint."
        )
    if not path.is_dir():
        raise ConfigurationError(
            f"{path} is a file. Name the directory that a query has as its checkpoint."
        )
    if not os.access(path, os.R_OK | os.X_OK):
        raise ConfigurationError(
            f"{path} can't be read by you. Inspect it as the user who runs the query."
        )
    return path


def all_files(directory: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files below a directory with their lengths; one may go while this looks."""
    for folder, _, names in os.walk(directory):
        for name in sorted(names):
            file = Path(folder) / name
            try:
                found = file.stat()
            except OSError:  # gone, or a link that leads round in a circle
                continue
            if stat.S_ISREG(found.st_mode):  # a pipe would keep a reader waiting for ever
                yield file, found.st_size


def by_kind(path: Path) -> tuple[HeldFiles, ...]:
    """Count the files of a checkpoint by what they are for."""
    found: dict[str, list[int]] = {kind: [] for kind in _KINDS.values()}
    for file, size in all_files(path):
        top = file.relative_to(path).parts[0]
        if top == ".lock":
            continue
        found.setdefault(_KINDS.get(top, "others"), []).append(size)
    return tuple(HeldFiles(kind, len(each), sum(each)) for kind, each in found.items() if each)


def is_locked(path: Path) -> bool:
    """Whether a running query holds the checkpoint. Nothing is written, and nobody kept out."""
    try:
        file = open_regular(path / ".lock")
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def is_whole(file: Path) -> bool:
    """Whether a file of data begins and ends as its format says."""
    head, tail = _ENDS.get(file.suffix, (b"", b""))
    try:
        with file.open("rb") as data:
            begins = data.read(len(head)) == head
            data.seek(-len(tail), os.SEEK_END)
            return begins and data.read() == tail
    except OSError:  # too short, or it can't be read
        return False


def rows_in(directory: Path) -> tuple[HeldRows | None, list[Path]]:
    """Count rows that were set aside as Parquet, None where there are none; name what is damaged.

    What a batch that was broken off left, where readers do not look, is neither.
    """
    import pyarrow.parquet as pq

    files = [
        (file, size)
        for file, size in all_files(directory)
        if file.suffix == ".parquet" and _UNPUBLISHED.isdisjoint(file.relative_to(directory).parts)
    ]
    rows, damaged = 0, []
    for file, _ in files:
        try:
            rows += int(pq.read_metadata(file).num_rows)
        except Exception:  # whatever is wrong with it, its rows can't be counted
            damaged.append(file)
    if not files:
        return None, []
    held = HeldRows(len(files), sum(size for _, size in files), None if damaged else rows)
    return held, damaged
