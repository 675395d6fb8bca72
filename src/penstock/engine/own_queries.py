"""Which streaming queries of this process Penstock started itself."""

from __future__ import annotations

import threading
from collections import deque

# Spark may tell of a run's last batches when it has ended, so a run is not forgotten at once.
_ENDED_KEPT = 1_000

_running: set[str] = set()
_ended: deque[str] = deque(maxlen=_ENDED_KEPT)
_changing = threading.Lock()


def note_own(run_id: str) -> None:
    """Remember that Penstock runs this query and looks after its slots."""
    with _changing:
        _running.add(run_id)


def note_ended(run_id: str) -> None:
    """Forget a run that is over, once many others have ended after it."""
    with _changing:
        if run_id in _running:
            _running.remove(run_id)
            _ended.append(run_id)


def is_own(run_id: str) -> bool:
    """Whether Penstock started this run."""
    with _changing:
        return run_id in _running or run_id in _ended
