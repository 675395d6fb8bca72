"""Exit codes as docs/cli.md has them, and that standard output is kept for results."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock.cli import app
from penstock.cli.complaints import BROKEN_OFF, BUG, WRONG
from penstock.cli.display import display
from penstock.cli.progress import LiveProgress, NoProgress, PlainProgress
from penstock.cli.time_left import shown, spinning
from penstock.errors import QueryError

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
JOURNAL = Path(__file__).parents[1] / "journal" / "schema-1.jsonl"


def progress_log(path: Path, batches: int = 12) -> str:
    lines = [
        {
            "id": "a",
            "runId": "b",
            "name": "clicks",
            "batchId": number,
            "timestamp": f"2026-01-01T00:{number:02}:00.000Z",
            "numInputRows": 100,
            "durationMs": {"triggerExecution": 1_000},
            "sources": [],
        }
        for number in range(batches)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def test_the_table_in_the_documents() -> None:
    codes = dict(re.findall(r"^\| (\d+) \| (.+) \|$", DOCS.read_text(), re.MULTILINE))
    assert set(codes) == {"0", str(BUG), str(WRONG), str(BROKEN_OFF)}


def test_done(tmp_path: Path) -> None:
    log = progress_log(tmp_path / "progress.jsonl")
    result = CliRunner().invoke(app, ["replay", log, "--policy", "static:2", "--json"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1
    assert isinstance(json.loads(result.stdout), dict)


def test_a_job_that_fails_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.cli import run_job

    def fails(*_: object, **__: object) -> None:
        raise QueryError("the query stopped: no space left on device. Make room.")

    monkeypatch.setattr(run_job, "run_job", fails)
    result = CliRunner().invoke(app, ["run", "job.py"])
    assert (result.exit_code, result.stdout) == (WRONG, "")
    assert "no space left" in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", [["version"], ["report", str(JOURNAL)]])
def test_a_full_disk_is_no_bug(command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "penstock", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == WRONG
    assert result.stderr == (
        "penstock: this machine refuses to go on: No space left on device. Mend that, and try "
        "again.\n"
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict"])
def test_a_terminal_that_lacks_characters_gets_question_marks(
    tmp_path: Path, encoding: str
) -> None:
    odd = os.fsencode(tmp_path) + b"/od\xffd.jsonl"
    Path(os.fsdecode(odd)).write_bytes(JOURNAL.read_bytes())
    page = os.fsencode(tmp_path) + b"/p\xff.html"
    told = b""
    for options in ([], [b"--html", page]):
        result = subprocess.run(
            [sys.executable, "-m", "penstock", "report", odd, *options],
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, b""), result.stderr
        told += result.stdout
    assert b"?" in told


def test_ctrl_c_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.cli import replay_log

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replay_log, "replay_log", pressed)
    result = CliRunner().invoke(app, ["replay", "progress.jsonl"])
    assert (result.exit_code, result.stdout) == (BROKEN_OFF, "")
    assert result.stderr == "penstock: broken off\n"


def test_a_real_ctrl_c_leaves_no_traceback() -> None:
    options = ["--topology", "tweets", "--policy", "fuzzy", "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", "simulate", "erratic:seconds=2000000", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # NumPy is loaded by the command itself, so that its work has begun.
    while process.poll() is None and not _is_loaded(process.pid):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    told, complaints = process.communicate(timeout=120)
    assert (told, complaints) == ("", "penstock: broken off\n")
    # A shell says 130 to both: Python itself ends by the signal where it came within an exec().
    assert process.returncode in (BROKEN_OFF, -signal.SIGINT)


def _is_loaded(pid: int) -> bool:
    return "_multiarray_umath" in Path(f"/proc/{pid}/maps").read_text()


class TestWhoLooks:
    def test_nobody(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("penstock.cli.display.PlainConsole", lambda stderr: _console(False))
        assert isinstance(display("job")([]), PlainProgress)
        beside_json = display("job", json=True)([])
        beside_json.announce("dashboard: http://localhost:1")
        assert isinstance(beside_json, NoProgress)
        assert capsys.readouterr() == ("", "dashboard: http://localhost:1\n")
        display("job", quiet=True)([]).announce("dashboard: http://localhost:1")
        assert capsys.readouterr() == ("", "")

    def test_a_terminal_is_shown_progress_beside_json_too(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("penstock.cli.display.PlainConsole", lambda stderr: _console(True))
        assert isinstance(display("job")([]), LiveProgress)
        assert isinstance(display("job", json=True)([]), LiveProgress)
        assert isinstance(display("job", quiet=True)([]), NoProgress)

    @pytest.mark.parametrize("quiet", [True, False])
    def test_a_bar_with_the_time_left(self, quiet: bool) -> None:
        console = _console(True)
        with shown(quiet, console=console) as show:
            show("reading", 0.5)
        with spinning(quiet, "Starting Spark", console=console):
            pass
        written = console.export_text()
        assert ("reading" in written) is not quiet
        assert ("Starting Spark" in written) is not quiet

    def test_a_wait_says_for_how_long_and_what_is_usual(self) -> None:
        console = _console(True)
        with spinning(False, "Starting Spark", console=console, usual="5 to 15 s"):
            pass
        with spinning(False, "Looking", console=console):
            pass
        written = console.export_text()
        assert "Starting Spark 0 s (usually 5 to 15 s)" in written
        assert "Looking 0 s\n" in re.sub(r" +\n", "\n", written)

    def test_nothing_in_a_pipe(self) -> None:
        console = _console(False)
        with shown(False, console=console) as show:
            show("reading", 0.5)
        with spinning(False, "Starting Spark", console=console, usual="5 to 15 s"):
            pass
        assert console.export_text() == ""


def _console(terminal: bool) -> Console:
    return Console(force_terminal=terminal, record=True, width=80, file=io.StringIO())
