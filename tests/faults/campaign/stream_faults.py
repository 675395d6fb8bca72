"""Faults of a query at work: it breaks off, its sink, source, worker, clock or disk fails.

One stream after the other, a fault in every micro-batch or two; what came out is compared with
Spark at the end of each stream.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

import penstock as ps
from campaign.disks import NoSmallDisk, SmallDisk, small_disk
from campaign.job import ROWS, Job, waiting, write_batch
from campaign.outcomes import WITHIN_SECONDS, Outcome, stop_of, unclear
from campaign.process_faults import STEPS
from penstock import journal
from penstock.engine.steps import Step
from penstock.testing import fail_at

HOURS = 3_600.0
LATE_SECONDS = 2.0


@dataclass
class FailingSink:
    """A sink that fails before or after it has written, so many times."""

    sink: Any
    left: list[bool]
    reads_all = True

    def open(self, query_id: str) -> None:
        self.sink.open(query_id)

    def check(self, columns: list[str]) -> None:
        self.sink.check(columns)

    def write(self, df: DataFrame, batch_id: int) -> None:
        after = self.left.pop() if self.left else None
        if after is not False:
            self.sink.write(df, batch_id)
        if after is not None:
            raise ConnectionError(
                "the disk of the sink went away. Mount it, then start the query again."
            )

    def describe(self) -> str:
        return str(self.sink.describe())


@dataclass
class JumpingClock:
    """The time of this machine, but for jumps of hours, to and fro."""

    dice: random.Random
    most_hours: float = 48.0
    is_jumping: bool = True

    def __call__(self) -> float:
        jump = self.dice.uniform(-self.most_hours, self.most_hours) * HOURS
        return time.time() + (jump if self.is_jumping else 0.0)


@dataclass
class Stream:
    """One query from start to start, over a source that grows by a file for each."""

    job: Job
    dice: random.Random
    disk: SmallDisk | None = None
    journal_disk: SmallDisk | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    batches: int = 0
    sent_again: set[int] = field(default_factory=set)

    def inject(self, kind: str) -> None:
        """Inject one fault of a kind; a sink may fail several times, which are as many."""
        INJECTIONS[kind](self, kind)

    def more(self) -> int:
        """Hand out one more micro-batch; return its number.

        Until Spark has planned the first it stays the only one: whatever comes before there is a
        watermark would be in that first micro-batch, and nothing in it is late.
        """
        first = self.job.checkpoint_path / "spark" / "offsets" / "0"
        if self.batches > 0 and not first.exists():
            return self.batches - 1
        write_batch(self.job.source, self.batches)
        self.batches += 1
        return self.batches - 1

    def stops(
        self, kind: str, fault: str, *names: str, must: bool = True, says: str = "", **options: Any
    ) -> None:
        """Run the query, which has to stop, unless it need not; the sentence must be clear.

        Where ``names`` has none, ``says`` is what tells that it stopped for this and nothing else.
        """
        error = stop_of(lambda: self.job.start(**self._options(options)))
        if error is None:
            self.note(kind, fault, "it did not stop" if must else "")
            return
        problem = unclear(error, *names) if names else _not_ours(error, says)
        self.outcomes.append(
            Outcome(kind, fault, "wrong" if problem else "stopped", problem or str(error))
        )

    def goes_on(self, kind: str, fault: str, **options: Any) -> None:
        """Run the query, which must not stop."""
        error = stop_of(lambda: self.job.start(**self._options(options)))
        self.note(kind, fault, f"it stopped: {str(error)[:600]}" if error else "")

    def note(self, kind: str, fault: str, problem: str) -> None:
        """Note a fault that the query should not have minded."""
        self.outcomes.append(Outcome(kind, fault, "wrong" if problem else "exact", problem))

    def finish(self) -> list[Outcome]:
        """Run to the end, undisturbed, and compare: all faults of the stream stand or fall."""
        self.more()
        error = stop_of(lambda: self.job.start(**self._options({})))
        problem = f"it does not go on: {str(error)[:600]}" if error else self._wrong_at_the_end()
        if problem:
            self.outcomes = [replace(each, verdict="wrong", seen=problem) for each in self.outcomes]
        return self.outcomes

    def _wrong_at_the_end(self) -> str:
        """Say what is not as it should be; a micro-batch that nobody skipped was not sent again."""
        if wrong := self.job.differences():
            return wrong
        if not self.sent_again:
            return ""
        events = journal.read(self.job.checkpoint_path / "journal")
        skipped = {e.body.batch_id for e in events if isinstance(e.body, journal.BatchSkipped)}
        missing = sorted(self.sent_again - skipped)
        return f"the micro-batches {missing} did not come again" if missing else ""

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        if self.journal_disk is None:
            return given
        return {"journal": str(self.journal_disk.path / "journal"), **given}


def _not_ours(error: BaseException, says: str) -> str:
    if not isinstance(error, ps.PenstockError):
        return f"a {type(error).__name__}: {error}"[:600]
    return "" if says in str(error) else f"it stopped for something else: {error}"[:600]


def breaks_off(stream: Stream, kind: str) -> None:
    """Let the driver fail after some step of the next micro-batch."""
    step = stream.dice.choice(STEPS)
    number = stream.more()
    says = f"broken off at '{step.value}' of micro-batch {number}"
    stream.stops(kind, f"after {step.value}", says=says, on_step=fail_at(step, number))


def sink_fails(stream: Stream, kind: str) -> None:
    """Let a sink fail once to three times, before or after it wrote."""
    stream.more()
    name = stream.dice.choice(["checked", "windows", "totals"])
    left = [stream.dice.random() < 0.5 for _ in range(stream.dice.randint(1, 3))]
    while left:
        fault = f"'{name}' {'after' if left[-1] else 'before'} it wrote"
        around = {name: lambda sink: FailingSink(sink, left)}
        stream.stops(kind, fault, "went away", around=around)


def worker_dies(stream: Stream, kind: str) -> None:
    """Kill a Python worker that has a row of the next micro-batch."""
    stream.more()
    stream.job.worker_mark.touch()
    stream.stops(kind, "SIGKILL, first try", "Python worker died")


def source_fails(stream: Stream, kind: str) -> None:
    """Take a file away that Spark has planned to read, then bring it back."""
    file = stream.job.source / f"{stream.more():04}.parquet"
    away = stream.job.where / "away"

    def take(step: Step, batch_id: int) -> None:
        if step is Step.LOAD and file.exists():
            file.rename(away)

    stream.stops(kind, "a file that is gone when it is read", file.name, on_step=take)
    away.rename(file)


def source_is_late(stream: Stream, kind: str) -> None:
    """Start twice before the next micro-batch is there."""
    stream.goes_on(kind, "nothing there at a start")
    stream.more()


def source_is_late_in_a_run(stream: Stream, kind: str) -> None:
    """Let a run take all there is and find nothing for a while, then give it the next."""
    stream.more()
    batches: list[int | None] = []

    def start() -> ps.Query:
        query = stream.job.start(**stream._options({"available_now": False}))
        guard = threading.Timer(WITHIN_SECONDS, query.stop)
        guard.start()
        try:
            query._spark_query.processAllAvailable()
            batches.append(query.status().batch_id)
            time.sleep(LATE_SECONDS)
            batches.append(query.status().batch_id)
            stream.more()
            query._spark_query.processAllAvailable()
            batches.append(query.status().batch_id)
        finally:
            guard.cancel()
            query.stop()
        return query

    error = stop_of(start)
    problem = str(error or "")[:600]
    if not problem and not (batches[0] == batches[1] != batches[2]):
        problem = f"micro-batch {batches} before the wait, after it, and once there was more"
    stream.note(kind, f"nothing there for {LATE_SECONDS} s of a run", problem)


def source_waits(stream: Stream, kind: str) -> None:
    """Let the reader of a micro-batch that runs wait in the middle of its file."""
    row = stream.more() * ROWS + ROWS // 2
    told = f"penstock.tests.waited.{row}"

    def slowly(files: DataFrame) -> DataFrame:
        return waiting(files, row, LATE_SECONDS, told)

    error = stop_of(lambda: stream.job.start(**stream._options({"reading": slowly})))
    jvm: Any = stream.job.spark._jvm
    has_waited = jvm.java.lang.System.clearProperty(told) == "yes"
    problem = f"it stopped: {str(error)[:600]}" if error else "" if has_waited else "nobody waited"
    stream.note(kind, f"its reader waits for {LATE_SECONDS} s", problem)


def source_repeats(stream: Stream, kind: str) -> None:
    """Let Spark send a micro-batch again that was committed: the same offsets, twice."""
    stream.more()
    error = stop_of(lambda: stream.job.start(**stream._options({})))
    commits = stream.job.checkpoint_path / "spark" / "commits"
    newest = max(int(path.name) for path in commits.glob("[0-9]*"))
    (commits / str(newest)).unlink()
    (commits / f".{newest}.crc").unlink(missing_ok=True)
    stream.sent_again.add(newest)
    stream.note(kind, f"micro-batch {newest} sent again", str(error or ""))


def clock_jumps(stream: Stream, kind: str) -> None:
    """Let the clock jump by up to two days whenever it is looked at."""
    stream.more()
    clock = JumpingClock(random.Random(stream.dice.random()))
    policy = ps.Incremental(interval=1)
    run: list[ps.Query] = []

    def start() -> ps.Query:
        run.append(stream.job.start(**stream._options({"clock": clock, "policy": policy})))
        return run[-1]

    error = stop_of(start)
    problem = str(error or "") or _journal_problem(run[0].journal_dir)
    stream.note(kind, "up to 48 hours to and fro", problem)


def _journal_problem(directory: str) -> str:
    """Say what a jumping clock did to the journal: it must be whole, and the policy alive."""
    events = list(journal.read(directory))
    faults = [e.body.what for e in events if isinstance(e.body, journal.FaultSeen)]
    away = [abs(e.at_seconds - time.time()) for e in events]
    if faults:
        return f"faults {faults}"
    if max(away) < HOURS:
        return "no event has the time that the clock told"
    far = sum(each > 49 * HOURS for each in away)
    return f"{far} events out of time" if far else ""


def disk_fills(stream: Stream, kind: str) -> None:
    """Fill the disk under the checkpoint but for a little, then free it."""
    assert stream.disk is not None
    stream.more()
    left = stream.dice.choice([0, 0, 4, 8, 16, 24]) * 1_024
    stream.disk.fill(but_bytes=left)
    # What a micro-batch writes may find room in a little.
    stream.stops(kind, f"{left} bytes left", str(stream.disk.path), must=left == 0)
    stream.disk.free()


def journal_disk_fills(stream: Stream, kind: str) -> None:
    """Fill the disk under the journal: the query must not notice, and nothing can be journaled."""
    disk = stream.journal_disk
    assert disk is not None
    stream.more()
    disk.fill()
    before = _journaled_bytes(disk)
    error = stop_of(lambda: stream.job.start(**stream._options({})))
    grew = _journaled_bytes(disk) > before
    problem = f"it stopped: {str(error)[:600]}" if error else "it was journaled" if grew else ""
    stream.note(kind, "no space for a line", problem)
    disk.free()


def _journaled_bytes(disk: SmallDisk) -> int:
    return sum(file.stat().st_size for file in (disk.path / "journal").glob("*.jsonl"))


INJECTIONS: dict[str, Callable[[Stream, str], None]] = {
    "driver breaks off": breaks_off,
    "sink fails": sink_fails,
    "Python worker killed": worker_dies,
    "source can't be read": source_fails,
    "source is late": source_is_late,
    "source is late in a run": source_is_late_in_a_run,
    "source lets its reader wait": source_waits,
    "source sends a batch again": source_repeats,
    "clock jumps": clock_jumps,
    "disk full under the checkpoint": disk_fills,
    "disk full under the journal": journal_disk_fills,
}
ON_SMALL_DISKS = {"disk full under the checkpoint", "disk full under the journal"}


def streams(
    job: Job, kinds: list[str], dice: random.Random, most: int = 12
) -> Iterator[list[Outcome]]:
    """Inject faults of these kinds, stream after stream, and yield the outcomes of each."""
    plain = [kind for kind in kinds if kind not in ON_SMALL_DISKS]
    full = [kind for kind in kinds if kind in ON_SMALL_DISKS]
    for on_disks, listed in ((False, plain), (True, full)):
        for start in range(0, len(listed), most):
            where = job.where / f"stream-{on_disks}-{start}"
            try:
                yield _one_stream(job, where, listed[start : start + most], dice, on_disks)
            except NoSmallDisk as reason:
                print(f"left out: {', '.join(sorted(set(full)))}: {reason}", file=sys.stderr)


def _one_stream(
    job: Job, where: Path, kinds: list[str], dice: random.Random, on_disks: bool
) -> list[Outcome]:
    (where / "in").mkdir(parents=True)
    job = replace(job, source=where / "in", where=where)
    with ExitStack() as disks:
        stream = Stream(job, dice)
        if on_disks:
            stream.disk = disks.enter_context(small_disk(where / "disk"))
            stream.journal_disk = disks.enter_context(small_disk(where / "journal-disk"))
            stream.job = replace(job, checkpoint=stream.disk.path / "checkpoint")
        for kind in kinds:
            stream.inject(kind)
        return stream.finish()
