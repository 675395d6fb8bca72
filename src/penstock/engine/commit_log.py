"""The commit log: one JSON record for every micro-batch, whole or not there at all.

Reading a record runs no code: it is JSON, checked field by field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.elasticity.decision import Decision
from penstock.engine.documents import NOT_AS_WRITTEN, WAY_OUT, Form, parse_document, sealed
from penstock.engine.keyed_state import KeyedState
from penstock.engine.window_state import WindowState
from penstock.errors import CheckpointError, ConfigurationError
from penstock.secrets import redacted
from penstock.topology.dag import is_name
from penstock.windows.watermark import Mark
from penstock.windows.whole_numbers import in_64_bits

if TYPE_CHECKING:
    from penstock.sinks.filesystem import HadoopFiles

FORM = Form("penstock-commit", version=3, sealed_since=3)
KEPT_RECORDS = 100
_NAME = re.compile(r"^(\d{12})\.json$")
_LONGEST_NAME = 255  # bytes, as file systems have it


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """What a micro-batch leaves for the next one.

    ``decision`` is the one that shaped the batch. ``marks`` are the watermarks by source, ``lows``
    those of the operators that look at one: the lowest of their sources. ``windows`` is the state
    of the windowed operators, by the name of their compute operator, ``keyed`` that of the keyed
    ones. ``placement`` is what the placement learnt, by component, ``policy`` what the policy did,
    ``admission`` what was learnt of read limits, ``plan`` how operators were grouped: all can be
    learnt anew, so a record without them, or with something else in their place, is read all the
    same. ``offsets`` is the checksum of what Spark noted of the batch; ``is_split`` says whether
    there was a rule by which rows of it were shed.
    """

    query_id: str
    batch_id: int
    committed_at_seconds: float
    decision: Decision
    marks: Mapping[str, Mark] = field(default_factory=dict)
    lows: Mapping[str, int | None] = field(default_factory=dict)
    windows: Mapping[str, WindowState] = field(default_factory=dict)
    placement: Mapping[str, Any] = field(default_factory=dict)
    keyed: Mapping[str, KeyedState] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    admission: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    offsets: str | None = None
    is_split: bool = False

    def to_json(self) -> str:
        """Write it as a JSON document that names its own format and version."""
        decision = {
            "slots": self.decision.slots,
            "reason": redacted(self.decision.reason),
            "tasks": dict(self.decision.tasks),
        }
        document = {
            "format": FORM.name,
            "version": FORM.version,
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "committed_at_seconds": self.committed_at_seconds,
            "decision": decision,
            "marks": {name: mark.to_json() for name, mark in self.marks.items()},
            "lows": dict(self.lows),
            "windows": {name: state.to_json() for name, state in self.windows.items()},
            "placement": dict(self.placement),
            "keyed": {name: state.to_json() for name, state in self.keyed.items()},
            "policy": dict(self.policy),
            "admission": dict(self.admission),
            "plan": dict(self.plan),
            "offsets": self.offsets,
            "is_split": self.is_split,
        }
        return sealed(document)

    @classmethod
    def from_json(cls, text: str, file: str) -> CommitRecord:
        """Read a record; ``file`` is named in the error when it is not one."""
        document = parse_document(text, file, FORM)
        try:
            decision = document["decision"]
            return cls(
                query_id=_typed(document, "query_id", str),
                batch_id=_typed(document, "batch_id", int),
                committed_at_seconds=float(document["committed_at_seconds"]),
                decision=Decision(
                    slots=_typed(decision, "slots", int),
                    reason=_typed(decision, "reason", str),
                    tasks={str(k): int(v) for k, v in decision["tasks"].items()},
                ),
                marks={str(k): Mark.from_json(v) for k, v in document["marks"].items()},
                lows={
                    str(k): None if v is None else _typed(document["lows"], k, int)
                    for k, v in document["lows"].items()
                },
                windows={
                    _operator(k): WindowState.from_json(v) for k, v in document["windows"].items()
                },
                placement=_learnt(document.get("placement")),
                keyed={
                    _operator(k): KeyedState.from_json(v)
                    for k, v in document.get("keyed", {}).items()
                },
                policy=_learnt(document.get("policy")),
                admission=_learnt(document.get("admission")),
                plan=_learnt(document.get("plan")),
                offsets=document.get("offsets"),
                is_split=document.get("is_split") is True,
            )
        except (*NOT_AS_WRITTEN, ConfigurationError) as error:
            raise CheckpointError(
                f"'{file}' is a commit record with a field missing or wrong ({error!r:.300}). "
                f"{WAY_OUT}"
            ) from None


def _typed(document: Mapping[str, Any], name: str, kind: type) -> Any:
    value = document[name]
    if type(value) is not kind:
        raise TypeError(f"{name} is {value!r:.80}")
    return in_64_bits(document[name]) if kind is int else value


def _operator(name: str) -> str:
    """Check a name under which state is kept: it is that of a directory as well."""
    if not is_name(name) or len(name.encode()) > _LONGEST_NAME:
        raise ValueError(f"{name!r:.80} is no operator's name")
    return name


def _learnt(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


class CommitLog:
    """The records of a query, newest known, oldest deleted.

    ``latest`` is kept in memory; the files are read only when a query starts.
    """

    def __init__(self, files: HadoopFiles, directory: str, query_id: str) -> None:
        self._files = files
        self._directory = directory
        self._query_id = query_id
        self.latest = self._load()

    def is_committed(self, batch_id: int) -> bool:
        """Whether a batch was committed by this run or an earlier one."""
        return self.latest is not None and batch_id <= self.latest.batch_id

    def check_follows(self, batch_id: int) -> None:
        """Raise unless ``batch_id`` is the batch after the newest record."""
        expected = self.latest.batch_id + 1 if self.latest else 0
        if batch_id != expected:
            raise CheckpointError(
                f"Spark starts micro-batch {batch_id}, but the commit log in '{self._directory}' "
                f"ends before micro-batch {expected}: records are missing. {WAY_OUT}"
            )

    def commit(self, record: CommitRecord) -> None:
        """Write a record whole; from here on its batch is done."""
        self._files.write_atomic(self._path(record.batch_id), record.to_json())
        self.latest = record
        if record.batch_id >= KEPT_RECORDS:
            self._files.delete(self._path(record.batch_id - KEPT_RECORDS))

    def _path(self, batch_id: int) -> str:
        return f"{self._directory}/{batch_id:012d}.json"

    def _load(self) -> CommitRecord | None:
        matches = [_NAME.match(name) for name in self._files.list(self._directory)]
        batches = sorted(int(match.group(1)) for match in matches if match)
        if not batches:
            return None
        path = self._path(batches[-1])
        record = CommitRecord.from_json(self._files.read(path) or "", path)
        if record.query_id != self._query_id or record.batch_id != batches[-1]:
            raise CheckpointError(
                f"'{path}' belongs to another query or batch (query {record.query_id}, batch "
                f"{record.batch_id}). {WAY_OUT}"
            )
        return record
