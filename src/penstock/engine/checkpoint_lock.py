"""One query at a time on a checkpoint."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import CheckpointError

# A query that has just ended may take a moment to let go.
PATIENCE_SECONDS = 5.0
_LOOK_EVERY_SECONDS = 0.05

_held: set[str] = set()
_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class CheckpointLock:
    """Held from before a query opens its sinks until it has ended; a dead process holds none.

    Two queries that write one output would tear each other's files. On a local disk the lock holds
    between processes; elsewhere only within this one.
    """

    path: str
    file: int | None

    @classmethod
    def take(cls, path: str, *, is_local: bool) -> CheckpointLock:
        """Lock a checkpoint, or say who is in the way."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            lock = cls._try(path, is_local)
            if lock is not None:
                return lock
            if time.monotonic() >= deadline:
                raise running_on(path)
            time.sleep(_LOOK_EVERY_SECONDS)

    @classmethod
    def _try(cls, path: str, is_local: bool) -> CheckpointLock | None:
        with _guard:
            if path in _held:
                return None
            file = _lock_file(Path(path.removeprefix("file:"))) if is_local else None
            if is_local and file is None:
                return None
            _held.add(path)
            return cls(path, file)

    def release(self) -> None:
        """Let the next one in; a second time does nothing."""
        with _guard:
            if self.path in _held:
                _held.discard(self.path)
                if self.file is not None:
                    os.close(self.file)


def running_on(path: str) -> CheckpointError:
    """Return the error for a second query on a checkpoint."""
    return CheckpointError(
        f"a query is running on the checkpoint '{path}'. Stop it before you start it again, or "
        "give the new query a checkpoint directory of its own."
    )


def _lock_file(directory: Path) -> int | None:
    directory.mkdir(parents=True, exist_ok=True)
    file = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file
