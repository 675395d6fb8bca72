"""``penstock simulate`` at the terminal."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli import app
from penstock.replay.reading import read_recordings

TOPOLOGY = """
name: clicks
sources: {clicks: }
operators:
  parse: {inputs: clicks, seconds: 0.002}
  score: {inputs: parse, seconds: 0.008}
"""


def simulate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments])


def as_json(*arguments: str) -> dict[str, Any]:
    result = simulate(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """Write a trace and a topology of one's own."""
    trace, topology = tmp_path / "rates.csv", tmp_path / "clicks.yaml"
    trace.write_text("".join(f"{100 + 200 * (second >= 30)}\n" for second in range(60)))
    topology.write_text(TOPOLOGY)
    return [str(trace), "--topology", str(topology), "--workers", "1"]


def test_what_came_of_each_policy(asked: list[str]) -> None:
    policies = ["--policy", "static:2", "--policy", "static:4", "--policy", "replica-pool"]
    quick = ["--executor-seconds", "2"]
    found = as_json(*asked, *quick, *policies, "--set", "policy.utilisation=0.5,0.9")
    assert (found["rows"], found["seconds"], found["topology"]) == (12_000, 60.0, "clicks")
    runs = {each["label"]: each for each in found["runs"]}
    assert list(runs) == [
        "static:2",
        "static:4",
        "replica-pool:utilisation=0.5",
        "replica-pool:utilisation=0.9",
    ]
    assert runs["static:4"]["saved"] == 0.5
    assert runs["static:2"]["p99_latency_seconds"] > runs["static:4"]["p99_latency_seconds"]
    spare, full = runs["replica-pool:utilisation=0.5"], runs["replica-pool:utilisation=0.9"]
    assert spare["slot_hours"] > full["slot_hours"]
    assert spare["settings"] == {"policy.utilisation": "0.5"}
    assert found["best"] in runs
    assert found["advice"].startswith(found["best"])


def test_without_policies_the_usual_ones_are_tried(asked: list[str]) -> None:
    labels = [each["label"] for each in as_json(*asked)["runs"]]
    assert labels[0] == "static"
    assert {"auto-scale-plus", "replica-pool", "fuzzy"} < set(labels)


def test_a_table_for_people(asked: list[str]) -> None:
    result = simulate(*asked, "--policy", "static:2", "--policy", "static:4")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "12,000 rows in 60 s" in " ".join(result.stdout.split())
    (row,) = [line.split() for line in lines if line.startswith("static:4 0")]
    assert (row[1], row[3], row[7]) == ("0.500", "1.0000", "0.07")
    assert max(len(line) for line in lines) <= 80
    assert "static:4 is the cheapest of 2 tried that keeps up" in " ".join(lines)


