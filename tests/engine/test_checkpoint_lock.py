from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.engine import checkpoint_lock
from penstock.engine.checkpoint_lock import CheckpointLock
from penstock.errors import CheckpointError

HOLDER = """
import sys
from penstock.engine.checkpoint_lock import CheckpointLock
lock = CheckpointLock.take(sys.argv[1], is_local=True)
print("held", flush=True)
sys.stdin.read()
"""


def test_another_process_keeps_it_until_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_lock, "PATIENCE_SECONDS", 0.0)
    where = f"file:{tmp_path}/checkpoint"
    command = [sys.executable, "-c", HOLDER, where]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        before = list((tmp_path / "checkpoint").iterdir())
        with pytest.raises(CheckpointError, match="a query is running on the checkpoint"):
            CheckpointLock.take(where, is_local=True)
        assert list((tmp_path / "checkpoint").iterdir()) == before
        holder.kill()
    lock = CheckpointLock.take(where, is_local=True)
    with pytest.raises(CheckpointError, match="a query is running on the checkpoint"):
        CheckpointLock.take(where, is_local=True)
    lock.release()
    CheckpointLock.take(where, is_local=True).release()
