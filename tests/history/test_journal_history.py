"""Histories of journals: what they keep, and that they never read a line again."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from itertools import pairwise
from math import inf, isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.strategies import journals
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.history.journal_history import MOST_QUERIES, JournalHistory
from penstock.history.query_history import QueryHistory
from penstock.journal.events import (
    BatchFinished,
    ControlTaken,
    DecisionMade,
    FaultSeen,
    ForecastMade,
    QueryStarted,
    QueryStopped,
    RowsFailed,
    SlotsChanged,
)
from penstock.journal.lines import Event, to_json
from penstock.journal.reader import read
from penstock.journal.segments import segment_path
from penstock.journal.topology_events import PlannedOperator, StartedQuery, TopologyPlanned
from penstock.journal.window_events import RowsLate

STARTED = QueryStarted("id", "shop", "", "1.0", "4.3", 4)


def batch(number: int, *, rows: int = 100, waiting: int | None = 0, seconds: float = 0.5,
          query: str | None = None, used: int = 2) -> BatchFinished:  # fmt: skip
    operator = OperatorObservation("score", rows, rows, 0.2, used, 0.12, 0.1, 1)
    source = SourceObservation("clicks", rows, waiting)
    at = float(number)
    seen = Observation(number, at, seconds, 1.0, 4, (operator,), (source,), 2, used, 8)
    return BatchFinished(seen, at - 5.0, at, query)


def append(directory: Path, events: Iterable[tuple[float, Any]], segment: int = 1) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    with segment_path(directory, segment).open("a") as file:
        file.writelines(f"{to_json(Event(1, at, body))}\n" for at, body in events)
    return directory


def batches(numbers: range, **fields: Any) -> list[tuple[float, BatchFinished]]:
    return [(float(n), batch(n, **fields)) for n in numbers]


def of(directory: Path) -> QueryHistory:
    history = JournalHistory(directory)
    history.refresh()
    history.close()
    assert history.problem is None
    (query,) = history.queries
    return query


class BytesRead:
    """Counts what is read of all files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        pread = os.pread

        def counted(file: int, size: int, offset: int) -> bytes:
            data = pread(file, size, offset)
            self.bytes += len(data)
            return data

        monkeypatch.setattr(os, "pread", counted)


