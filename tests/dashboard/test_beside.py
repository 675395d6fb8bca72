"""A dashboard beside a query: its port, its process, and the end of both."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.journals import batch, started, write_journal
from dashboard.processes import get, is_alive, wait_until
from penstock.dashboard.beside import DashboardBeside, dashboard_beside
from penstock.dashboard.listening import DEFAULT_PORT, Address, listening_on
from penstock.errors import ConfigurationError

PARENT = """
import sys
from penstock.dashboard.beside import DashboardBeside
from penstock.dashboard.listening import listening_on

beside = DashboardBeside(listening_on("127.0.0.1", 0))
address = beside.address
beside.start(sys.argv[1])
print(address, beside._process.pid, flush=True)
sys.stdin.read()
"""


def answers(address: str) -> bool:
    try:
        return get(address)[0] == 200
    except OSError:
        return False


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return write_journal(tmp_path / "run" / "journal", [(1.0, started()), batch(0), batch(1)])


def test_a_taken_port_is_said_with_what_to_do() -> None:
    with (
        listening_on("127.0.0.1", 0) as taken,
        pytest.raises(ConfigurationError, match=r"Address already in use. Take another port"),
    ):
        listening_on("127.0.0.1", Address.of(taken).port)


@pytest.mark.parametrize("host", ["256.1.1.1", "no such host", "192.0.2.1"])
def test_a_host_that_is_not_this_machine_is_said(host: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the dashboard can't listen on {host}"):
        listening_on(host, 0)


def test_the_usual_port_or_any_other_is_taken() -> None:
    with dashboard_beside(True) as first, dashboard_beside(True) as second:
        assert first is not None
        assert second is not None
        assert first.address != second.address
        assert not second.address.endswith(f":{DEFAULT_PORT}")


def test_a_port_that_was_asked_for_is_that_port_or_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port}"), dashboard_beside(port):
            pass
    with dashboard_beside(port) as beside:
        assert beside is not None
        assert beside.address == f"http://127.0.0.1:{port}"
    # It is given back where no query started.
    listening_on("127.0.0.1", port).close()


@pytest.mark.parametrize("asked", [-1, 65_536, "8765", 1.5])
def test_what_is_no_port_is_said(asked: object) -> None:
    with (
        pytest.raises(ConfigurationError, match=r"is no port. Write dashboard=True"),
        dashboard_beside(asked),  # type: ignore[arg-type]
    ):
        pass


def test_nobody_who_did_not_ask_gets_one() -> None:
    with dashboard_beside(False) as beside:
        assert beside is None


def test_it_shows_the_journal_until_it_is_ended(journal: Path) -> None:
    beside = DashboardBeside(listening_on("127.0.0.1", 0))
    address = beside.address
    beside.start(str(journal))
    process = beside._process
    assert process is not None
    try:
        wait_until(lambda: answers(address), "the dashboard answers")
        status, _, body = get(address)
        assert status == 200
        assert "200 rows" in body
    finally:
        beside.end()
    assert process.returncode is not None
    assert not is_alive(process.pid)
    beside.end()  # twice is once


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
def test_it_ends_with_the_process_that_started_it(
    journal: Path, how: signal.Signals | None
) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(journal)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    child = 0
    assert parent.stdout is not None
    try:
        address, pid = parent.stdout.readline().split()
        child = int(pid)
        wait_until(lambda: answers(address), "the dashboard answers")
        assert is_alive(child)
        if how is None:  # it just comes to its end
            assert parent.stdin is not None
            parent.stdin.close()
        else:
            parent.send_signal(how)
        parent.wait(30)
        wait_until(lambda: not is_alive(child), "the dashboard has ended, too")
        assert not answers(address)
    finally:
        for pid_ in (parent.pid, child):
            if pid_ and is_alive(pid_):
                os.kill(pid_, signal.SIGKILL)
        parent.stdout.close()
