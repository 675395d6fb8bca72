"""Journals that are damaged, of another program or another version, and all that reads them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fuzz.calling import QUICK_PHASES, strict_json, within
from fuzz.mutations import ODD, damaged, mutated, nested, twice_each_key
from penstock.cli import app
from penstock.dashboard.watched import WatchedJournal
from penstock.errors import PenstockError
from penstock.journal.control_file import read_control
from penstock.journal.events import FaultSeen
from penstock.journal.lines import SCHEMA_VERSION
from penstock.journal.reader import read
from penstock.journal.writer import JournalWriter
from penstock.metrics.journal_metrics import JournalMetrics

SAMPLE = Path(__file__).parents[1] / "journal" / "schema-1.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
COMMANDS = (
    ("report", "--json"),
    ("replay", "--json"),
    ("agree", "--json"),
    ("skyline", "--json"),
)


def readers(journal: Path) -> None:
    """Let all that reads journals read one; fail where one does more than refuse it."""
    with within():
        for look in (_events, _dashboard, _metrics):
            with suppress(PenstockError):
                look(journal)
    for command, *options in COMMANDS:
        with within():
            result = CliRunner().invoke(app, [command, str(journal), *options])
        assert result.exit_code in (0, 2), (command, result.output, result.exception)
        if result.exit_code == 0:
            strict_json(result.stdout)
        else:
            assert len(result.stderr.strip().splitlines()) == 1, result.stderr


def _events(journal: Path) -> None:
    assert all(event.body is not None for event in read(journal))


def _dashboard(journal: Path) -> None:
    watched = WatchedJournal(journal)
    watched.glance(lambda: False)
    watched.refresh(lambda: False)
    for query in watched.shown.queries:
        repr(query)
    watched.close()


def _metrics(journal: Path) -> None:
    metrics = JournalMetrics("here")
    for event in read(journal):
        metrics.take(event)
    list(metrics.queries())


def writes_on(journal: Path) -> None:
    """Let a query go on with the journal: whatever is in it, its own events must get there."""
    with JournalWriter(journal) as writer:
        writer.write(FaultSeen(None, "test", "it goes on"))
    assert b"it goes on" in b"".join(
        each.read_bytes() for each in journal.glob("journal-*.jsonl") if each.is_file()
    )


def written(directory: Path, content: bytes) -> Path:
    journal = directory / "journal"
    journal.mkdir(exist_ok=True)
    for each in journal.iterdir():
        each.unlink()
    (journal / "journal-00000000.jsonl").write_bytes(content)
    return journal


def as_lines(events: list[Any]) -> bytes:
    return "".join(f"{json.dumps(each)}\n" for each in events).encode()


@given(st.data())
@settings(max_examples=25, suppress_health_check=list(HealthCheck), phases=QUICK_PHASES)
def test_events_of_which_something_is_wrong(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(LINES), min_size=3, max_size=12))
    events = [data.draw(mutated(each)) if data.draw(st.booleans()) else each for each in chosen]
    journal = written(tmp_path_factory.mktemp("events"), as_lines(events))
    readers(journal)
    writes_on(journal)


@given(content=damaged(SAMPLE.read_bytes()))
@settings(max_examples=12, suppress_health_check=list(HealthCheck), phases=QUICK_PHASES)
@example(content=b"[" * 100_000 + b"\n")
@example(content=b'{"v":1,"seq":1e999,"at":1,"kind":"BatchSkipped","batch_id":1}\n')
@example(content=b'{"v":1,"seq":1,"at":1e999,"kind":"BatchSkipped","batch_id":1}\n')
@example(content=b'{"v":99,"seq":1,"at":1,"kind":"BatchSkipped","batch_id":1}\n')
def test_a_journal_that_is_damaged(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    journal = written(tmp_path_factory.mktemp("damaged"), content)
    readers(journal)
    writes_on(journal)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:20])
def test_every_number_and_text_may_be_odd(tmp_path: Path, odd: Any) -> None:
    events = [{**line, key: odd} for line in LINES for key in line if key not in ("v", "kind")]
    readers(written(tmp_path, as_lines(events)))


@pytest.mark.parametrize("far", [1e16, -1e16, 2.0**62, 1e300, 5e-324])
def test_a_page_is_short_whatever_time_a_batch_ended(tmp_path: Path, far: float) -> None:
    batches = [line for line in LINES if line["kind"] == "BatchFinished"]
    odd = batches[-1] | {"observation": batches[-1]["observation"] | {"at_seconds": far}}
    journal = written(tmp_path, as_lines([*LINES, *batches, odd]))
    page = tmp_path / "page.html"
    with within():
        result = CliRunner().invoke(app, ["report", str(journal), "--html", str(page)])
    assert result.exit_code == 0, (result.output, result.exception)
    assert page.stat().st_size < 1_000_000
    readers(journal)


def test_keys_that_come_twice_and_values_that_are_deep(tmp_path: Path) -> None:
    twice = "".join(f"{twice_each_key(line)}\n" for line in LINES).encode()
    deep = as_lines([{**line, "observation": nested(1, 900)} for line in LINES])
    readers(written(tmp_path, twice + deep))


def test_what_is_no_file_in_the_place_of_one(tmp_path: Path) -> None:
    journal = written(tmp_path, SAMPLE.read_bytes())
    (journal / "journal-00000001.jsonl").mkdir()
    (journal / "journal-00000002.jsonl").symlink_to("journal-00000002.jsonl")
    (journal / "journal-00000003.jsonl").symlink_to("gone")
    readers(journal)
    with JournalWriter(journal) as writer:
        writer.write(FaultSeen(None, "test", "it goes on"))


@given(content=st.binary(max_size=60) | damaged(b'{"v":1,"paused":false,"by":"me","at":1.0}'))
@settings(max_examples=40, suppress_health_check=list(HealthCheck), phases=QUICK_PHASES)
@example(content=b'{"v":1e999}')
@example(content=b"[" * 4_000)
def test_a_control_that_is_none(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    directory = tmp_path_factory.mktemp("control")
    (directory / "control.json").write_bytes(content)
    with suppress(PenstockError):
        read_control(directory)


def test_a_newer_schema_is_refused_with_what_to_do(tmp_path: Path) -> None:
    newer = {**LINES[0], "v": SCHEMA_VERSION + 1}
    journal = written(tmp_path, as_lines([newer]))
    with pytest.raises(PenstockError, match=r"pip install --upgrade penstock"):
        list(read(journal))
