from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.journal import (
    BatchSkipped,
    CorruptLine,
    Cursor,
    Event,
    Follower,
    UnknownEvent,
    follow,
    read,
    to_json,
)
from penstock.journal.segments import segment_numbers, segment_path

from .strategies import journals


def line(seq: int, text: str = "") -> bytes:
    body = UnknownEvent("Long", {"text": text}) if text else BatchSkipped(seq)
    return to_json(Event(seq, float(seq), body)).encode() + b"\n"


def put(directory: Path, number: int, *contents: bytes) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with segment_path(directory, number).open("ab") as file:
        file.write(b"".join(contents))


def seqs(follower: Follower) -> list[int]:
    return [event.seq for event in follower.poll()]


@given(events=journals(), data=st.data())
def test_a_file_cut_at_any_byte_gives_a_prefix_of_its_events(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event], data: st.DataObject
) -> None:
    path = segment_path(tmp_path_factory.mktemp("journal"), 1)
    whole = b"".join(to_json(event).encode() + b"\n" for event in events)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    path.write_bytes(cut)
    expected = events[: cut.count(b"\n")]
    assert list(read(path)) == expected
    assert list(read(path.parent)) == expected


def test_a_file_in_the_way_of_a_journal_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "way").write_text("mine")
    with Follower(tmp_path / "way" / "journal") as follower:
        assert seqs(follower) == []
        (tmp_path / "way").unlink()
        put(tmp_path / "way" / "journal", 1, line(1))
        assert seqs(follower) == [1]


@given(events=journals(), data=st.data())
def test_a_journal_that_grows_in_pieces_is_handed_out_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event], data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    lines = [to_json(event).encode() + b"\n" for event in events]
    roll_after = data.draw(st.integers(0, len(lines)))
    segments = [b"".join(lines[:roll_after]), b"".join(lines[roll_after:])]
    got: list[Event] = []
    cursor = Cursor()
    follower = Follower(directory)
    for number, content in enumerate(segments, start=1):
        ends = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
        for start, end in zip([0, *ends], [*ends, len(content)], strict=True):
            put(directory, number, content[start:end])
            if data.draw(st.booleans(), label="resume"):
                follower.close()
                follower = Follower(directory, cursor)
            got += list(follower.poll())
            cursor = follower.cursor
            before = roll_after if number == 2 else 0
            assert len(got) == before + content[:end].count(b"\n")
    follower.close()
    assert got == events


def test_a_corrupt_line_is_reported_with_its_place_and_reading_goes_on(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1))
    put(tmp_path, 2, line(2), b"\xff\xfe rubbish\n", b"\n", b'{"v":1}\n', line(3))
    events = list(read(tmp_path))
    assert [e.seq for e in events] == [1, 2, 0, 0, 0, 3]
    path = str(segment_path(tmp_path, 2))
    assert [e.body for e in events[2:5]] == [
        CorruptLine(path, 2, "it is not UTF-8 text", "�� rubbish"),
        CorruptLine(path, 3, "it is not JSON (Expecting value: line 1 column 1 (char 0))", ""),
        CorruptLine(path, 4, "it has no 'seq'", '{"v":1}'),
    ]


def test_a_corrupt_line_keeps_its_place_after_a_resume(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1), line(2))
    with Follower(tmp_path) as follower:
        assert seqs(follower) == [1, 2]
        cursor = follower.cursor
    put(tmp_path, 1, b"rubbish\n")
    with Follower(tmp_path, cursor) as follower:
        (event,) = follower.poll()
    assert isinstance(event.body, CorruptLine)
    assert event.body.line == 3


def test_what_a_crash_cut_off_is_reported_once_the_next_segment_exists(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1), b'{"v":1,"se')
    with Follower(tmp_path) as follower:
        assert seqs(follower) == [1]
        put(tmp_path, 2, line(2))
        cut, after = follower.poll()
    assert cut.body == CorruptLine(
        str(segment_path(tmp_path, 1)), 2, "it was cut off", '{"v":1,"se'
    )
    assert after.seq == 2


