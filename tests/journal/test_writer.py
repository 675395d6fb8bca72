from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from io import FileIO
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacking import lacking
from penstock.errors import ConfigurationError
from penstock.journal import BatchSkipped, Event, FaultSeen, JournalWriter, QueryStarted, read
from penstock.journal.events import UnknownEvent
from penstock.journal.segments import SegmentAppender, segment_numbers, segment_path
from penstock.journal.topology_events import PlannedOperator, StartedQuery, TopologyPlanned

LONG = 30.0


def ticking() -> Callable[[], float]:
    ticks = count(100)
    return lambda: float(next(ticks))


def batches(events: list[Event]) -> list[int]:
    return [e.body.batch_id for e in events if isinstance(e.body, BatchSkipped)]


def write_all(journal: JournalWriter, batch_ids: range) -> None:
    """Write one event after the other, so that a fault meets exactly the ones after it."""
    for batch_id in batch_ids:
        journal.write(BatchSkipped(batch_id))
        assert journal.flush(LONG)


def test_events_are_numbered_from_one_and_carry_the_time_of_the_call(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "new" / "runs", ticking()) as journal:
        for batch_id in range(3):
            journal.write(BatchSkipped(batch_id))
    assert list(read(tmp_path / "new" / "runs")) == [
        Event(1, 100.0, BatchSkipped(0)),
        Event(2, 101.0, BatchSkipped(1)),
        Event(3, 102.0, BatchSkipped(2)),
    ]


def test_segments_hold_whole_lines_and_no_more_bytes_than_asked(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, ticking(), segment_bytes=200, max_segments=1000) as journal:
        for batch_id in range(50):
            journal.write(BatchSkipped(batch_id))
    files = sorted(tmp_path.glob("*.jsonl"))
    assert files[0].name == "journal-00000001.jsonl"
    assert [f.name for f in files] == [f"journal-{n + 1:08d}.jsonl" for n in range(len(files))]
    assert len(files) > 10
    assert all(0 < f.stat().st_size <= 200 and f.read_bytes().endswith(b"\n") for f in files)
    assert batches(list(read(tmp_path))) == list(range(50))


def test_a_line_longer_than_a_segment_gets_one_of_its_own(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=100) as journal:
        journal.write(BatchSkipped(1))
        journal.write(UnknownEvent("Long", {"text": "x" * 500}))
        journal.write(BatchSkipped(2))
    assert [len(f.read_text().splitlines()) for f in sorted(tmp_path.glob("*.jsonl"))] == [1, 1, 1]


def test_only_the_newest_segments_are_kept(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=1, max_segments=3) as journal:
        for batch_id in range(10):
            journal.write(BatchSkipped(batch_id))
    assert segment_numbers(tmp_path) == [8, 9, 10]
    assert [e.seq for e in read(tmp_path)] == [8, 9, 10]


@pytest.mark.parametrize(
    "left",
    [
        b"",
        b'{"v":1,"seq":3,"at":0,"ki',
        b'{"v":1,"seq":3,"at":0,"kind":"K"}',
        b'{"v":1,"se\n',
        b"\0\0\0",
    ],
)
def test_a_restart_goes_on_after_what_a_crash_left(tmp_path: Path, left: bytes) -> None:
    with JournalWriter(tmp_path, ticking()) as journal:
        write_all(journal, range(2))
    first = segment_path(tmp_path, 1)
    with first.open("ab") as file:
        file.write(left)
    crashed = first.read_bytes()
    with JournalWriter(tmp_path, ticking()) as journal:
        write_all(journal, range(2, 4))
    assert first.read_bytes() == crashed
    assert [e.seq for e in read(segment_path(tmp_path, 2))] == [3, 4]


def test_the_sequence_goes_on_past_segments_without_a_whole_line(tmp_path: Path) -> None:
    segment_path(tmp_path, 1).write_bytes(b'{"v":1,"seq":41,"at":0,"kind":"K"}\n[]\n{}\nnull\n')
    segment_path(tmp_path, 2).write_bytes(b'{"v":1,"se')
    segment_path(tmp_path, 3).write_bytes(b"")
    with JournalWriter(tmp_path) as journal:
        write_all(journal, range(1))
    assert segment_numbers(tmp_path) == [1, 2, 3]
    assert [e.seq for e in read(segment_path(tmp_path, 3))] == [42]


