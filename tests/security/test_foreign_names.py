"""Text and requests from elsewhere: terminals obey none of it, other sites read nothing."""

from __future__ import annotations

import http.client
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from metrics.written import batch, started, write
from penstock.cli import app
from penstock.cli.complaints import _complain
from penstock.journal.events import FaultSeen
from penstock.metrics.collector import JournalCollector
from penstock.metrics.server import MetricsServer
from penstock.plain_console import PlainConsole
from penstock.terminal import plain

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\x08\x7f\u202e"
OBEYED = set("\x1b\x07\x9b\r\x08\x7f\u202e")


def test_a_terminal_obeys_nothing_that_a_text_brings() -> None:
    assert not OBEYED & set(plain(f"a{ESCAPES}b\n\tc"))
    assert plain("one\n\ttwo é 漢 👩\u200d🚀") == "one\n\ttwo é 漢 👩\u200d🚀"


def test_a_console_writes_its_own_colours_and_no_others() -> None:
    written = io.StringIO()
    console = PlainConsole(file=written, force_terminal=True, color_system="standard", width=60)
    table = Table("name")
    table.add_row(Text(f"evil{ESCAPES}", style="red"))
    console.print(table)
    console.print(Text(f"[bold]{ESCAPES}"))
    told = written.getvalue()
    assert "\x1b[31mevil" in told  # the console's own
    assert "\x1b[2J" not in told
    assert "\x1b]0;" not in told
    assert not set("\x07\x9b\r\x08\x7f\u202e") & set(told)


def test_a_complaint_brings_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    _complain(f"operator 'x' failed: {ESCAPES}")
    assert not OBEYED & set(capsys.readouterr().err)


@pytest.mark.parametrize("command", [["report"], ["metrics", "--once"]])
def test_a_journal_from_elsewhere_is_shown_without_escapes(
    tmp_path: Path, command: list[str]
) -> None:
    fault = FaultSeen(0, f"what{ESCAPES}", f"why{ESCAPES}", 1)
    write(tmp_path, [started(f"name{ESCAPES}"), batch(0), fault])
    shown = CliRunner().invoke(app, [*command, str(tmp_path)])
    assert "name" in shown.output
    assert not OBEYED & set(shown.output)


@pytest.fixture
def metrics(tmp_path: Path) -> Iterator[int]:
    server = MetricsServer(0)
    server.serve(JournalCollector([write(tmp_path, [started(), batch(0)])]))
    yield int(server.address.rpartition(":")[2].partition("/")[0])
    server.close()


def asked(port: int, host: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/metrics", headers={"Host": host})
        answer = connection.getresponse()
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_a_site_whose_name_points_here_reads_no_metrics(metrics: int) -> None:
    """A page may ask whatever its own name points to, which may be this machine a moment later."""
    for host in ("evil.example", f"evil.example:{metrics}", "", "[", "127.0.0.1.evil.example"):
        status, text = asked(metrics, host)
        assert status == 421, host
        assert "penstock_" not in text
    for host in ("localhost", f"127.0.0.1:{metrics}", f"[::1]:{metrics}"):
        assert asked(metrics, host)[0] == 200, host


def test_json_for_programs_has_no_raw_escapes(tmp_path: Path) -> None:
    write(tmp_path, [started(f"name{ESCAPES}"), batch(0)])
    shown = CliRunner().invoke(app, ["report", "--json", str(tmp_path)])
    assert not OBEYED & set(shown.output)
    json.loads(shown.output)
