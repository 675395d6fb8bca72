"""What a soak saw, as lines of JSON: written while it runs, read to judge and to draw it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from soak_processes import Seen

FILE = "record.jsonl"
DRIVER_ENDED, START_TIMED_OUT = "driver ended", "start timed out"


@dataclass(frozen=True, slots=True)
class Memory:
    """The processes that were there."""

    at: float
    processes: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Heap:
    """What a JVM's heap held after a collection."""

    at: float
    kind: str
    pid: int
    since: float
    heap_mb: float


@dataclass(frozen=True, slots=True)
class Files:
    """What lay in the checkpoint, its journal apart."""

    at: float
    files: int
    bytes: int
    journal_files: int
    journal_bytes: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch, as the journal tells."""

    at: float
    batch_id: int
    seconds: float
    rows: int
    waiting_rows: int | None
    slots: int


@dataclass(frozen=True, slots=True)
class Done:
    """A fault that was made, or a driver that ended (``asked`` says whether for a fault)."""

    at: float
    kind: str
    what: str
    asked: bool = True


_KINDS: dict[str, type] = {each.__name__: each for each in (Memory, Heap, Files, Batch, Done)}
Entry = Memory | Heap | Files | Batch | Done


@dataclass(slots=True)
class Record:
    """All that was seen, by kind."""

    memory: list[Memory] = field(default_factory=list)
    heaps: list[Heap] = field(default_factory=list)
    files: list[Files] = field(default_factory=list)
    batches: dict[int, Batch] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)

    def take(self, entry: Entry) -> None:
        """Take one more in; a batch that was tried again counts as it ended."""
        match entry:
            case Memory():
                self.memory.append(entry)
            case Heap():
                self.heaps.append(entry)
            case Files():
                self.files.append(entry)
            case Batch():
                self.batches[entry.batch_id] = entry
            case Done():
                self.done.append(entry)

    def lives(self, kind: str) -> dict[tuple[int, float], tuple[list[float], list[float]]]:
        """Return when each process of a kind was seen, and with how much memory."""
        found: dict[tuple[int, float], tuple[list[float], list[float]]] = {}
        for sample in self.memory:
            for each in sample.processes:
                if each.kind == kind:
                    at, resident = found.setdefault((each.pid, each.since), ([], []))
                    at.append(sample.at)
                    resident.append(each.resident_mb)
        return found

    def longest_life(self, kind: str) -> tuple[int, float] | None:
        """Return the process of a kind that was seen for longest."""
        lives = self.lives(kind)
        return max(lives, key=lambda each: lives[each][0][-1] - lives[each][0][0], default=None)


class Writer:
    """Keeps a record and appends every entry to its file at once."""

    def __init__(self, out: Path) -> None:
        self.record = Record()
        self._file = (out / FILE).open("a")

    def write(self, entry: Entry) -> None:
        """Take an entry in and write it down."""
        self.record.take(entry)
        self._file.write(json.dumps({"entry": type(entry).__name__, **asdict(entry)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read(out: Path) -> Record:
    """Read what a soak has written so far."""
    record = Record()
    for line in (out / FILE).read_text().splitlines():
        fields: dict[str, Any] = json.loads(line)
        kind = _KINDS[fields.pop("entry")]
        if kind is Memory:
            fields["processes"] = tuple(Seen(**each) for each in fields["processes"])
        record.take(kind(**fields))
    return record
