"""Runs the soak: starts the driver again and again, makes faults, and looks at everything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from soak_faults import DRIVER, SINK, Fault, inject, schedule
from soak_processes import heap_after_collection_mb, look
from soak_record import (
    DRIVER_ENDED,
    START_TIMED_OUT,
    Batch,
    Done,
    Files,
    Heap,
    Memory,
    Record,
    Writer,
)
from soak_topology import BREAK_SINK, SoakLoad

from penstock.journal import BatchFinished, Follower

JOB = Path(__file__).with_name("soak_job.py")
BATCHES_BEFORE_AN_END = 2
MOST_TRIES = 20
# Spark waits 10 s for the Python of a source to start, which a machine with much else to do may not
# manage. Whatever starts the driver then has to start it again.
SPARK_GAVE_UP = "Python worker failed to connect back"
LOOK_EVERY_SECONDS = 1.0
END_SECONDS = 180
LATE_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Pace:
    """How often to look at what, in seconds, for a run of so many."""

    memory: float
    heap: float
    say: float

    @classmethod
    def of(cls, seconds: float) -> Pace:
        """Look about 600 times at memory, 60 times at heaps."""
        return cls(min(10.0, max(1.0, seconds / 600)), max(20.0, seconds / 60), 30.0)


class Soak:
    """One run on a cluster that is there."""

    def __init__(self, master: str, load: SoakLoad, out: Path) -> None:
        self._master, self._load, self._out = master, load, out
        self._rows = load.trace.rows
        self._pace = Pace.of(load.seconds)
        self._pending = schedule(load.seconds, load.seed)
        self._writer = Writer(out)
        self._journal = Follower(out / "checkpoint" / "journal")
        self._driver: subprocess.Popen[bytes] | None = None
        self._started = time.time()
        self._began: float | None = None  # when the first rows were committed
        self._batches_at_start, self._tries, self._end_is_asked = 0, 0, False
        self._sink_is_to_fail = False
        self._next = dict.fromkeys(("memory", "heap", "say"), 0.0)

    def run(self) -> Record:
        """Go on until every row is committed; then let the driver end as it would by itself."""
        (self._out / "load.json").write_text(json.dumps(asdict(self._load)))
        try:
            while rows_taken(self._out / "checkpoint") < self._rows:
                if self._is_late():
                    raise RuntimeError(
                        f"{rows_taken(self._out / 'checkpoint')} of {self._rows} rows were "
                        f"committed, {LATE_SECONDS} s after the last came; see {self._log}"
                    )
                self._keep_running()
                self._follow()
                self._make_faults()
                self._note_sink()
                self._look()
                time.sleep(LOOK_EVERY_SECONDS)
            self._follow()
            self._stop()
        finally:
            self._kill()
            self._writer.close()
        return self._writer.record

    def _is_late(self) -> bool:
        since = self._started if self._began is None else self._began
        return time.time() > since + self._load.seconds + LATE_SECONDS

    @property
    def _log(self) -> Path:
        return self._out / "driver.log"

    @property
    def _at(self) -> float:
        return 0.0 if self._began is None else round(time.time() - self._began, 2)

    def _keep_running(self) -> None:
        if self._driver is not None:
            code = self._driver.poll()
            if code is None:
                return
            self._note_end(code)
        self._end_is_asked, self._batches_at_start = False, self._batches
        command = [sys.executable, str(JOB), self._master, str(self._out)]
        with self._log.open("ab") as log:
            self._driver = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def _note_end(self, code: int) -> None:
        reason, is_early = last_error(self._log), self._batches == self._batches_at_start
        self._tries = self._tries + 1 if is_early else 0
        if self._tries > MOST_TRIES:
            raise RuntimeError(f"the driver ends before its first batch: {reason}; see {self._log}")
        if self._end_is_asked:
            done = Done(self._at, DRIVER_ENDED, f"exit code {code}")
        elif is_early and SPARK_GAVE_UP in reason:
            done = Done(self._at, START_TIMED_OUT, reason)
        else:
            done = Done(self._at, DRIVER_ENDED, f"exit code {code}: {reason}", asked=False)
        self._writer.write(done)

    @property
    def _batches(self) -> int:
        return len(self._writer.record.batches)

    def _follow(self) -> None:
        for event in self._journal.poll():
            if isinstance(event.body, BatchFinished):
                seen = event.body.observation
                self._began = self._began or seen.at_seconds
                self._writer.write(
                    Batch(
                        round(seen.at_seconds - self._began, 2),
                        seen.batch_id,
                        round(seen.batch_seconds, 3),
                        seen.rows_in,
                        seen.waiting_rows,
                        seen.slots_in_use,
                    )
                )

    def _make_faults(self) -> None:
        due = [fault for fault in self._pending if self._began and fault.at_seconds <= self._at]
        for fault in due:
            if self._is_ready_for(fault):
                what = inject(fault, look(self._driver.pid), self._out)
                if what is not None:
                    self._pending.remove(fault)
                    self._end_is_asked |= fault.kind in (DRIVER, SINK)
                    self._sink_is_to_fail |= fault.kind == SINK
                    if fault.kind != SINK:
                        self._writer.write(Done(self._at, fault.kind, what))

    def _note_sink(self) -> None:
        """Count a sink's failure once it has happened: it takes its mark away then."""
        if self._sink_is_to_fail and not (self._out / BREAK_SINK).exists():
            self._sink_is_to_fail = False
            self._writer.write(Done(self._at, SINK, "the sink of totals raised after a batch"))

    def _is_ready_for(self, fault: Fault) -> bool:
        """A driver that is only starting is left alone, or none would ever come to a batch."""
        if self._driver is None or self._end_is_asked:
            return False
        if fault.kind not in (DRIVER, SINK):
            return True
        return self._batches >= self._batches_at_start + BATCHES_BEFORE_AN_END

    def _look(self) -> None:
        assert self._driver is not None
        if self._began is None:
            return
        seen = look(self._driver.pid)
        if self._is_time_to("memory", self._pace.memory):
            self._writer.write(Memory(self._at, tuple(seen)))
            self._writer.write(files_in(self._out / "checkpoint", self._at))
        if self._is_time_to("heap", self._pace.heap):
            for each in seen:
                if each.kind in ("driver_jvm", "executor"):
                    heap = heap_after_collection_mb(each.pid)
                    if heap is not None:
                        self._writer.write(Heap(self._at, each.kind, each.pid, each.since, heap))
        if self._is_time_to("say", self._pace.say):
            self._say()

    def _is_time_to(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._next[what]:
            return False
        self._next[what] = now + every
        return True

    def _say(self) -> None:
        taken, left = rows_taken(self._out / "checkpoint"), max(0.0, self._load.seconds - self._at)
        last = max(self._writer.record.batches, default=None)
        print(
            f"{self._at / 60:6.1f} min: {taken:,} of {self._rows:,} rows, batch {last}, "
            f"{len(self._pending)} faults to come, about {left / 60:.0f} min left",
            file=sys.stderr,
            flush=True,
        )

    def _stop(self) -> None:
        if self._driver is not None and self._driver.poll() is None:
            os.kill(self._driver.pid, signal.SIGTERM)
            self._driver.wait(END_SECONDS)

    def _kill(self) -> None:
        if self._driver is not None and self._driver.poll() is None:
            os.killpg(self._driver.pid, signal.SIGKILL)
            self._driver.wait()


def last_error(log: Path) -> str:
    """Return the last line of a log that tells of an error."""
    lines = log.read_text(errors="replace").splitlines()
    return next((line for line in reversed(lines) if "Error: " in line), "no reason was told")


def rows_taken(checkpoint: Path) -> int:
    """Return how many rows are in micro-batches that Spark and Penstock have both committed."""
    commits = checkpoint / "spark" / "commits"
    if not commits.is_dir():
        return 0
    last = max((int(each.name) for each in commits.iterdir() if each.name.isdigit()), default=None)
    if last is None:
        return 0
    offset = (checkpoint / "spark" / "offsets" / str(last)).read_text().splitlines()[-1]
    return int(json.loads(offset)["row"])


def files_in(checkpoint: Path, at: float) -> Files:
    """Count the files of a checkpoint and their bytes; files that vanish meanwhile are gone."""
    counts = {True: [0, 0], False: [0, 0]}
    for directory, _, names in os.walk(checkpoint):
        tally = counts[(checkpoint / "journal") in (Path(directory), *Path(directory).parents)]
        for name in names:
            try:
                tally[1] += (Path(directory) / name).stat().st_size
            except FileNotFoundError:
                continue
            tally[0] += 1
    return Files(at, *counts[False], *counts[True])