class Disk:
    """A disk with room for so many bytes: what does not fit is written in part, then refused."""

    def __init__(self, room_bytes: int) -> None:
        self.room_bytes = room_bytes
        self.can_truncate = True

    def open(self, path: Path) -> FileIO:
        return FileOnDisk(path, self)


class FileOnDisk(FileIO):
    def __init__(self, path: Path, disk: Disk) -> None:
        super().__init__(path, "a")
        self.disk = disk

    def write(self, data: bytes) -> int:  # type: ignore[override]
        if self.disk.room_bytes == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = super().write(data[: self.disk.room_bytes])
        self.disk.room_bytes -= written
        return written

    def truncate(self, size: int | None = None) -> int:
        if not self.disk.can_truncate:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().truncate(size)


@given(
    steps=st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=25),
    segment_bytes=st.integers(1, 300),
)
def test_on_a_disk_that_fills_and_empties_nothing_is_lost_uncounted(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bool]], segment_bytes: int
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    disk = Disk(0)
    written: list[int] = []
    with JournalWriter(
        directory, segment_bytes=segment_bytes, max_segments=1000, opener=disk.open
    ) as journal:
        for batch_id, (room_bytes, can_truncate) in enumerate(steps):
            disk.room_bytes, disk.can_truncate = room_bytes, can_truncate
            dropped_before = journal.dropped
            write_all(journal, range(batch_id, batch_id + 1))
            if journal.dropped == dropped_before:
                written.append(batch_id)
        disk.room_bytes = 10_000
    whole = [e for e in read(directory) if e.seq > 0]
    assert [e.seq for e in whole] == list(range(1, len(whole) + 1))
    assert batches(whole) == written
    told = [e.body.count for e in whole if isinstance(e.body, FaultSeen)]
    assert sum(told) == journal.dropped == len(steps) - len(written)
    if all(can_truncate for _, can_truncate in steps):
        assert len(whole) == len(list(read(directory)))


def test_a_full_disk_is_warned_about_once_and_the_journal_says_what_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = Disk(70)
    with JournalWriter(tmp_path, ticking(), opener=disk.open) as journal:
        with caplog.at_level(logging.WARNING, logger="penstock.journal"):
            write_all(journal, range(5))
        disk.room_bytes = 10_000
        write_all(journal, range(5, 7))
    assert [record.name for record in caplog.records] == ["penstock.journal"]
    assert "No space left on device" in caplog.text
    events = list(read(tmp_path))
    assert batches(events) == [0, 5, 6]
    (fault,) = [e for e in events if isinstance(e.body, FaultSeen)]
    assert fault.seq == 2
    assert fault.body == FaultSeen(
        None,
        "journal dropped events",
        "4 events are missing from the journal here; the last because: "
        "[Errno 28] No space left on device",
        count=4,
    )
    assert journal.dropped == 4


def test_one_event_that_is_missing_is_told_as_one(tmp_path: Path) -> None:
    disk = Disk(70)
    with JournalWriter(tmp_path, ticking(), opener=disk.open) as journal:
        write_all(journal, range(2))
        disk.room_bytes = 10_000
        write_all(journal, range(2, 3))
    (told,) = [e.body for e in read(tmp_path) if isinstance(e.body, FaultSeen)]
    assert told.detail.startswith("1 event is missing from the journal here; ")


def test_tries_on_a_full_disk_push_out_no_segment_that_has_content(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=1, max_segments=3) as journal:
        write_all(journal, range(3))
    disk = Disk(0)
    disk.can_truncate = False
    with JournalWriter(tmp_path, segment_bytes=1, max_segments=3, opener=disk.open) as journal:
        write_all(journal, range(3, 23))
    assert journal.dropped == 20
    assert batches(list(read(tmp_path))) == [1, 2]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_that_is_always_full_harms_nobody(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, opener=lambda path: FileIO("/dev/full", "a")) as journal:
        write_all(journal, range(5))
    assert journal.dropped == 5


