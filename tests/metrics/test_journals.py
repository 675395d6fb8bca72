"""Restarts, long journals, several of them, and lines that are none."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from journal.strategies import journals
from metrics.written import BEGAN, batch, exported, parsed, started, value, write
from penstock.elasticity.decision import Decision
from penstock.journal import (
    DecisionMade,
    Event,
    FaultSeen,
    JournalWriter,
    QueryStarted,
    QueryStopped,
    SlotsChanged,
    TopologyPlanned,
    to_json,
)
from penstock.metrics.catalogue import METRICS
from penstock.metrics.collector import JournalCollector
from penstock.metrics.counting import count
from penstock.metrics.exposition import as_text
from penstock.metrics.query_metrics import QueryMetrics

ENDED = QueryStopped("ended")


def test_counters_go_on_through_restarts(tmp_path: Path) -> None:
    write(tmp_path, [started(), batch(0), SlotsChanged(9, 9, 9, 9, "came"), ENDED])
    write(tmp_path, [started(slots=2), batch(1), QueryStopped("failed", "disk full")])
    write(tmp_path, [started(slots=2), batch(2, slots=2)])
    found = exported(tmp_path)
    assert value(found, "penstock_batches_total") == 3
    assert value(found, "penstock_source_rows_total", source="clicks") == 300
    assert value(found, "penstock_query_restarts_total") == 2
    assert value(found, "penstock_query_failures_total") == 1
    assert value(found, "penstock_query_up") == 1
    assert value(found, "penstock_slots_observed") == 2
    assert value(found, "penstock_slots_warm") is None  # of a run that ended


def test_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    write(tmp_path, [started(), batch(0)])
    collector = JournalCollector([tmp_path])
    assert value(parsed(as_text(collector)), "penstock_batches_total") == 1
    with (tmp_path / "journal-00000001.jsonl").open("r+b") as file:
        file.write(b"#" * 20)  # what was read is never read again
    write(tmp_path, [batch(1)], first_seq=3)
    found = parsed(as_text(collector))
    assert value(found, "penstock_batches_total") == 2
    assert value(found, "penstock_journal_lines_total", journal=str(tmp_path)) == 3
    assert value(found, "penstock_journal_corrupt_lines_total", journal=str(tmp_path)) == 0


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    write(tmp_path, [started(), batch(0), batch(1)])
    segment = tmp_path / "journal-00000001.jsonl"
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-30])
    collector = JournalCollector([tmp_path])
    assert value(parsed(as_text(collector)), "penstock_batches_total") == 1
    with segment.open("ab") as file:
        file.write(whole[-30:])
    assert value(parsed(as_text(collector)), "penstock_batches_total") == 2


def test_a_journal_whose_beginning_was_deleted(tmp_path: Path) -> None:
    write(tmp_path / "taxis" / "journal", [batch(7), batch(8)], first_seq=41)
    found = exported(tmp_path / "taxis" / "journal")
    assert value(found, "penstock_batches_total", query="taxis") == 2
    # The label is the journal's path, cut where that is long.
    assert [
        missed
        for (name, _), missed in found.items()
        if name == "penstock_journal_missed_events_total"
    ] == [40]
    write(tmp_path / "taxis" / "journal", [started(), batch(9)], first_seq=43)
    found = exported(tmp_path / "taxis" / "journal")
    assert value(found, "penstock_batches_total") == 3
    assert value(found, "penstock_query_restarts_total") == 1


def test_a_query_whose_start_was_deleted_keeps_its_name(tmp_path: Path) -> None:
    """Whoever reads a long journal for the first time finds the start in no segment any more."""
    with JournalWriter(tmp_path / "ck", segment_bytes=2_000, max_segments=2) as journal:
        for body in (started(), TopologyPlanned(0, ()), *(batch(n) for n in range(20))):
            journal.write(body)
            assert journal.flush(30.0)
    found = exported(tmp_path / "ck")
    assert value(found, "penstock_query_up") == 1
    assert value(found, "penstock_query_restarts_total") == 0
    counted = value(found, "penstock_batches_total")
    assert counted is not None
    assert 0 < counted < 20
    assert ("penstock_query_info", "q-1") in {
        (name, dict(labels).get("query_id")) for name, labels in found
    }
    assert {dict(labels).get("query") for _, labels in found} == {"clicks", None}
    with JournalWriter(tmp_path / "ck", segment_bytes=2_000, max_segments=2) as journal:
        journal.write(started())
    assert value(exported(tmp_path / "ck"), "penstock_query_restarts_total") == 1


def test_a_journal_begun_anew_is_another_query(tmp_path: Path) -> None:
    write(tmp_path / "j", [started(), batch(0), batch(1), ENDED])
    collector = JournalCollector([tmp_path / "j"])
    collector.read_on()
    shutil.rmtree(tmp_path / "j")
    write(tmp_path / "j", [started("other job"), batch(0)])
    found = parsed(as_text(collector))
    assert value(found, "penstock_batches_total", query="other job") == 1
    assert value(found, "penstock_query_restarts_total", query="other job") == 0
    assert value(found, "penstock_batches_total") is None


def test_lines_that_are_no_events_are_counted(tmp_path: Path) -> None:
    write(tmp_path, [started(), batch(0)])
    with (tmp_path / "journal-00000001.jsonl").open("a") as file:
        file.write('no event\n{"v":1,"seq":3,"at":1.0,"kind":"Novelty","x":1}\n')
    found = exported(tmp_path)
    assert value(found, "penstock_journal_lines_total", journal=str(tmp_path)) == 4
    assert value(found, "penstock_journal_corrupt_lines_total", journal=str(tmp_path)) == 1
    assert value(found, "penstock_journal_readable", journal=str(tmp_path)) == 1


def test_a_newer_journal_is_told_and_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    write(tmp_path / "new", [started("new"), batch(0)])
    with (tmp_path / "new" / "journal-00000001.jsonl").open("a") as file:
        file.write('{"v":99,"seq":3,"at":1.0,"kind":"BatchSkipped","batch_id":1}\n' * 2)
    write(tmp_path / "old", [started(), batch(0)])
    collector = JournalCollector([tmp_path / "new", tmp_path / "old"])
    for _ in range(4):
        found = parsed(as_text(collector))
        new = str(tmp_path / "new")
        assert value(found, "penstock_journal_readable", journal=new) == 0
        assert value(found, "penstock_journal_lines_total", journal=new) == 2
        assert value(found, "penstock_batches_total") == 1
    (problem,) = collector.problems
    assert "schema 99" in problem


def test_one_file_of_a_journal(tmp_path: Path) -> None:
    write(tmp_path, [started(), batch(0)])
    file = tmp_path / "journal-00000001.jsonl"
    collector = JournalCollector([file])
    assert value(parsed(as_text(collector)), "penstock_batches_total") == 1
    line = file.read_text().splitlines()[1].replace('"seq":2', '"seq":3')
    with file.open("a") as more:
        more.write(line + "\n")
    assert value(parsed(as_text(collector)), "penstock_batches_total") == 2


def test_queries_of_one_name_are_told_apart_in_any_order(tmp_path: Path) -> None:
    a = write(tmp_path / "a" / "journal", [started("penstock", "q-1"), batch(0)])
    b = write(tmp_path / "b" / "journal", [started("penstock", "q-2"), batch(0), batch(1)])
    for journals_ in ((a, b), (b, a)):
        found = exported(*journals_)
        assert value(found, "penstock_batches_total", query="penstock@a") == 1
        assert value(found, "penstock_batches_total", query="penstock@b") == 2
    # The same query twice is told apart too, rather than exported as one sample twice.
    other = write(tmp_path / "c" / "a" / "journal", [started("penstock", "q-3"), batch(0)])
    found = exported(a, other)
    assert value(found, "penstock_batches_total", query="penstock@a") == 1
    assert value(found, "penstock_batches_total", query="penstock@a#2") == 1


def autoscaled(tmp_path: Path) -> Path:
    decided = DecisionMade(-1, Decision(2, "the start"), "clicks")
    return write(
        tmp_path / "scaling",
        [
            SlotsChanged(2, 2, 2, 2, "there are 2"),
            started("clicks"),
            decided,
            batch(0, query="clicks"),
            started("taxis", "q-2"),
            batch(4, query="taxis", rows=7),
            SlotsChanged(5, 5, 2, 2, "both"),
            FaultSeen(None, "watching a query failed", "oh"),
            QueryStopped("ended", None, "clicks"),
            started("clicks"),
            batch(1, query="clicks"),
            QueryStopped("ended", None, "taxis"),
        ],
    )


def test_a_journal_of_several_queries(tmp_path: Path) -> None:
    found = exported(autoscaled(tmp_path))
    assert value(found, "penstock_source_rows_total", source="clicks") == 200
    assert value(found, "penstock_source_rows_total", source="clicks", query="taxis") == 7
    assert value(found, "penstock_query_up") == 1
    assert value(found, "penstock_query_up", query="taxis") == 0
    assert value(found, "penstock_query_restarts_total") == 1
    assert value(found, "penstock_query_restarts_total", query="taxis") == 0
    assert value(found, "penstock_decisions_total") == 1
    # What they share is of neither.
    assert value(found, "penstock_slots_requested", query="scaling") == 5
    assert value(found, "penstock_slots_requested") is None
    assert (
        value(found, "penstock_faults_total", query="scaling", kind="watching a query failed") == 1
    )
    assert value(found, "penstock_query_up", query="scaling") is None


def test_a_journal_of_several_queries_looked_at_between_two_lines(tmp_path: Path) -> None:
    whole = autoscaled(tmp_path)
    lines = (whole / "journal-00000001.jsonl").read_text().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        part = tmp_path / f"part-{cut}" / "scaling"
        part.mkdir(parents=True)
        segment = part / "journal-00000001.jsonl"
        segment.write_text("".join(lines[:cut]))
        collector = JournalCollector([part])
        as_text(collector)
        with segment.open("a") as file:
            file.write("".join(lines[cut:]))
        found, wanted = parsed(as_text(collector)), exported(whole)
        for name in ("penstock_batches_total", "penstock_query_up"):
            for query in ("clicks", "taxis"):
                assert value(found, name, query=query) == value(wanted, name, query=query)


def _counted(query: QueryMetrics) -> dict[tuple[str, ...], float]:
    return {
        (metric.name, *labels): number
        for metric in METRICS
        if metric.kind == "counter"
        for labels, number in query.tally.of(metric)
    }


@given(journals(max_size=12))
def test_counters_never_fall(events: list[Event]) -> None:
    query, before = QueryMetrics(), {}
    for event in events:
        if isinstance(event.body, QueryStarted):
            query.start(event.body, is_restart=True)
        count(query, event.body)
        now = _counted(query)
        assert all(now[key] >= number for key, number in before.items())
        before = now


@given(journals(max_size=12), st.integers(0, 12))
def test_any_journal_is_exported_the_same_whenever_it_is_read(
    events: list[Event], cut: int
) -> None:
    with TemporaryDirectory() as directory:
        segment = Path(directory) / "journal-00000001.jsonl"
        lines = [to_json(event) + "\n" for event in events]
        segment.write_text("".join(lines[:cut]))
        collector = JournalCollector([Path(directory)])
        collector.read_on()
        with segment.open("a") as file:
            file.write("".join(lines[cut:]))
        assert parsed(as_text(collector)) == exported(Path(directory))


def test_the_last_event_is_told_for_alerts(tmp_path: Path) -> None:
    found = exported(write(tmp_path, [started(), batch(0)]))
    assert value(found, "penstock_last_event_timestamp_seconds") == BEGAN + 2
