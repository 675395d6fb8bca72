"""``penstock replay`` at the terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli import app, replay_log
from penstock.cli.policy_names import USUAL
from penstock.cli.replay_log import slots_over_time
from penstock.elasticity.policy_names import ADAPTING, policy_named
from penstock.elasticity.static import Static
from penstock.replay.batches import Replayed, ReplayedBatch
from penstock.replay.comparison import Outcome
from replay.loads import as_lines, batch, burst, progress, recording


def replay(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["replay", *arguments])


def as_json(*arguments: str) -> dict[str, Any]:
    result = replay(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def refusal(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "progress.jsonl"
    path.write_text(as_lines(burst(60)))
    return str(path)


def test_what_each_policy_would_have_done(log: str) -> None:
    (found,) = as_json(log, "--slots-then", "4", "--max", "8")["recordings"]
    assert (found["query"], found["batches"], found["trigger_seconds"]) == ("name of q1", 60, 10.0)
    assert found["rows"] == sum(each["numInputRows"] for each in burst(60))
    assert found["work"]["fixed_seconds"] == pytest.approx(1.0)
    assert found["work"]["slot_seconds_per_row"] == pytest.approx(0.02)
    policies = {each["policy"]: each for each in found["policies"]}
    assert list(policies) == ["static:4", *USUAL]
    for policy in policies.values():
        assert policy["rows"] == found["rows"]
        assert all(1 <= slots <= 8 for _, slots in policy["slots"])
    assert policies["static:4"]["slots"] == [[0.0, 4]]
    scaled = policies["auto-scale-plus"]
    assert scaled["slot_hours"] < policies["static:4"]["slot_hours"]
    assert max(slots for _, slots in scaled["slots"]) == 8
    assert found["recommendation"]["policy"] in policies
    assert found["recommendation"]["reason"].startswith(found["recommendation"]["policy"])


def test_policies_may_have_settings(log: str) -> None:
    tried = ["replica-pool:utilisation=0.4", "replica-pool:utilisation=0.9,interval=20s"]
    options = [word for name in tried for word in ("--policy", name)]
    (found,) = as_json(log, "--slots-then", "4", *options)["recordings"]
    spare, full = found["policies"]
    assert [spare["policy"], full["policy"]] == tried
    assert spare["slot_hours"] > full["slot_hours"]


def test_a_table_for_people(log: str) -> None:
    result = replay(log, "--policy", "static:4", "--policy", "static:8", "--slots-then", "4")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("name of q1: 60 micro-batches every 10 s, ")
    assert any("slots over time" in line and "slot-hours" in line for line in lines)
    (row,) = [line for line in lines if line.startswith("static:8")]
    assert row.split()[1] == "█" * 20
    assert max(len(line) for line in lines) <= 80
    assert "Recommended: static:8 takes" in " ".join(lines)


def test_slots_that_nobody_told_are_said_to_be_assumed(log: str) -> None:
    said = " ".join(replay(log, "--policy", "static:4").stdout.split())
    assert "with 4 slots (assumed: write --slots-then if there were others)" in said
    assert as_json(log, "--policy", "static:4")["recordings"][0]["slots_assumed"] is True


def test_runs_that_are_too_short_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(as_lines(burst(6) + burst(2, run="r2")))
    result = replay(str(path), "--policy", "static:4")
    assert "name of q1: left out, only 2 micro-batches" in result.stdout
    found = as_json(str(path), "--policy", "static:4")
    assert found["too_short"] == [{"query": "name of q1", "run": "r2", "batches": 2}]


def test_options_are_heeded(log: str) -> None:
    (found,) = as_json(
        log, "--policy", "static:5", "--min", "2", "--max", "5", "--trigger", "20 seconds",
        "--executor-seconds", "3",
    )["recordings"]  # fmt: skip
    assert (found["least_slots"], found["most_slots"]) == (2, 5)
    assert (found["trigger_seconds"], found["executor_seconds"]) == (20.0, 3.0)
    assert found["policies"][0]["slots"] == [[0.0, 5]]


def test_a_fixed_number_of_slots_is_replayed_as_such(log: str) -> None:
    (found,) = as_json(log, "--policy", "static:20", "--slots-then", "4")["recordings"]
    assert found["most_slots"] == 8  # of a policy that adapts
    assert [each["slots"] for each in found["policies"]] == [[[0.0, 20]]]


def test_static_is_as_it_was(log: str) -> None:
    tried = ["--policy", "static", "--policy", "static:3", "--policy", "incremental"]
    (found,) = as_json(log, *tried, "--slots-then", "3")["recordings"]
    assert [each["policy"] for each in found["policies"]] == ["static:3", "incremental"]
    assert found["policies"][0]["slots"] == [[0.0, 3]]


def test_as_it_was_is_shown_where_it_may_not_stay_so(log: str) -> None:
    tried = ["--policy", "static", "--policy", "static:2"]
    (found,) = as_json(log, *tried, "--slots-then", "9", "--max", "2")["recordings"]
    assert [each["slots"] for each in found["policies"]] == [[[0.0, 9]], [[0.0, 2]]]
    # It is behind for longer, but more than 2 slots are ruled out.
    assert found["policies"][0]["behind_seconds"] < found["policies"][1]["behind_seconds"]
    assert found["recommendation"]["policy"] == "static:2"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["gone.jsonl"], "there is nothing at gone.jsonl. Name a file"),
        (["LOG", "--policy", "best"], "there is no policy 'best'. Write one of: static:4, "),
        (["LOG", "--policy", "static:0"], "there is no policy 'static:0'"),
        (
            ["LOG", "--policy", "static:9", "--max", "5"],
            "static:9 is more than --max 5. Write",
        ),
        (
            ["LOG", "--policy", "static:1", "--min", "2"],
            "static:1 is less than --min 2. Write",
        ),
        (["LOG", "--min", "5", "--max", "2"], "--min 5 is more than --max 2"),
        (["LOG", "--trigger", "0 seconds"], "--trigger '0 seconds' is no time"),
        (["LOG", "--trigger", "soon"], "'soon' is not a length of time"),
        (["LOG", "--slots-then", "0"], "--slots-then"),
    ],
)
def test_what_can_not_work_is_refused(log: str, arguments: list[str], told: str) -> None:
    assert told in refusal(replay(*[log if each == "LOG" else each for each in arguments]))


def test_a_file_without_progress_and_one_with_too_little(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("nothing here\n")
    assert "holds no progress of a streaming query" in refusal(replay(str(empty)))
    short = tmp_path / "short"
    short.write_text(as_lines(burst(3)))
    assert "has too few micro-batches: 3 in its longest run" in refusal(replay(str(short)))


def test_a_timestamp_that_can_not_be_is_named(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    reports = burst(10)
    reports[7]["timestamp"] = "1970-01-01T00:00:03.000Z"
    odd.write_text(as_lines(reports))
    told = refusal(replay(str(odd), "--policy", "incremental"))
    assert "odd has 20,454 days between two micro-batches of name of q1" in told
    assert "from 1970-01-01T00:00:03+00:00 to 2026-01-01T00:00:00+00:00. If one of" in told


def test_a_week_without_rows_is_replayed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    week = 7 * 86_400.0
    after = [progress(6 + n, week + 10.0 * n, 3.0, 400) for n in range(6)]
    log.write_text(as_lines(burst(6) + after))
    (found,) = as_json(str(log), "--policy", "incremental")["recordings"]
    assert found["seconds"] == pytest.approx(week + 53)
    assert found["policies"][0]["rows"] == found["rows"]


def test_the_policies_are_those_of_run() -> None:
    assert {*USUAL, "q-learning"} == set(ADAPTING)
    for name in USUAL:
        assert policy_named(name, 2, 3).rails.max_slots == 3  # type: ignore[attr-defined]
    assert policy_named("static:7", 1, 2) == Static(7)
    assert policy_named("static", 1, 2) == Static()


@pytest.mark.slow
def test_a_long_log_is_replayed_in_processes_with_the_same_outcome(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = ["--policy", "static:4", "--policy", "incremental"]
    alone = as_json(log, *tried)
    monkeypatch.setattr(replay_log, "LONG_BATCHES", 10)
    assert as_json(log, *tried) == alone


def test_slots_over_time_show_peaks() -> None:
    timeline = ((0.0, 1), (2.0, 9), (2.5, 1), (7.0, 4))
    done = Replayed((ReplayedBatch(0.0, 10.0, 1, 1, 0),), timeline, 0, 0, 0, 0, 0, ())
    drawn = slots_over_time(Outcome("p", done), recording(batch(0, 10, 1)), columns=5)
    assert drawn == [1, 9, 1, 4, 4]


@pytest.mark.slow
def test_a_long_log_is_read_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(as_lines([progress(n, 10.0 * n, 3.0, 400 + n % 7) for n in range(100_000)]))
    command = [sys.executable, "-m", "penstock", "replay", str(path), "--policy", "static:4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "100,000 micro-batches every 10 s" in done.stdout
