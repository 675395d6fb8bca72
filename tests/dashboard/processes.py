"""Dashboards as processes of their own, as users start them."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

WITHIN_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Running:
    """A dashboard that answers."""

    address: str
    process: subprocess.Popen[str]

    def memory_megabytes(self) -> float:
        """Return what it holds in memory, as Linux counts it."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "penstock", "dashboard", *map(str, arguments)]


@contextlib.contextmanager
def dashboard(*arguments: str | Path, token: str | None = None) -> Iterator[Running]:
    """Start ``penstock dashboard`` on a free port, and end it."""
    settings = {k: v for k, v in os.environ.items() if k != "PENSTOCK_DASHBOARD_TOKEN"}
    if token is not None:
        settings["PENSTOCK_DASHBOARD_TOKEN"] = token
    process = subprocess.Popen(
        command(*arguments, "--port", "0", "--quiet"),
        env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            assert process.stderr is not None
            raise AssertionError(f"it did not start: {process.stderr.read()}")
        yield Running(address, process)
    finally:
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert "Traceback" not in said, said


def get(
    address: str, path: str = "/", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    """Ask once, without following anything; returns status, headers and body."""
    place = urlsplit(address)
    asking = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        asking.request("GET", path, headers=headers or {})
        answer = asking.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, named, answer.read().decode()
    finally:
        asking.close()


def wait_until(is_so: Callable[[], bool], what: str, within: float = WITHIN_SECONDS) -> None:
    """Look until something is so; a test that waits in vain says for what."""
    ends = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < ends, f"not within {within:.0f} seconds: {what}"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and nobody asked about counts as gone."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