def test_a_newer_schema_is_refused_with_file_and_line(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1))
    put(tmp_path, 2, line(2), b'{"v":2,"seq":3,"at":0,"kind":"BatchSkipped"}\n')
    events = read(tmp_path)
    assert [next(events).seq, next(events).seq] == [1, 2]
    with pytest.raises(ConfigurationError, match=r"journal-00000002\.jsonl line 2: .*schema 2"):
        next(events)


def test_half_a_line_that_its_writer_takes_back_is_never_seen(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1), b'{"v":1,"seq":2,"at":0,"kind":"Half')
    with Follower(tmp_path) as follower:
        assert seqs(follower) == [1]
        segment_path(tmp_path, 1).write_bytes(line(1))
        put(tmp_path, 1, line(2))
        assert seqs(follower) == [2]


def test_lines_longer_than_a_chunk_are_read_whole(tmp_path: Path) -> None:
    long = line(2, "x" * 1_500_000)
    put(tmp_path, 1, line(1), long, line(3), long[:-1])
    assert [e.seq for e in read(tmp_path)] == [1, 2, 3]
    with Follower(tmp_path) as follower:
        assert seqs(follower) == [1, 2, 3]
        put(tmp_path, 1, b"\n", line(5))
        assert seqs(follower) == [2, 5]


def test_what_has_no_end_is_not_taken_into_memory_as_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.journal.reader._MOST_LINE_BYTES", 512 * 1024)
    put(tmp_path, 1, line(1), b"x" * 1_300_000 + b"\n", line(2))
    events = list(read(tmp_path))
    assert [event.seq for event in events] == [1, 0, 0, 0, 2]
    assert all(isinstance(event.body, CorruptLine) for event in events[1:4])


def test_what_only_has_the_name_of_a_segment_blocks_nobody(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1))
    os.mkfifo(segment_path(tmp_path, 2))
    segment_path(tmp_path, 3).mkdir()
    put(tmp_path, 4, line(2))
    assert [event.seq for event in read(tmp_path)] == [1, 2]


def test_files_that_are_no_segments_are_left_alone(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1))
    for name in ("journal-1.jsonl", "journal-00000002.jsonl.tmp", "notes.txt", "journal.lock"):
        (tmp_path / name).write_bytes(line(9))
    assert [e.seq for e in read(tmp_path)] == [1]


def test_more_segments_than_their_names_have_digits_for(tmp_path: Path) -> None:
    put(tmp_path, 99_999_999, line(1))
    put(tmp_path, 100_000_000, line(2))
    assert [e.seq for e in read(tmp_path)] == [1, 2]


def test_reading_nothing(tmp_path: Path) -> None:
    assert list(read(tmp_path)) == []
    with pytest.raises(ConfigurationError, match="there is nothing at"):
        read(tmp_path / "absent")


def test_a_poll_left_early_goes_on_at_the_next_event(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1), line(2))
    put(tmp_path, 2, line(3))
    with Follower(tmp_path) as follower:
        assert next(follower.poll()).seq == 1
        assert seqs(follower) == [2, 3]


def test_segments_deleted_before_they_were_read_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1))
    with Follower(tmp_path) as follower:
        assert seqs(follower) == [1]
        put(tmp_path, 1, line(2))
        for number in (2, 3, 4):
            put(tmp_path, number, line(number + 1))
        for number in (1, 2, 3):
            segment_path(tmp_path, number).unlink()
        # The open segment is still read to its end.
        assert seqs(follower) == [2, 5]
    with Follower(tmp_path, Cursor(segment=2, offset=10, line=1)) as follower:
        assert seqs(follower) == [5]


def test_a_segment_deleted_while_its_reader_looks_for_it_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 1, line(1))
    with Follower(tmp_path) as follower:
        assert seqs(follower) == [1]
        put(tmp_path, 1, line(2))
        put(tmp_path, 2, line(3))

        def list_then_delete(directory: Path) -> list[int]:
            numbers = segment_numbers(directory)
            segment_path(directory, 1).unlink(missing_ok=True)
            return numbers

        monkeypatch.setattr("penstock.journal.reader.segment_numbers", list_then_delete)
        assert seqs(follower) == [2, 3]


def begun_with_the_same_number(directory: Path) -> None:
    put(directory, 2, line(1), line(2), line(3))


def begun_with_a_lower_number(directory: Path) -> None:
    put(directory, 1, line(1), line(2), line(3))


