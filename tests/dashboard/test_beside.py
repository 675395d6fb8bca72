"""A dashboard beside a query: its port, its process, and the end of both."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dashboard.journals import batch, started, write_journal
from dashboard.processes import get, is_alive, wait_until
from penstock.dashboard.beside import DashboardBeside, addresses_told, dashboard_beside
from penstock.dashboard.guard import TOKEN_VARIABLE
from penstock.dashboard.listening import DEFAULT_PORT, Address, listening_on
from penstock.errors import ConfigurationError

PARENT = """
import sys
from penstock.dashboard.beside import DashboardBeside
from penstock.dashboard.guard import TOKEN_VARIABLE
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


@pytest.fixture(autouse=True)
def without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)


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


def test_one_whose_token_is_too_short_is_a_warning_and_no_address(
    journal: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "short")
    told: list[str] = []
    beside = DashboardBeside(listening_on("127.0.0.1", 0))
    with addresses_told(told.append):
        assert beside.start(str(journal)) is None
    assert told == []
    (warning,) = caplog.messages
    assert warning.startswith("the dashboard could not be started: the token has 5 characters.")
    assert beside._process is None


def test_one_that_asks_for_a_token_says_so(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for token, says in (("a-token-of-some-length", " (asks for the token)"), ("", "")):
        monkeypatch.setenv(TOKEN_VARIABLE, token)
        told: list[str] = []
        beside = DashboardBeside(listening_on("127.0.0.1", 0))
        with addresses_told(told.append):
            address = beside.start(str(journal))
        beside.end()
        assert told == [f"{address}{says}"]


def test_one_that_ends_before_it_should_leaves_its_last_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "notes").write_text("no journal, and no place for one")
    beside = DashboardBeside(listening_on("127.0.0.1", 0))
    beside.start(str(tmp_path / "notes"))
    try:
        wait_until(lambda: bool(caplog.messages), "a warning")
        (warning,) = caplog.messages
        assert warning.startswith("the dashboard has ended, and the query goes on without it: ")
        assert f"{tmp_path / 'notes'} is a file" in warning
        assert "penstock:" not in warning
    finally:
        beside.end()


def test_one_that_was_ended_is_nothing_to_warn_of(
    journal: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for as_asked in (True, False):
        beside = DashboardBeside(listening_on("127.0.0.1", 0))
        address = beside.start(str(journal))
        assert address is not None
        process = beside._process
        assert process is not None
        wait_until(lambda at=address: answers(at), "the dashboard answers")  # type: ignore[misc]
        if not as_asked:
            os.kill(process.pid, signal.SIGTERM)
        beside.end()
        for each in threading.enumerate():
            if each.name == "penstock-dashboard-beside":
                each.join(30)
    assert caplog.messages == []


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