class TestFollowing:
    def test_a_growing_journal_is_read_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        append(tmp_path, batches(range(1, 1_001)))
        history = JournalHistory(tmp_path)
        assert history.refresh()
        assert not history.refresh()
        size = segment_path(tmp_path, 1).stat().st_size
        read_since = BytesRead(monkeypatch)
        append(tmp_path, batches(range(1_001, 1_011)))
        append(tmp_path, batches(range(1_011, 1_021)), segment=2)
        assert history.refresh()
        (query,) = history.queries
        assert query.batch_count == 1_020
        assert history.revision == 1_020
        new = sum(segment_path(tmp_path, n).stat().st_size for n in (1, 2)) - size
        # A byte more for each look at whether the file is still the one that it was.
        assert new <= read_since.bytes <= new + 10
        history.close()

    def test_half_a_line_waits_for_its_other_half(self, tmp_path: Path) -> None:
        append(tmp_path, batches(range(1, 3)))
        text = f"{to_json(Event(3, 3.0, batch(3)))}\n"
        history = JournalHistory(tmp_path)
        for part, count in ((text[:40], 2), (text[40:-1], 2), (text[-1:], 3)):
            with segment_path(tmp_path, 1).open("a") as file:
                file.write(part)
            history.refresh()
            assert history.queries[0].batch_count == count
            assert history.queries[0].faults.corrupt_lines == 0
        history.close()

    def test_a_journal_that_was_replaced_is_read_from_its_start(self, tmp_path: Path) -> None:
        journal = append(tmp_path / "j", batches(range(1, 11)))
        history = JournalHistory(journal)
        history.refresh()
        # The old file stays open, so that the new one can't have its number.
        segment_path(journal, 1).rename(tmp_path / "old")
        append(journal, [(1.0, STARTED), *batches(range(1, 4), rows=7)])
        assert history.refresh()
        (query,) = history.queries
        assert (query.batch_count, query.total_rows) == (3, 21)
        assert query.started == STARTED
        history.close()

    def test_segments_that_are_deleted_are_passed_over(self, tmp_path: Path) -> None:
        append(tmp_path, batches(range(1, 11)))
        history = JournalHistory(tmp_path)
        history.refresh()
        append(tmp_path, batches(range(11, 21)), segment=2)
        append(tmp_path, batches(range(21, 31)), segment=3)
        segment_path(tmp_path, 1).unlink()
        segment_path(tmp_path, 2).unlink()
        history.refresh()
        assert history.problem is None
        assert history.queries[0].batch_count == 20
        assert history.queries[0].batches.last()["batch"] == 30
        history.close()

    def test_a_journal_may_come_later(self, tmp_path: Path) -> None:
        history = JournalHistory(tmp_path / "ck")
        assert not history.refresh()
        assert "there is nothing at" in (history.problem or "")
        append(tmp_path / "ck" / "journal", batches(range(1, 3)))
        assert history.refresh()
        assert history.problem is None
        assert history.queries[0].batch_count == 2
        history.close()

    def test_reading_can_be_broken_off_and_goes_on(self, tmp_path: Path) -> None:
        append(tmp_path, batches(range(1, 1_301)))
        history = JournalHistory(tmp_path)
        shares = []

        def stop() -> bool:
            shares.append(history.share_read)
            return True

        counts = []
        while history.refresh(stop):
            counts.append(history.queries[0].batch_count)
        assert counts == [500, 1_000, 1_300]
        assert shares == sorted(shares)
        assert shares[0] == pytest.approx(500 / 1_300, abs=0.02)
        history.close()

    def test_one_file_is_read_once(self, tmp_path: Path) -> None:
        append(tmp_path, batches(range(1, 5)))
        history = JournalHistory(segment_path(tmp_path, 1))
        assert history.refresh()
        assert not history.refresh()
        assert history.queries[0].batch_count == 4

    def test_one_file_that_grows_is_followed_and_one_replaced_is_read_anew(
        self, tmp_path: Path
    ) -> None:
        file = segment_path(append(tmp_path, batches(range(1, 5))), 1)
        history = JournalHistory(file)
        history.refresh()
        append(tmp_path, batches(range(5, 8)))
        assert history.refresh()
        assert history.queries[0].batch_count == 7
        file.unlink()
        history.refresh()
        assert "No such file" in str(history.problem)
        append(tmp_path, batches(range(8, 10)))
        history.refresh()
        assert history.problem is None
        assert history.queries[0].batch_count == 2


