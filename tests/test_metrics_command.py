"""``penstock metrics`` at the terminal."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from metrics.written import batch, parsed, started, value, write
from penstock.cli import app
from penstock.metrics.catalogue import METRICS


def metrics(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["metrics", *map(str, arguments)])


def refusal(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


def test_once_prints_what_prometheus_would_read(tmp_path: Path) -> None:
    write(tmp_path / "journal", [started(), batch(0), batch(1)])
    for path in (tmp_path, tmp_path / "journal", tmp_path / "journal" / "journal-00000001.jsonl"):
        result = metrics(path, "--once")
        assert (result.exit_code, result.stderr) == (0, "")
        assert value(parsed(result.stdout), "penstock_batches_total") == 2


def test_several_journals_and_one_twice(tmp_path: Path) -> None:
    a = write(tmp_path / "a" / "journal", [started("a"), batch(0)])
    b = write(tmp_path / "b" / "journal", [started("b"), batch(0), batch(1)])
    found = parsed(metrics(a, b, tmp_path / "a", "--once").stdout)
    assert value(found, "penstock_batches_total", query="a") == 1
    assert value(found, "penstock_batches_total", query="b") == 2


def test_once_as_json(tmp_path: Path) -> None:
    write(tmp_path, [started(), batch(0)])
    found = json.loads(metrics(tmp_path, "--once", "--json").stdout)
    (rows,) = [each for each in found["metrics"] if each["name"] == "penstock_source_rows_total"]
    assert rows["type"] == "counter"
    assert rows["help"] == "Rows that micro-batches took from a source."
    (sample,) = rows["samples"]
    assert sample["labels"] == {"query": "clicks", "source": "clicks"}
    assert (sample["name"], sample["value"]) == ("penstock_source_rows_total", 100)
    assert [each["name"] for each in found["metrics"]] == [metric.name for metric in METRICS]


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    said = refusal(metrics(tmp_path / "nowhere", "--once"))
    assert said.startswith(f"penstock: there is nothing at {tmp_path}/nowhere. Name a query's")
    write(tmp_path, [started()])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "Address already in use" in refusal(metrics(tmp_path, "--port", port))
    assert "--port" in refusal(metrics(tmp_path, "--port", 70_000))


def test_a_journal_of_a_newer_penstock_is_refused(tmp_path: Path) -> None:
    line = '{"v":99,"seq":1,"at":1.0,"kind":"BatchSkipped","batch_id":1}\n'
    (tmp_path / "journal-00000001.jsonl").write_text(line)
    assert "schema 99" in refusal(metrics(tmp_path, "--once"))
    assert "schema 99" in refusal(metrics(tmp_path, "--port", 0))
    command = [sys.executable, "-m", "penstock", "metrics", str(tmp_path), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("penstock: ")
    assert done.stderr.count("schema 99") == 1  # and no line of a log before it


def test_it_serves_until_ctrl_c(tmp_path: Path) -> None:
    write(tmp_path, [started(), batch(0)])
    command = [sys.executable, "-m", "penstock", "metrics", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as exporter:
        assert exporter.stdout is not None
        line = exporter.stdout.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:\d+/metrics", line)
        assert found is not None, line
        with urllib.request.urlopen(found[0]) as answer:
            text = answer.read().decode()
        exporter.send_signal(signal.SIGINT)
        _, errors = exporter.communicate(timeout=60)
    assert value(parsed(text), "penstock_batches_total") == 1
    assert (exporter.returncode, errors) == (0, b"")


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_the_address_is_all_that_a_program_gets(tmp_path: Path, option: str) -> None:
    write(tmp_path, [started(), batch(0)])
    command = [sys.executable, "-m", "penstock", "metrics", str(tmp_path), "--port", "0", option]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as exporter:
        assert exporter.stdout is not None
        line = exporter.stdout.readline().decode()
        exporter.send_signal(signal.SIGINT)
        rest = exporter.communicate(timeout=60)
    address = json.loads(line)["address"] if option == "--json" else line.strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", address), line
    assert rest == (b"", b"")


def test_help_has_an_example() -> None:
    shown = metrics("--help").stdout
    assert "penstock metrics ck --port 9108" in shown
    assert "Ctrl-C" in shown