@pytest.mark.parametrize("begin", [begun_with_the_same_number, begun_with_a_lower_number])
def test_a_journal_begun_anew_is_followed_from_its_start(
    tmp_path: Path, begin: Callable[[Path], None]
) -> None:
    directory = tmp_path / "runs"
    put(directory, 2, line(7), line(8))
    with Follower(directory) as follower:
        assert seqs(follower) == [7, 8]
        shutil.rmtree(directory)
        assert seqs(follower) == []
        begin(directory)
        assert seqs(follower) == [1, 2, 3]
        assert seqs(follower) == []


def test_a_file_that_somebody_emptied_is_followed_from_its_start(tmp_path: Path) -> None:
    put(tmp_path, 1, line(7), line(8), line(9))
    with Follower(tmp_path) as follower:
        assert seqs(follower) == [7, 8, 9]
        segment_path(tmp_path, 1).write_bytes(line(1))
        assert seqs(follower) == [1]
        put(tmp_path, 1, line(2))
        assert seqs(follower) == [2]


@pytest.mark.parametrize("offset", [5, 100_000])
def test_a_cursor_that_fits_no_line_means_another_journal(tmp_path: Path, offset: int) -> None:
    put(tmp_path, 1, line(1))
    put(tmp_path, 2, line(2))
    with Follower(tmp_path, Cursor(2, offset, 1)) as follower:
        assert seqs(follower) == [1, 2]


def test_following_sleeps_between_polls_and_ends_after_all_that_stop_allows(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "not yet"
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        put(directory, len(slept), line(len(slept)))

    events = follow(directory, 2.5, stop=lambda: len(slept) == 3, sleep=sleep)
    assert [e.seq for e in events] == [1, 2, 3]
    assert slept == [2.5, 2.5, 2.5]


def test_what_was_written_before_stop_turned_true_is_handed_out(tmp_path: Path) -> None:
    def stop() -> bool:
        put(tmp_path, 1, line(1))
        return True

    assert [e.seq for e in follow(tmp_path, stop=stop)] == [1]


def test_following_from_a_cursor(tmp_path: Path) -> None:
    put(tmp_path, 1, line(1), line(2))
    cursor = Cursor(1, len(line(1)), 1)
    assert [e.seq for e in follow(tmp_path, stop=lambda: True, cursor=cursor)] == [2]


WRITE = """
import sys
from penstock.journal import BatchSkipped, JournalWriter
directory, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with JournalWriter(directory, segment_bytes=2000, max_segments=100_000) as journal:
    for batch_id in range(first, last):
        journal.write(BatchSkipped(batch_id))
        if batch_id % 50 == 0:
            assert journal.flush(30)
"""


def start_writer(directory: Path, first: int, last: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITE, str(directory), str(first), str(last)])


def test_another_process_writes_and_every_event_is_seen_once_in_order(tmp_path: Path) -> None:
    with start_writer(tmp_path, 1, 5001) as writer:
        events = list(follow(tmp_path, 0.001, stop=lambda: writer.poll() is not None))
    assert writer.returncode == 0
    assert [e.seq for e in events] == list(range(1, 5001))
    assert [e.body for e in events] == [BatchSkipped(n) for n in range(1, 5001)]
    assert len(segment_numbers(tmp_path)) > 50


def test_a_writer_is_killed_and_another_goes_on(tmp_path: Path) -> None:
    with Follower(tmp_path) as follower:
        events: list[Event] = []
        with start_writer(tmp_path, 1, 20_000) as first:  # a slow reader must catch up
            while len(events) < 300 and first.poll() is None:
                events += follower.poll()
            first.kill()
        events += follower.poll()
        seen = len(events)
        assert seen >= 300
        with start_writer(tmp_path, 10_000_000, 10_000_500) as second:
            pass
        events += follower.poll()
    assert second.returncode == 0
    whole = [e for e in events if e.seq > 0]
    assert len(events) - len(whole) <= 1
    assert [e.seq for e in whole] == list(range(1, len(whole) + 1))
    assert [e.body for e in whole[:seen]] == [BatchSkipped(n) for n in range(1, seen + 1)]
    assert [e.body for e in whole[seen:]] == [
        BatchSkipped(n) for n in range(10_000_000, 10_000_500)
    ]
