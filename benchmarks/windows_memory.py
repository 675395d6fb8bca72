"""What a process tree uses: CPU time."""

from __future__ import annotations

import os
from pathlib import Path

from measuring import _tree


def cpu_seconds(root: int) -> float:
    """Return the CPU time that a process and its living descendants have used so far."""
    return sum(map(_used, _tree(root))) / os.sysconf("SC_CLK_TCK")


def _used(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])
