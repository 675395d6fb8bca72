"""Logs as people keep them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.errors import ConfigurationError
from penstock.journal import JournalWriter
from penstock.journal.events import BatchFinished, QueryStarted
from penstock.replay.reading import read_recordings
from penstock.replay.recording import Recording, require_enough
from replay.loads import ORIGIN, as_lines, burst, progress

LOGGED = burst(12)


def read(path: Path, text: str) -> list[Recording]:
    path.write_text(text)
    return read_recordings(path)


def spark_log(reports: list[dict[str, Any]]) -> str:
    head = "26/01/01 00:00:10 INFO MicroBatchExecution: "
    parts = [f"{head}Starting new streaming query: {{name}}.\n"]
    for report in reports:
        pretty = json.dumps(report, indent=2).replace('": ', '" : ')
        parts.append(f"{head}Streaming query made progress: {pretty}\n{head}Commit {{1}}\n")
    return "".join(parts)


WAYS = {
    "lines": as_lines,
    "lines with text before them": lambda reports: "".join(
        f"[INFO] 10:00 Streaming query made progress: {json.dumps(each)}\n" for each in reports
    ),
    "Spark's log": spark_log,
    "a list": json.dumps,
    "a list over many lines": lambda reports: json.dumps(reports, indent=2),
    "an event log": lambda reports: "".join(
        f"{json.dumps({'Event': 'QueryProgressEvent', 'progress': each})}\n" for each in reports
    ),
    "progress as text in an event": lambda reports: "".join(
        f"{json.dumps({'progress': json.dumps(each)})}\n" for each in reports
    ),
    "lines among others": lambda reports: "\n".join(
        ["", "no JSON {", '{"a": 1}', '{"batchId": 3}', *map(json.dumps, reports), "{"]
    ),
}


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS.keys())
def test_all_batches_are_found(tmp_path: Path, write: Any) -> None:
    (found,) = read(tmp_path / "log", write(LOGGED))
    assert (found.title, found.run_id, found.trigger_seconds) == ("name of q1", "r1", 10.0)
    assert [batch.rows for batch in found.batches] == [each["numInputRows"] for each in LOGGED]
    assert found.started_seconds == ORIGIN
    assert found.batches[3].seconds == LOGGED[3]["durationMs"]["triggerExecution"] / 1_000


def test_queries_and_runs_are_kept_apart(tmp_path: Path) -> None:
    logs = [burst(8), burst(6, run="r2"), burst(7, query="q2")]
    mixed = [each for together in zip(*[log[:6] for log in logs], strict=True) for each in together]
    mixed += logs[0][6:] + logs[2][6:]
    found = read(tmp_path / "log", as_lines(mixed))
    assert [(each.title, each.run_id, len(each.batches)) for each in found] == [
        ("name of q1", "r1", 8),
        ("name of q1", "r2", 6),
        ("name of q2", "r1", 7),
    ]


def test_reports_without_a_batch_are_no_batches(tmp_path: Path) -> None:
    idle = progress(3, 500.0, 0.01, 0)
    idle["durationMs"].pop("addBatch")
    (found,) = read(tmp_path / "log", as_lines([*LOGGED, idle]))
    assert len(found.batches) == len(LOGGED)


def test_what_waits_counts_where_every_source_tells(tmp_path: Path) -> None:
    report = progress(0, 0.0, 1.0, 10)
    kafka = {**report["sources"][0], "endOffset": {"c": {"0": 3}}, "latestOffset": {"c": {"0": 9}}}
    both = [kafka, {"description": "RateStream", "numInputRows": 1}]
    one, two = read(
        tmp_path / "log",
        as_lines([{**report, "sources": [kafka]}, {**report, "runId": "2", "sources": both}]),
    )
    assert (one.batches[0].waiting_rows, two.batches[0].waiting_rows) == (6, None)


def test_how_far_it_has_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(as_lines(burst(5)) + "\n" * 3_000)
    told: list[float] = []
    read_recordings(path, told.append)
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] <= 1


def observation(number: int, slots: int, used: int | None = None) -> Observation:
    work = OperatorObservation("f", 50, 50, 1.0, slots, 0.5, 0.25)
    return Observation(
        number, 10.0 * number + 2, 2.0, 10.0, slots, (work,),
        (SourceObservation("s", 50, 7),), used_slots=used,
    )  # fmt: skip


def test_a_journal(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "j") as journal:
        for run in range(2):
            journal.write(QueryStarted("id", f"run {run}", "", "0.1", "4.3", 4))
            for number in range(6):
                journal.write(BatchFinished(observation(number, 4, used=3 if run else None)))
    first, second = read_recordings(tmp_path / "j")
    assert (first.title, second.title, len(first.batches)) == ("run 0", "run 1", 6)
    assert (first.batches[1].started_seconds, first.trigger_seconds) == (10.0, 10.0)
    assert [found.batches[0].slots for found in (first, second)] == [4, 3]
    segment = next((tmp_path / "j").glob("*.jsonl"))
    assert read_recordings(segment) == [first, second]


def test_a_journal_of_several_queries(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "j") as journal:
        for number in range(6):
            for query in ("clicks", "views"):
                journal.write(BatchFinished(observation(number, 4), query=query))
            journal.write(QueryStarted("id", "another", "", "0.1", "4.3", 4))
        idle = Observation(6, 99.0, 0.0, 10.0, 4)
        journal.write(BatchFinished(idle, query="views"))
    found = read_recordings(tmp_path / "j")
    assert [(each.title, len(each.batches)) for each in found] == [("clicks", 6), ("views", 6)]


def test_runs_of_one_query_in_a_journal_of_several_are_taken_apart(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "j") as journal:
        for query in ("clicks", "views", "clicks"):
            journal.write(QueryStarted("id", query, "", "0.1", "4.3", 4))
            for number in range(6):
                journal.write(BatchFinished(observation(number, 4), query=query))
    found = read_recordings(tmp_path / "j")
    assert [(each.title, each.run_id, len(each.batches)) for each in found] == [
        ("clicks", "1", 6),
        ("views", "1", 6),
        ("clicks", "2", 6),
    ]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"there is nothing at .*gone\.jsonl\. Name a file"
    ):
        read_recordings(tmp_path / "gone.jsonl")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever runs the tests may read every file, where it is the superuser.
    def refuse(self: Path, *args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    path = tmp_path / "log"
    path.write_text(as_lines(LOGGED))
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ConfigurationError, match="log can't be read: Permission denied"):
        read_recordings(path)


@pytest.mark.parametrize("text", ["", "\n\n", "no JSON\n", '{"a": 1}\n', "[1, 2]", "[", "{\n" * 9])
def test_no_progress_in_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"holds no progress .* event\.progress\.json"):
        read(tmp_path / "log", text)


def test_a_directory_without_a_journal(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no journal in"):
        read_recordings(tmp_path)


def test_a_checkpoint_has_its_journal_inside(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "journal") as journal:
        journal.write(QueryStarted("id", "clicks", "", "0.1", "4.3", 4))
        journal.write(BatchFinished(observation(0, 4)))
    (found,) = read_recordings(tmp_path)
    assert found == read_recordings(tmp_path / "journal")[0]


def test_a_journal_without_batches(tmp_path: Path) -> None:
    JournalWriter(str(tmp_path)).close()
    with pytest.raises(ConfigurationError, match="is no journal with micro-batches in it"):
        read_recordings(tmp_path)


def test_too_few_batches(tmp_path: Path) -> None:
    found = read(tmp_path / "log", as_lines(burst(4) + burst(2, run="r2")))
    with pytest.raises(
        ConfigurationError, match=r"log has too few micro-batches: 4 in its longest"
    ):
        require_enough(found, "log")
    longer = read(tmp_path / "log", as_lines(burst(5) + burst(2, run="r2")))
    assert [each.run_id for each in require_enough(longer, "log")] == ["r1"]
