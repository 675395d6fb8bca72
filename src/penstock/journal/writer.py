"""Writes a journal from a thread of its own, so that no query ever waits for a disk."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType

from penstock.arguments import check_wait, checked
from penstock.errors import ConfigurationError
from penstock.journal.events import FaultSeen, KnownEvent, QueryStarted, UnknownEvent
from penstock.journal.lines import Event, to_json
from penstock.journal.location import refuse_impossible
from penstock.journal.segments import SegmentAppender, last_seq, open_for_append
from penstock.journal.topology_events import StartedQuery, TopologyPlanned
from penstock.secrets import logger

MEGABYTE = 1024 * 1024

_log = logger("penstock.journal")


class _Stop:
    """Put in the queue to end the thread."""


_Queued = tuple[float, KnownEvent | UnknownEvent] | threading.Event | _Stop


@checked
class JournalWriter:
    """Appends events to the journal in ``directory``; one writer per directory at a time.

    ``write`` neither blocks nor raises: it leaves the event in a bounded queue for a daemon thread.
    What cannot be written (full disk, deleted directory, full queue) is counted in ``dropped`` and
    warned about once; with the first event that can be written again, a ``FaultSeen`` named
    ``journal dropped events`` says how many events are missing there. A written line is in the
    operating system's hands: it survives the death of the process, not a power cut. Every segment
    says the topology and whose it is again, so that they are known when the segment that first said
    them is deleted.

    >>> import tempfile
    >>> from penstock.journal import BatchSkipped, read
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with JournalWriter(directory, clock=lambda: 12.5) as journal:
    ...         journal.write(BatchSkipped(batch_id=3))
    ...     list(read(directory))
    [Event(seq=1, at_seconds=12.5, body=BatchSkipped(batch_id=3))]
    """

    def __init__(
        self,
        directory: str | Path,
        clock: Callable[[], float] = time.time,
        *,
        segment_bytes: int = 16 * MEGABYTE,
        max_segments: int = 32,
        queue_events: int = 10_000,
        opener: Callable[[Path], FileIO] = open_for_append,
    ) -> None:
        _require_positive(
            segment_bytes=segment_bytes, max_segments=max_segments, queue_events=queue_events
        )
        self.directory = Path(directory)
        self._lock_file = _take_directory(self.directory)
        self._clock = clock
        self._queue: SimpleQueue[_Queued] = SimpleQueue()
        self._queue_events = queue_events
        self._segments = SegmentAppender(self.directory, segment_bytes, max_segments, opener)
        self._last_seq: int | None = None
        self._started: StartedQuery | None = None
        self._topology: TopologyPlanned | None = None
        self._topology_in_segment = 0
        self._counting = threading.Lock()
        self._dropped = 0
        self._dropped_untold = 0
        self._dropped_why = ""
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="penstock-journal", daemon=True)
        self._thread.start()
        # A daemon thread is cut off when Python ends; what is queued must be written before.
        atexit.register(self.close)

    @property
    def dropped(self) -> int:
        """How many events were given to ``write`` and are not in the journal."""
        return self._dropped

    def write(self, body: KnownEvent | UnknownEvent) -> None:
        """Queue an event; its time is now. Mappings inside it must not change any more."""
        if self._closed:
            self._drop("the journal was already closed")
        elif self._queue.qsize() >= self._queue_events:
            self._drop(f"{self._queue_events} events were waiting to be written")
        else:
            self._queue.put((self._clock(), body))

    @checked
    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Wait until every event queued so far is written or dropped; say whether that happened."""
        check_wait("JournalWriter.flush", "timeout_seconds", timeout_seconds)
        if self._closed:
            return not self._thread.is_alive()
        reached = threading.Event()
        self._queue.put(reached)
        return reached.wait(timeout_seconds)

    @checked
    def close(self, timeout_seconds: float = 5.0) -> None:
        """Write what is queued and end the thread; later writes are counted as dropped."""
        check_wait("JournalWriter.close", "timeout_seconds", timeout_seconds)
        if self._closed:
            return
        self._closed = True
        self._queue.put(_Stop())
        self._thread.join(timeout_seconds)
        if self._thread.is_alive():
            _log.warning("%s: the disk does not answer; the last events are lost", self.directory)
        if self._lock_file is not None:
            self._lock_file.close()
        atexit.unregister(self.close)

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self) -> None:
        while not isinstance(item := self._queue.get(), _Stop):
            if isinstance(item, threading.Event):
                item.set()
            else:
                self._journal(*item)
        with contextlib.suppress(Exception):
            self._tell_dropped()
        self._segments.close()

    def _journal(self, at_seconds: float, body: KnownEvent | UnknownEvent) -> None:
        # Whatever goes wrong with one event, the thread must live on for the next.
        try:
            self._tell_dropped()
            self._append(at_seconds, body)
        except Exception as error:
            self._drop(str(error))

    def _append(self, at_seconds: float, body: KnownEvent | UnknownEvent) -> None:
        self._append_line(at_seconds, body)
        if isinstance(body, QueryStarted):
            self._started = _told_again(body)
        if isinstance(body, TopologyPlanned):
            self._topology = body
        elif self._topology is None or self._topology_in_segment == self._segments.number:
            return
        else:
            try:
                self._append_line(at_seconds, replace(self._topology, started=self._started))
            except OSError:
                return  # the event itself is written; the next one tries again
        self._topology_in_segment = self._segments.number

    def _append_line(self, at_seconds: float, body: KnownEvent | UnknownEvent) -> None:
        if self._last_seq is None:
            self._last_seq = last_seq(self.directory)
        line = to_json(Event(self._last_seq + 1, at_seconds, body))
        self._segments.append(line.encode() + b"\n")
        self._last_seq += 1

    def _drop(self, why: str) -> None:
        with self._counting:
            first = self._dropped_untold == 0
            self._dropped += 1
            self._dropped_untold += 1
            self._dropped_why = why
        if first:
            _log.warning(
                "%s: events are not being journaled (%s). The query goes on; the journal will say "
                "how many are missing once it can be written again.",
                self.directory,
                why,
            )

    def _tell_dropped(self) -> None:
        with self._counting:
            count, why = self._dropped_untold, self._dropped_why
        if count == 0:
            return
        events = "1 event is" if count == 1 else f"{count} events are"
        detail = f"{events} missing from the journal here; the last because: {why}"
        self._append(self._clock(), FaultSeen(None, "journal dropped events", detail, count))
        with self._counting:
            self._dropped_untold -= count


def _told_again(body: QueryStarted) -> StartedQuery:
    return StartedQuery(
        body.query_id, body.name, body.penstock_version, body.spark_version, body.slots
    )


def _require_positive(**settings: int) -> None:
    for name, value in settings.items():
        if value < 1:
            raise ConfigurationError(f"journal: {name} is {value}; write 1 or more.")


def _take_directory(directory: Path) -> FileIO | None:
    """Make the directory and lock it until the process ends; None where it can't be locked now.

    A journal that can't be written yet must not keep a query from starting, so only what is surely
    a mistake is refused.
    """
    refuse_impossible(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock_file = FileIO(directory / "journal.lock", "a")
    except OSError:
        return None
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock_file.close()
        raise ConfigurationError(
            f"journal: another query is writing its journal to {directory}. Give each query a "
            "journal directory of its own."
        ) from None
    except OSError:
        # This file system has no locks.
        lock_file.close()
        return None
    return lock_file