ON_A_SMALL_DISK = """
import sys
from pathlib import Path
from penstock.journal import BatchSkipped, JournalWriter, read
from penstock.journal.events import FaultSeen
directory = Path(sys.argv[1])
ballast = directory / "ballast"
with JournalWriter(directory / "journal", lambda: 0.0) as journal:
    def write(first, last):
        for batch_id in range(first, last):
            journal.write(BatchSkipped(batch_id))
            assert journal.flush(30)
    ballast.write_bytes(bytes(40 * 1024))
    write(0, 1000)
    full = journal.dropped
    assert 0 < full < 1000, full
    ballast.unlink()
    write(1000, 1010)
    assert journal.dropped == full, journal.dropped
events = list(read(directory / "journal"))
kept = [e.body.batch_id for e in events if isinstance(e.body, BatchSkipped)]
assert kept == [*range(1000 - full), *range(1000, 1010)], kept
assert [e.body.count for e in events if isinstance(e.body, FaultSeen)] == [full]
assert [e.seq for e in events] == list(range(1, 1012 - full))
print("held")
"""


def test_a_file_system_that_really_fills_up(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=64k none "$1" || exit 77; exec "$2" -c "$3" "$1"'
    command = ["unshare", "-rm", "sh", "-c", mount, "sh"]
    if shutil.which("unshare") is None:
        lacking("needs unshare")
    run = subprocess.run(
        [*command, str(tmp_path), sys.executable, ON_A_SMALL_DISK],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode == 77 or "unshare:" in run.stderr:
        lacking(f"may not mount a file system here: {run.stderr.strip()}")
    assert run.stdout.strip() == "held", run.stderr


def test_a_directory_deleted_under_the_writer_is_made_again(tmp_path: Path) -> None:
    directory = tmp_path / "runs"
    with JournalWriter(directory) as journal:
        write_all(journal, range(3))
        shutil.rmtree(directory)
        write_all(journal, range(3, 5))
    assert segment_numbers(directory) == [2]
    assert [e.seq for e in read(directory)] == [4, 5]
    assert journal.dropped == 0


def test_a_file_in_the_place_of_the_directory_drops_until_it_is_gone(tmp_path: Path) -> None:
    directory = tmp_path / "runs"
    with JournalWriter(directory) as journal:
        write_all(journal, range(1))
        shutil.rmtree(directory)
        directory.write_text("in the way")
        write_all(journal, range(1, 4))
        assert journal.dropped == 3
        directory.unlink()
        write_all(journal, range(4, 5))
    events = list(read(directory))
    assert batches(events) == [4]
    assert [e.body.count for e in events if isinstance(e.body, FaultSeen)] == [3]


BESIDE_A_LOCKED_DOOR = """
import os
from pathlib import Path
from penstock.journal import BatchSkipped, JournalWriter, read
from penstock.journal.events import FaultSeen

directory = Path("runs")
directory.mkdir()
if os.geteuid() == 0:  # root may write anywhere; by now all modules are there to be used
    os.chown(".", 65534, 65534)
    os.chown(directory, 65534, 65534)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

def write_all(journal, batch_ids):
    for batch_id in batch_ids:
        journal.write(BatchSkipped(batch_id))
        assert journal.flush(60)

with JournalWriter(directory, segment_bytes=1) as journal:
    write_all(journal, range(1))
    directory.chmod(0o500)
    write_all(journal, range(1, 4))
    assert journal.dropped == 3, journal.dropped
    directory.chmod(0o700)
    write_all(journal, range(4, 5))
events = list(read(directory))
kept = [e.body.batch_id for e in events if isinstance(e.body, BatchSkipped)]
assert kept == [0, 4], kept
assert [e.body.count for e in events if isinstance(e.body, FaultSeen)] == [3]
print("held")
"""


def test_a_directory_made_unwritable_drops_until_it_is_writable(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", BESIDE_A_LOCKED_DOOR],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip() == "held", run.stderr


def test_an_event_that_json_cannot_hold_is_dropped_alone(tmp_path: Path) -> None:
    with JournalWriter(tmp_path) as journal:
        journal.write(UnknownEvent("K", {"bad": b"bytes"}))
        journal.write("not an event")  # type: ignore[arg-type]
        journal.write(BatchSkipped(1))
    assert journal.dropped == 2
    first, second, skipped = (e.body for e in read(tmp_path))
    assert isinstance(first, FaultSeen)
    assert isinstance(second, FaultSeen)
    assert (first.count, second.count) == (1, 1)
    assert "cannot hold a bytes" in first.detail
    assert "str is not an event" in second.detail
    assert skipped == BatchSkipped(1)


class HungDisk:
    """Opens files only once it is released."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.released = threading.Event()

    def open(self, path: Path) -> FileIO:
        self.reached.set()
        assert self.released.wait(LONG)
        return FileIO(path, "a")


def test_while_the_disk_hangs_writes_return_and_what_overflows_is_counted(tmp_path: Path) -> None:
    disk = HungDisk()
    with JournalWriter(tmp_path, queue_events=4, opener=disk.open) as journal:
        journal.write(BatchSkipped(0))
        assert disk.reached.wait(LONG)
        for batch_id in range(1, 11):
            journal.write(BatchSkipped(batch_id))
        assert journal.dropped == 6
        assert not journal.flush(timeout_seconds=0.0)
        disk.released.set()
        assert journal.flush(LONG)
    events = list(read(tmp_path))
    assert batches(events) == [0, 1, 2, 3, 4]
    assert [e.body.count for e in events if isinstance(e.body, FaultSeen)] == [6]


def test_closing_on_a_hung_disk_gives_up_after_its_timeout(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = HungDisk()
    journal = JournalWriter(tmp_path, opener=disk.open)
    journal.write(BatchSkipped(0))
    assert disk.reached.wait(LONG)
    journal.close(timeout_seconds=0.0)
    assert "does not answer" in caplog.text
    assert not journal.flush()
    disk.released.set()


def test_closing_twice_is_fine_and_later_writes_are_counted(tmp_path: Path) -> None:
    journal = JournalWriter(tmp_path)
    journal.close()
    journal.close()
    journal.write(BatchSkipped(1))
    assert journal.flush()
    assert journal.dropped == 1
    assert list(read(tmp_path)) == []


def test_many_threads_may_write(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=500, max_segments=10_000) as journal:

        def write(first: int) -> None:
            for batch_id in range(first, first + 200):
                journal.write(BatchSkipped(batch_id))

        threads = [threading.Thread(target=write, args=(n * 1000,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    events = list(read(tmp_path))
    assert [e.seq for e in events] == list(range(1, 801))
    for n in range(4):
        mine = [b for b in batches(events) if b // 1000 == n]
        assert mine == list(range(n * 1000, n * 1000 + 200))


def test_a_directory_has_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        JournalWriter(tmp_path),
        pytest.raises(ConfigurationError, match="journal directory of its own"),
    ):
        JournalWriter(tmp_path)
    JournalWriter(tmp_path).close()


def test_settings_that_cannot_work_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="file is a file"):
        JournalWriter(tmp_path / "file")
    with pytest.raises(ConfigurationError, match="segment_bytes is 0; write 1 or more"):
        JournalWriter(tmp_path, segment_bytes=0)
    with pytest.raises(ConfigurationError, match="max_segments is -1; write 1 or more"):
        JournalWriter(tmp_path, max_segments=-1)


def test_a_directory_that_cannot_be_made_yet_does_not_stop_a_query(tmp_path: Path) -> None:
    (tmp_path / "parent").write_text("in the way")
    with JournalWriter(tmp_path / "parent" / "runs") as journal:
        write_all(journal, range(2))
        assert journal.dropped == 2
        (tmp_path / "parent").unlink()
        write_all(journal, range(2, 3))
    assert batches(list(read(tmp_path / "parent" / "runs"))) == [2]


@pytest.mark.parametrize(
    ("ending", "code"),
    [("", 0), ("assert journal.flush(30); os.kill(os.getpid(), 9)", -signal.SIGKILL)],
)
def test_what_was_written_outlives_the_process(tmp_path: Path, ending: str, code: int) -> None:
    script = (
        "import os, sys\n"
        "from penstock.journal import BatchSkipped, JournalWriter\n"
        "journal = JournalWriter(sys.argv[1])\n"
        "for batch_id in range(500):\n"
        "    journal.write(BatchSkipped(batch_id))\n"
    )
    run = subprocess.run([sys.executable, "-c", script + ending, str(tmp_path)], check=False)
    assert run.returncode == code
    assert batches(list(read(tmp_path))) == list(range(500))


def test_half_a_line_is_taken_back_from_the_file(tmp_path: Path) -> None:
    disk = Disk(7)
    segments = SegmentAppender(tmp_path, 1000, 2, disk.open)
    with pytest.raises(OSError, match="No space"):
        segments.append(b"0123456789\n")
    assert segment_path(tmp_path, 1).read_bytes() == b""
    disk.room_bytes = 100
    segments.append(json.dumps("again").encode() + b"\n")
    segments.close()
    assert segment_path(tmp_path, 1).read_bytes() == b'"again"\n'


def test_every_segment_says_the_topology_that_was_last_planned(tmp_path: Path) -> None:
    first = TopologyPlanned(0, (PlannedOperator("read", "source", "numbers"),))
    second = TopologyPlanned(20, (PlannedOperator("read", "source", "letters"),))
    with JournalWriter(tmp_path, ticking(), segment_bytes=600, max_segments=3) as journal:
        journal.write(first)
        write_all(journal, range(20))
        journal.write(second)
        write_all(journal, range(20, 60))
    assert len(segment_numbers(tmp_path)) == 3
    for number in segment_numbers(tmp_path):
        events = list(read(segment_path(tmp_path, number)))
        assert [e.body for e in events if isinstance(e.body, TopologyPlanned)] == [second]
        assert segment_path(tmp_path, number).stat().st_size <= 600
    everything = list(read(tmp_path))
    assert batches(everything)[-1] == 59
    assert [e.seq for e in everything] == list(range(everything[0].seq, everything[-1].seq + 1))


def test_every_segment_says_whose_topology_it_is(tmp_path: Path) -> None:
    planned = TopologyPlanned(0, (PlannedOperator("read", "source", "numbers"),))
    with JournalWriter(tmp_path, ticking(), segment_bytes=600, max_segments=3) as journal:
        journal.write(QueryStarted("id", "clicks", "read", "0.1.0", "4.3.0", 4))
        journal.write(planned)
        write_all(journal, range(40))
    assert segment_numbers(tmp_path)[0] > 1
    told = StartedQuery("id", "clicks", "0.1.0", "4.3.0", 4)
    for number in segment_numbers(tmp_path):
        bodies = [event.body for event in read(segment_path(tmp_path, number))]
        assert [b.started for b in bodies if isinstance(b, TopologyPlanned)] == [told]
        assert not any(isinstance(b, QueryStarted) for b in bodies)


def test_a_topology_that_can_not_be_said_again_costs_no_event(tmp_path: Path) -> None:
    planned = TopologyPlanned(0, (PlannedOperator("read", "source", "numbers"),))

    class RefusesSecond(FileIO):
        lines = 0

        def write(self, data: object) -> int:  # type: ignore[override]
            self.lines += 1
            if self.lines == 2 and "0002" in str(self.name):
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)  # type: ignore[arg-type]

    def opener(path: Path) -> FileIO:
        return RefusesSecond(path, "a")

    with JournalWriter(tmp_path, ticking(), segment_bytes=600, opener=opener) as journal:
        journal.write(planned)
        write_all(journal, range(12))
        assert journal.dropped == 0
    assert batches(list(read(tmp_path))) == list(range(12))
    again = list(read(segment_path(tmp_path, 2)))
    assert [type(e.body) for e in again[:3]] == [BatchSkipped, BatchSkipped, TopologyPlanned]