class TestWhatCannotBeRead:
    def test_corrupt_lines_are_counted_and_reading_goes_on(self, tmp_path: Path) -> None:
        append(tmp_path, batches(range(1, 3)))
        with segment_path(tmp_path, 1).open("a") as file:
            file.write("nonsense\n")
        append(tmp_path, batches(range(3, 5)))
        query = of(tmp_path)
        assert query.batch_count == 4
        assert query.faults.corrupt_lines == 1
        assert query.faults.newest_corrupt is not None
        assert query.faults.newest_corrupt.line == 3

    def test_a_newer_schema_stays_told_and_the_rest_is_read(self, tmp_path: Path) -> None:
        append(tmp_path, batches(range(1, 3)))
        with segment_path(tmp_path, 1).open("a") as file:
            file.write('{"v":2,"seq":3,"at":3.0,"kind":"BatchSkipped","batch_id":1}\n')
        append(tmp_path, batches(range(3, 5)))
        history = JournalHistory(tmp_path)
        for _ in range(2):
            history.refresh()
            assert "schema 2" in (history.problem or "")
            assert history.queries[0].batch_count == 4
        history.close()

    def test_numbers_too_large_for_any_table_are_corrupt(self, tmp_path: Path) -> None:
        append(tmp_path, [(1.0, batch(1, rows=10**400)), (2.0, batch(2))])
        query = of(tmp_path)
        assert query.faults.corrupt_lines == 1
        assert query.batches.last()["batch"] == 2

    def test_a_line_that_fails_to_be_taken_in_costs_no_other(self, tmp_path: Path) -> None:
        append(tmp_path, batches(range(1, 4)))
        history = JournalHistory(tmp_path)
        history.refresh()
        (query,) = history.queries
        # Memory that somebody looks at can't grow: this makes every batch fail, and no fault.
        seen = memoryview(query.batches._cells)
        append(tmp_path, [*batches(range(4, 7)), (6.0, FaultSeen(6, "lost", "a node"))])
        history.refresh()
        assert query.faults.corrupt_lines == 3
        assert query.faults.newest_corrupt is not None
        assert (query.faults.newest_corrupt.line, len(query.faults.newest)) == (6, 1)
        seen.release()
        append(tmp_path, batches(range(7, 8)))
        history.refresh()
        history.close()
        assert query.batches.column("batch").tolist() == [1.0, 2.0, 3.0, 7.0]

    def test_what_fails_for_no_fault_of_the_journal_is_logged_once(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        append(tmp_path, [(1.0, batch(1, rows=10**400)), *batches(range(2, 5))])
        history = JournalHistory(tmp_path)
        with memoryview(history.queries[0].batches._cells):
            history.refresh()
        history.close()
        (told,) = caplog.records
        assert "line 2 is left out" in told.getMessage()
        assert "BufferError" in caplog.text

    def test_lines_before_a_file_that_fails_are_taken_in(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        append(tmp_path, batches(range(1, 4)))
        append(tmp_path, batches(range(4, 6)), segment=2)
        pread = os.pread
        broken = os.stat(segment_path(tmp_path, 2)).st_ino

        def fail(file: int, size: int, offset: int) -> bytes:
            if os.fstat(file).st_ino == broken:
                raise OSError("the disk is broken")
            return pread(file, size, offset)

        history = JournalHistory(tmp_path)
        with monkeypatch.context() as broken_disk:
            broken_disk.setattr(os, "pread", fail)
            assert history.refresh()
        assert history.problem == "the disk is broken"
        assert history.queries[0].batch_count == 3
        history.refresh()
        assert history.problem is None
        assert history.queries[0].batch_count == 5
        history.close()

    @settings(max_examples=60)
    @given(journals(max_size=12))
    def test_any_journal_has_a_history(self, events: list[Event]) -> None:
        import tempfile

        with tempfile.TemporaryDirectory() as directory:
            path = segment_path(Path(directory), 1)
            path.write_text("".join(f"{to_json(event)}\n" for event in events))
            history = JournalHistory(Path(directory))
            history.refresh()
            history.close()
            bodies = [event.body for event in read(directory)]
            finished = [body for body in bodies if isinstance(body, BatchFinished)]
            queries = [*history.queries, history._queries[""]]
            counted = {id(each): each.batch_count for each in queries}
            corrupt = history._queries[""].faults.corrupt_lines
            assert sum(counted.values()) <= len(finished) <= sum(counted.values()) + corrupt
            assert history.revision == len(events)


class TestNumbers:
    def test_of_the_messages_of_an_error_the_newest_is_kept_and_few_of_few_letters(
        self, tmp_path: Path
    ) -> None:
        told = [("ValueError", "old"), ("ValueError", "new" * 500)]
        told += [(f"Error{n}", "why") for n in range(2_000)]
        events = [(1.0, RowsFailed(1, "score", 1, {e: 1}, {e: message})) for e, message in told]
        kept = of(append(tmp_path, [(0.0, STARTED), *events])).faults.examples
        assert kept["score", "ValueError"] == ("new" * 500)[:200]
        assert len(kept) == 500

    def test_they_are_those_of_the_events(self, tmp_path: Path) -> None:
        events = [
            (0.0, STARTED),
            *batches(range(1, 101), waiting=5),
            (100.0, RowsFailed(100, "score", 3, {"ValueError": 2})),
            (100.0, RowsLate(100, "score", 4)),
            (100.0, SlotsChanged(8, 6, 4, 3, "why")),
            (100.0, FaultSeen(100, "executor lost", "node", 2)),
            (101.0, QueryStopped("asked")),
        ]
        query = of(append(tmp_path, events))
        assert (query.batch_count, query.total_rows, query.late_rows) == (100, 10_000, 4)
        assert query.failed_rows == 100
        # The first batch counts for its trigger, each other for the second since the one before.
        assert query.slot_seconds == 200.0
        assert query.saved_slot_seconds == 600.0
        assert query.faults.failed.largest() == [
            (("score", "ValueError"), 2),
            (("score", "not told"), 1),
        ]
        assert query.faults.executor_losses == 2
        assert query.slots.last() | {"count": 1.0} == {
            "at": 100.0, "planned": 8.0, "requested": 6.0, "observed": 4.0, "warm": 3.0,
            "count": 1.0,
        }  # fmt: skip
        assert not query.is_running
        busy = query.operators.buckets("score", -inf, inf, 1)
        assert busy["busy"].tolist() == pytest.approx([20.0])
        assert query.last_at_seconds == 101.0

    def test_a_clock_that_is_set_back_leaves_rates_and_slot_hours_as_they_are(
        self, tmp_path: Path
    ) -> None:
        times = [*range(10, 16), *range(4, 12)]
        query = of(append(tmp_path, [(float(n), batch(n)) for n in times]))
        assert query.batches.column("at").tolist() == [10.0, 11.0, 12.0, 13.0, 14.0] + [15.0] * 9
        assert query.batches.column("span").tolist() == [1.0] * 14
        assert query.slot_seconds == 28.0

    def test_a_run_that_begins_anew_does_not_pay_for_the_time_before(self, tmp_path: Path) -> None:
        again = [(400.0, STARTED), (400.5, batch(401)), (402.0, batch(402))]
        query = of(append(tmp_path, [(0.0, STARTED), *batches(range(1, 3)), *again]))
        assert query.batches.column("span").tolist() == [1.0, 1.0, 1.0, 1.0]
        assert query.slot_seconds == 8.0

    def test_a_time_that_nobody_knows_spoils_no_sum(self, tmp_path: Path) -> None:
        append(tmp_path, batches(range(1, 3)))
        with segment_path(tmp_path, 1).open("a") as file:
            for at in ("null", "1e999"):
                line = to_json(Event(1, 3.0, batch(3))).replace(
                    '"at_seconds":3.0', '"at_seconds":null'
                )
                file.write(line.replace('"at":3.0', f'"at":{at}') + "\n")
        query = of(append(tmp_path, batches(range(4, 6))))
        assert query.batch_count == 6
        assert query.batches.column("span").tolist() == [1.0, 1.0, 1.0, 1.0, 2.0, 1.0]
        assert query.slot_seconds == 14.0
        assert query.last_at_seconds == 5.0

    def test_a_night_without_a_run_is_not_counted_as_used(self, tmp_path: Path) -> None:
        night = [(1.0, batch(1)), (39_990.0, STARTED), (40_000.0, batch(40_000))]
        query = of(append(tmp_path, [(0.0, STARTED), *night]))
        assert query.batches.column("span").tolist() == [1.0, 1.0]
        assert query.slot_seconds == 4.0

    def test_a_night_of_a_run_without_rows_is_counted(self, tmp_path: Path) -> None:
        events = [(0.0, STARTED), (1.0, batch(1)), (40_001.0, batch(40_001))]
        query = of(append(tmp_path, events))
        assert query.batches.column("span").tolist() == [1.0, 40_000.0]
        assert query.slot_seconds == 2 * 40_001.0
        assert query.saved_slot_seconds == 6 * 40_001.0

    def test_operators_that_change_keep_their_own_numbers(self, tmp_path: Path) -> None:
        other = batch(2)
        renamed = OperatorObservation("rank", 1, 1, 0.7, 1, 0.7, 0.7)
        both = (*other.observation.operators, renamed)
        wider = BatchFinished(
            Observation(2, 2.0, 0.5, 1.0, 4, both, other.observation.sources), None
        )
        query = of(append(tmp_path, [(1.0, batch(1)), (2.0, wider), (3.0, wider)]))
        assert query.operators.names == ["score", "rank"]
        score = query.operators.buckets("score", -inf, inf, 100)
        assert score["at"].tolist() == [1.0, 2.0, 2.0]
        assert query.operators.buckets("rank", -inf, inf, 1)["busy"].sum() == pytest.approx(1.4)
        assert len(query.operators.buckets("nobody", -inf, inf, 1)) == 0
        assert isnan(query.operators.last("nobody")["busy"])

    def test_forecasts_are_rates_of_the_sources(self, tmp_path: Path) -> None:
        plan = (PlannedOperator("clicks", "source", ""), PlannedOperator("score", "map", ""))
        rows = {"clicks": 300.0, "score": 9_000.0}
        told = ForecastMade(1, 30.0, rows, None, {"clicks": 150.0}, {"clicks": 600.0})
        query = of(append(tmp_path, [(0.0, TopologyPlanned(0, plan)), (1.0, told)]))
        last = query.decisions.forecasts.last()
        assert (last["rate"], last["low"], last["high"]) == (10.0, 5.0, 20.0)

    def test_a_start_that_was_deleted_is_told_by_the_segment(self, tmp_path: Path) -> None:
        told = StartedQuery("id", "shop", "1.0", "4.3", 4)
        query = of(append(tmp_path, [(1.0, batch(1)), (1.0, TopologyPlanned(1, (), told))]))
        assert query.started == told
        assert query.faults.restarts == 0


class TestSeveralQueries:
    def test_each_has_its_own_numbers_and_all_share_the_slots(self, tmp_path: Path) -> None:
        events = [(0.0, SlotsChanged(4, 4, 4, 4, "begin")), (0.0, FaultSeen(None, "lost", "x"))]
        for n in range(1, 11):
            events += [(float(n), batch(n, rows=10, query="a"))]  # type: ignore[list-item]
            events += [(float(n), batch(n, rows=30, query="b"))]  # type: ignore[list-item]
        events += [(10.0, DecisionMade(10, Decision(3, "why"), "b"))]  # type: ignore[list-item]
        events += [(11.0, QueryStopped("asked", None, "a"))]  # type: ignore[list-item]
        history = JournalHistory(append(tmp_path, events))
        history.refresh()
        history.close()
        a, b = history.queries
        assert (a.name, a.total_rows, b.name, b.total_rows) == ("a", 100, "b", 300)
        assert a.slots is b.slots
        assert a.slots.last()["observed"] == 4.0
        assert a.faults.by_kind.total == 1
        assert (a.decisions.count, b.decisions.count) == (0, 1)
        assert not a.is_running
        assert b.is_running

    def test_what_is_asked_of_all_and_what_else_changed_is_told_of_each(
        self, tmp_path: Path
    ) -> None:
        before = ControlTaken(None, max_slots=4, by="me", reason="at most 4 slots, as me asked")
        after = ControlTaken(None, paused=True, by="me", reason="scaling is paused, as me asked")
        events: list[tuple[float, Any]] = [
            (1.0, before), (1.0, batch(1, query="a")), (2.0, after),
            (2.0, SlotsChanged(4, 4, 4, 4, "asked")), (3.0, batch(3, query="b")),
        ]  # fmt: skip
        history = JournalHistory(append(tmp_path, events))
        history.refresh()
        history.close()
        for query in history.queries:
            assert query.decisions.control == after
            assert [each.kind for each in query.decisions.changes] == ["control"] * 2 + ["slots"]

    def test_a_query_that_begins_again_runs_and_is_the_only_restart(self, tmp_path: Path) -> None:
        def start(name: str) -> QueryStarted:
            return QueryStarted(f"id of {name}", name, "", "1.0", "4.3", 4)

        events: list[tuple[float, Any]] = [
            (0.0, start("a")), (0.0, start("b")),
            (1.0, batch(1, query="a")), (1.0, batch(1, query="b")),
            (2.0, QueryStopped("ended", None, "a")), (50.0, start("a")),
            (51.0, batch(51, query="a")),
        ]  # fmt: skip
        history = JournalHistory(append(tmp_path, events))
        history.refresh()
        history.close()
        a, b = history.queries
        assert a.is_running
        assert b.is_running
        assert (a.faults.starts, a.faults.restarts) == (3, 1)
        assert a.batches.column("span").tolist() == [1.0, 1.0]

    def test_the_end_of_one_is_not_how_another_ended(self, tmp_path: Path) -> None:
        def start(name: str) -> QueryStarted:
            return QueryStarted(f"id of {name}", name, "", "1.0", "4.3", 4)

        events: list[tuple[float, Any]] = [
            (0.0, start("a")), (1.0, batch(1, query="a")),
            (2.0, QueryStopped("failed", "boom", "a")), (3.0, start("b")),
            (4.0, batch(4, query="b")), (5.0, QueryStopped("ended", None, "b")),
            (6.0, start("a")), (7.0, start("a")),
        ]  # fmt: skip
        history = JournalHistory(append(tmp_path, events))
        history.refresh()
        history.close()
        a, b = history.queries
        told = [(each.name, each.after) for each in b.faults.began]
        assert told == [("a", None), ("b", None), ("a", "boom"), ("a", None)]
        begun = [query.faults.newest_start(query.name) for query in (a, b)]
        assert [each.at_seconds for each in begun if each] == [7.0, 3.0]
        assert b.stopped_at_seconds == 5.0

    def test_more_queries_than_anybody_has_are_one(self, tmp_path: Path) -> None:
        many = [(1.0, batch(1, query=f"q{n}")) for n in range(MOST_QUERIES + 50)]
        history = JournalHistory(append(tmp_path, many))
        history.refresh()
        history.close()
        assert len(history.queries) == MOST_QUERIES + 1
        assert history.queries[-1].batch_count == 50


class TestOutcomes:
    def outcome(self, tmp_path: Path, events: list[tuple[float, Any]]) -> Any:
        query = of(append(tmp_path, events))
        (made,) = query.decisions.newest
        return query.decisions.outcome(made, query.batches, query.sources)

    def decided(self, at: float, horizon: float | None = 10.0) -> tuple[float, DecisionMade]:
        expected = {"clicks": 1_000.0, "score": 5.0} if horizon else {}
        return at, DecisionMade(1, Decision(4, "why", {}, None, horizon, expected))

    def test_what_came_is_what_was_read_and_what_waits_since(self, tmp_path: Path) -> None:
        events = [*batches(range(1, 11), waiting=40), self.decided(10.0)]
        events += [(float(n), batch(n, rows=80, waiting=40 + 20 * (n - 10), seconds=2.0))
                   for n in range(11, 31)]  # fmt: skip
        found = self.outcome(tmp_path, events)
        assert found.expected_rows == 1_000.0
        assert found.actual_rows == pytest.approx(10 * (80 + 20))
        assert found.error == pytest.approx(0.0)
        assert found.share_before == pytest.approx(0.5)
        assert found.share_after == pytest.approx(2.0)
        assert found.is_over

    def test_a_time_that_is_not_over_tells_no_rows(self, tmp_path: Path) -> None:
        events = [*batches(range(1, 11)), self.decided(10.0), *batches(range(11, 15))]
        found = self.outcome(tmp_path, events)
        assert not found.is_over
        assert found.actual_rows is None
        assert found.error is None
        assert found.share_after == pytest.approx(0.5)

    def test_a_batch_that_ends_after_the_horizon_is_scaled_to_it(self, tmp_path: Path) -> None:
        events = [*batches(range(1, 11)), self.decided(10.0), (30.0, batch(30, rows=1_000))]
        found = self.outcome(tmp_path, events)
        assert found.actual_rows == pytest.approx(500.0)
        assert found.error == pytest.approx(1.0)

    def test_a_decision_without_a_forecast(self, tmp_path: Path) -> None:
        events = [*batches(range(1, 11)), self.decided(10.0, None), *batches(range(11, 80))]
        found = self.outcome(tmp_path, events)
        assert (found.expected_rows, found.actual_rows, found.is_over) == (None, None, True)

    def test_a_decision_before_any_batch(self, tmp_path: Path) -> None:
        found = self.outcome(tmp_path, [self.decided(0.0)])
        assert (found.share_before, found.share_after, found.is_over) == (None, None, False)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=30))
@settings(max_examples=30)
def test_changes_of_slots_are_counted(slots: list[int]) -> None:
    query = QueryHistory()
    for at, each in enumerate(slots):
        query.decide(float(at), DecisionMade(at, Decision(each, "why")))
    assert query.decisions.count == len(slots)
    changes = sum(a != b for a, b in pairwise(slots))
    assert query.decisions.changed_slots == changes


def test_pages_read_whole_rows_while_a_thread_takes_in_more(tmp_path: Path) -> None:
    append(tmp_path, batches(range(1, 3_001)))
    history, torn, looks = JournalHistory(tmp_path), [], 0
    done = threading.Event()

    def take_in() -> None:
        history.refresh()
        done.set()

    thread = threading.Thread(target=take_in)
    thread.start()
    while not done.is_set() or not looks:
        with history.lock:
            query = history.queries[0]
            numbers = query.batches.column("batch")
            torn += [] if query.total_rows == 100 * len(numbers) else [len(numbers)]
            torn += [] if query.batch_count == len(numbers) else [len(numbers)]
            looks += 1
    thread.join()
    history.close()
    assert torn == []
    assert history.queries[0].batch_count == 3_000
