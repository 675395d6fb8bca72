"""Spark's own log of a query, held against the commit log.

Spark goes by whatever its log says: with an entry lost it sends rows again under the number of a
micro-batch that is committed, or takes files for read that never were. So a commit record keeps the
checksum of the offsets of its micro-batch, and a start compares the two logs before anything else.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from penstock.engine.documents import WAY_OUT
from penstock.engine.hadoop_checksums import checksum_path, fits_checksums
from penstock.engine.state_files import local_path
from penstock.errors import CheckpointError

if TYPE_CHECKING:
    from penstock.engine.checkpoint_files import CheckpointFiles
    from penstock.sinks.filesystem import HadoopFiles


_HALF = re.compile(r"\.+\d+\..+\.tmp(\.crc)?")
"""The name of an entry that was begun and never renamed, or of its checksums."""


class SparkLog:
    """The offsets and commits that Spark writes, one small file for every micro-batch."""

    def __init__(self, files: CheckpointFiles, path: str) -> None:
        self._files = files
        self._path = path

    def checksum(self, batch_id: int) -> str | None:
        """Return the checksum of the offsets of a micro-batch, None where there are none."""
        text = self._files.read(f"{self._path}/offsets/{batch_id}")
        return None if text is None else _checksum(text)

    def check(self, batch_id: int | None, checksum: str | None) -> None:
        """Raise unless Spark's log goes with a commit log that ends with ``batch_id``.

        ``checksum`` is that of the offsets of this micro-batch; None where the record, of an
        earlier version, has none.
        """
        done = self._newest("commits")
        planned = self._newest("offsets")
        last = -1 if batch_id is None else batch_id
        if done > last or planned > last + 1:
            record = f"{self._path.rpartition('/')[0]}/commits/{last + 1:012d}.json"
            raise CheckpointError(
                f"'{record}' is missing: Spark has come to micro-batch {max(done, planned)}, and "
                f"the commit log ends before micro-batch {last + 1}, so records are missing. "
                f"{WAY_OUT}"
            )
        self._check_metadata(is_begun=planned >= 0)
        for number in (planned - 1, planned):
            self._check_offsets(number)
        if done >= 0:
            self._check_form(f"{self._path}/commits/{done}")
        if batch_id is None:
            return
        path = f"{self._path}/offsets/{batch_id}"
        text = self._files.read(path)
        if text is None:
            raise _missing(path)
        if checksum is not None and _checksum(text) != checksum:
            raise CheckpointError(
                f"'{path}' is cut short or damaged: it is not what micro-batch {batch_id} was "
                f"committed with. {WAY_OUT}"
            )

    def _check_bytes(self, path: str) -> None:
        """Raise where a file on a disk is not what Spark has written."""
        local = local_path(path)
        if local is not None and not fits_checksums(local):
            raise CheckpointError(
                f"'{path}' is cut short or damaged, or the checksums beside it are: "
                f"'{checksum_path(path)}' is of another content. {WAY_OUT}"
            )

    def _check_metadata(self, is_begun: bool) -> None:
        path = f"{self._path}/metadata"
        self._check_bytes(path)
        text = self._files.read(path)
        if text is None and is_begun:
            raise CheckpointError(
                f"'{path}' is missing: without it Spark does not know its query. {WAY_OUT}"
            )
        if text is not None and not isinstance(_parsed(text), dict):
            raise _damaged(path)

    def _check_offsets(self, number: int) -> None:
        """Look at offsets that Spark begins with: those of the newest batch and the one before."""
        if number < 0:
            return
        path = f"{self._path}/offsets/{number}"
        text = self._files.read(path)
        if text is None:
            raise _missing(path)
        self._check_form(path)
        self._check_sources(text)

    def _check_form(self, path: str) -> None:
        """Raise unless a file is a version and lines of JSON, as Spark writes them."""
        self._check_bytes(path)
        version, *lines = (self._files.read(path) or "").split("\n")
        whole = all(line in ("", "-") or _parsed(line) is not None for line in lines)
        if not re.fullmatch(r"v\d+", version) or not any(lines) or not whole:
            raise _damaged(path)

    def _check_sources(self, offsets: str) -> None:
        """Notice that the newest entry of a file source's log is lost, which Spark would not."""
        for source, entry in log_offsets(offsets).items():
            log = f"{self._path}/sources/{source}"
            entries = _entries(self._files.list(log))
            whole = _newest_whole(entries)
            if entry > whole and entry not in entries:
                raise CheckpointError(
                    f"'{log}/{entry}' is missing: Spark would take the files it names for new "
                    f"ones. {WAY_OUT}"
                )
            for number, name in sorted(entries.items()):
                if number >= whole:  # Spark reads no older ones when a query starts
                    self._check_bytes(f"{log}/{name}")

    def _newest(self, log: str) -> int:
        names = self._files.list(f"{self._path}/{log}")
        return max((int(name) for name in names if name.isdecimal()), default=-1)


def sweep(files: HadoopFiles, path: str) -> None:
    """Delete entries of Spark's log that were only begun, as when the disk was full.

    Spark passes over them; but beside no whole one it takes them for the log of another query,
    and refuses the first micro-batch for ever.
    """
    for log in ("offsets", "commits"):
        for name in files.list(f"{path}/{log}"):
            if _HALF.fullmatch(name):
                files.delete(f"{path}/{log}/{name}")


def _entries(names: Iterable[str]) -> dict[int, str]:
    """Return the entries of a source's log by number; every so many hold all before them, too."""
    found = {name.removesuffix(".compact"): name for name in names}
    return {int(number): name for number, name in found.items() if number.isdecimal()}


def _newest_whole(entries: Mapping[int, str]) -> int:
    """Return the number of the newest entry that holds all before it, -1 where there is none.

    >>> _newest_whole({8: "8", 9: "9.compact", 10: "10"})
    9
    """
    return max((n for n, name in entries.items() if name.endswith(".compact")), default=-1)


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _missing(path: str) -> CheckpointError:
    return CheckpointError(
        f"'{path}' is missing: without it Spark does not know which rows were read. {WAY_OUT}"
    )


def _damaged(path: str) -> CheckpointError:
    return CheckpointError(f"'{path}' is cut short or damaged. {WAY_OUT}")


def log_offsets(offsets: str) -> dict[int, int]:
    r"""Return, of each source of files, how far its log was read: its position to the entry.

    >>> log_offsets('v1\n{"batchWatermarkMs":0}\n{"row":7}\n{"logOffset":2}')
    {1: 2}
    """
    found = {n: _log_offset(line) for n, line in enumerate(offsets.split("\n")[2:])}
    return {number: entry for number, entry in found.items() if entry is not None}


def _log_offset(line: str) -> int | None:
    """Return how far the log of a file source was read, None for any other source."""
    offset = _parsed(line)
    found = offset.get("logOffset") if isinstance(offset, dict) and len(offset) == 1 else None
    return found if type(found) is int and found >= 0 else None