def test_a_narrow_terminal_shows_fewer_numbers(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = simulate(*asked, "--policy", "replica-pool").stdout.splitlines()
    (head,) = (line for line in lines if line.startswith("policy"))
    assert head.split() == [
        "policy",
        "saved",
        "done",
        "mean",
        "s",
        "99",
        "%",
        "s",
        "slot-h",
        "behind",
    ]
    assert any(line.startswith("replica-pool ") for line in lines)


def test_the_seed_is_that_of_the_workload_too(asked: list[str]) -> None:
    def rows(workload: str, seed: int) -> int:
        given = [workload, *asked[1:], "--policy", "static:4", "--seed", str(seed)]
        return int(as_json(*given)["rows"])

    drawn = "poisson:rate=100,seconds=20"
    assert rows(drawn, 1) == rows(drawn, 1) != rows(drawn, 2)
    assert rows(f"{drawn},seed=1", 2) == rows(drawn, 1)


def test_files_are_written(asked: list[str], tmp_path: Path) -> None:
    out, html = tmp_path / "out", tmp_path / "pages" / "report.html"
    found = as_json(
        *asked, "--policy", "static:4", "--policy", "static:8", "--out", str(out), "--journal",
        "--html", str(html),
    )  # fmt: skip
    assert all(Path(file).exists() for file in found["files"])
    names = {Path(file).name for file in found["files"]}
    assert {"simulation.csv", "slots.png", "slots.csv", "frontier.png", "report.html"} <= names
    with (out / "simulation.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == ["static:4", "static:8"]
    assert float(rows[0]["saved"]) == 0.5
    assert "static:4" in html.read_text()
    (recording,) = read_recordings(Path(found["runs"][0]["journal"]), lambda share: None)
    assert recording.rows == 12_000
    again = simulate(*asked, "--policy", "static:4", "--out", str(out), "--journal")
    assert again.exit_code == 2
    assert "there is one in" in again.stderr


def test_other_mechanisms(asked: list[str]) -> None:
    pool = as_json(*asked, "--mechanism", "pool", "--max", "4", "--interval", "5s")
    assert [each["label"] for each in pool["runs"]] == ["psps", "incremental"]
    restart = as_json(*asked, "--mechanism", "restart", "--max", "4", "--policy", "psps")
    moved, restarted = pool["runs"][0], restart["runs"][0]
    assert moved["most_slots"] == 8
    assert moved["processed"] > restarted["processed"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--policy", "best"], "there is no policy 'best'"),
        (["--policy", "static:9"], "static:9 is not from 1 to 8 slots. Write --max 9"),
        (["--policy", "psps"], "Write --mechanism pool"),
        (["--topology", "tweet"], "there is no topology 'tweet'. Did you mean 'tweets'?"),
        (["--trigger", "soon"], "'soon' is not a length of time"),
        (["--trigger", "0s"], "MicroBatch(trigger_seconds=0.0) can't be"),
        (["--seed", "-1"], "'--seed'"),
        (["--min", "9"], "--min 9 is more than --max 8"),
        (["--set", "policy.margin"], "'policy.margin' can't be set"),
        (["--journal"], "--journal needs a folder to write to. Write --out DIR"),
        (["--html", "."], ". is a folder. Write --html report.html"),
        (["--out", "/dev/null/x"], "/dev/null/x can't be written to"),
        (["--html", "/proc/x.html"], "/proc can't be written to"),
        (["--mechanism", "pool", "--min", "2"], "--min changes nothing with --mechanism pool"),
        (["--mechanism", "pool", "--trigger", "2s"], "Leave it out, or write --mechanism micro"),
        (["--mechanism", "pool", "--downtime", "2s"], "or write --mechanism restart"),
        (["--interval", "5s"], "--interval changes nothing with --mechanism micro-batch"),
        (["--availability", "0.9"], "--availability is of a plan. Write --target-latency 2s"),
    ],
)
def test_mistakes_are_one_sentence(asked: list[str], wrong: list[str], said: str) -> None:
    result = simulate(*asked, *wrong)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    assert said in line


def test_the_column_of_a_trace_is_written_behind_it(asked: list[str], tmp_path: Path) -> None:
    trace = tmp_path / "two.csv"
    trace.write_text("second,orders,visits\n0,10,20\n1,30,40\n")
    refused = simulate(str(trace), *asked[1:], "--policy", "static:4")
    assert refused.exit_code == 2
    assert f"write {trace}:column=NAME" in refused.stderr
    chosen = as_json(f"{trace}:column=visits", *asked[1:], "--policy", "static:4")
    assert chosen["rows"] == 60


def test_a_file_in_the_way_is_told(asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "out" / "slots.png").mkdir(parents=True)
    result = simulate(*asked, "--policy", "static:4", "--out", str(tmp_path / "out"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "slots.png can't be written: Is a directory" in result.stderr


def test_a_trace_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = simulate(str(tmp_path / "none.csv"), "--topology", "tweets")
    assert result.exit_code == 2
    assert "none.csv" in result.stderr


@pytest.mark.slow
def test_ctrl_c_ends_it_and_its_processes(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "penstock",
        "simulate",
        "steady:rows_per_second=9,seconds=90000",
    ]
    command += ["--topology", "tweets", "--policy", "auto-scale-plus", "--policy", "fuzzy"]
    run = subprocess.Popen(
        [*command, "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    while len(children.read_text().split()) < 3 and run.poll() is None:  # two, and the tracker
        time.sleep(0.1)
    started = children.read_text().split()
    time.sleep(2.0)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, "")
    assert err.strip() == "penstock: broken off"
    while any(Path(f"/proc/{child}").exists() for child in started):  # or the test never ends
        time.sleep(0.1)
