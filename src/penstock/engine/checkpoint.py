"""The checkpoint directory: whose it is, and whether this topology may carry it on.

Layout: ``query.json`` names the query and what its state depends on, ``commits/`` is the commit
log, ``spark/`` is Spark's own checkpoint, ``panes/`` and ``state/`` hold the state of operators,
``journal/`` the event log, ``split.json`` and ``shed_rows/`` what was shed.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.engine.checkpoint_lock import CheckpointLock
from penstock.engine.commit_log import CommitLog
from penstock.engine.documents import NOT_AS_WRITTEN, Form, parse_document, sealed
from penstock.engine.spark_log import SparkLog, sweep
from penstock.errors import CheckpointError
from penstock.topology.compatibility import Fingerprint, breaking_changes

if TYPE_CHECKING:
    from penstock.sinks.filesystem import HadoopFiles

FORM = Form("penstock-query", version=2, sealed_since=2)
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An open checkpoint.

    ``sources`` is the order in which Spark knows the sources, fixed when the query first started.
    """

    path: str
    query_id: str
    sources: tuple[str, ...]
    log: CommitLog
    lock: CheckpointLock
    spark_log: SparkLog

    @property
    def spark_path(self) -> str:
        """Where Spark keeps its offsets."""
        return f"{self.path}/spark"


def open_checkpoint(files: HadoopFiles, path: str, now: Fingerprint) -> Checkpoint:
    """Open or create the checkpoint of a query, or say why this topology can't carry it on."""
    path = files.qualify(path).rstrip("/")
    lock = CheckpointLock.take(path, is_local=files.is_local(path))
    try:
        return _open(files, path, now, lock)
    except BaseException:
        lock.release()
        raise


def _open(files: HadoopFiles, path: str, now: Fingerprint, lock: CheckpointLock) -> Checkpoint:
    identity = f"{path}/query.json"
    text = files.read(identity)
    if text is None:
        return _create(files, path, now, lock)
    query_id, before = parse_identity(text, identity)
    changes = breaking_changes(before, now)
    if changes:
        raise CheckpointError(
            f"the checkpoint '{path}' was written by a topology that this one can't carry on: "
            f"{'; '.join(changes)}. Undo that, or start with a new checkpoint directory."
        )
    log = CommitLog(files, f"{path}/commits", query_id)
    # Before anything is swept away that the newest record does not name: it may be a lost one that
    # names it.
    spark_log = SparkLog(files, f"{path}/spark")
    if log.latest is None:
        spark_log.check(None, None)
    else:
        spark_log.check(log.latest.batch_id, log.latest.offsets)
    sweep(files, f"{path}/spark")
    # Operators with state may have come; the order of sources stays the one Spark knows.
    accepted = replace(now, sources=before.sources)
    if accepted != before:
        _write_identity(files, identity, query_id, accepted)
    return Checkpoint(path, query_id, before.sources, log, lock, spark_log)


def parse_identity(text: str, file: str) -> tuple[str, Fingerprint]:
    """Read whose checkpoint it is and what it depends on; ``file`` is named if it is not said."""
    document = parse_document(text, file, FORM)
    try:
        return _checked_id(document["query_id"]), Fingerprint.from_json(document["fingerprint"])
    except NOT_AS_WRITTEN as error:
        raise CheckpointError(
            f"'{file}' has a field missing or wrong ({error!r:.300}). Put it back from a copy, "
            "or start with a new checkpoint directory."
        ) from None


def _checked_id(query_id: object) -> str:
    """Check an identity: journals and scratch directories are named after it."""
    if not isinstance(query_id, str) or _ID.fullmatch(query_id) is None:
        raise ValueError(f"query_id is {query_id!r:.80}")
    return query_id


def _create(files: HadoopFiles, path: str, now: Fingerprint, lock: CheckpointLock) -> Checkpoint:
    there = set(files.list(path))
    foreign = there & {"offsets", "commits", "spark", "metadata", "sources"}
    if foreign:
        raise CheckpointError(
            f"'{path}' holds {', '.join(sorted(foreign))} but no query.json: it is the checkpoint "
            "of another query or a damaged one. Put it back from a copy, or give an empty "
            "directory as checkpoint."
        )
    query_id = str(uuid.uuid4())
    _write_identity(files, f"{path}/query.json", query_id, now)
    log = CommitLog(files, f"{path}/commits", query_id)
    return Checkpoint(path, query_id, now.sources, log, lock, SparkLog(files, f"{path}/spark"))


def _write_identity(
    files: HadoopFiles, identity: str, query_id: str, fingerprint: Fingerprint
) -> None:
    document = {
        "format": FORM.name,
        "version": FORM.version,
        "query_id": query_id,
        "fingerprint": fingerprint.to_json(),
    }
    files.write_atomic(identity, sealed(document, indent=1))
