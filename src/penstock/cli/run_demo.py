"""What ``penstock demo`` does: runs the demo's job, shows it, and says what came of it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.progress import Progress
from penstock.cli.quiet_spark import quiet_spark
from penstock.cli.run_job import decisions_as_dicts, placements_as_dicts
from penstock.cli.run_record import RunRecord
from penstock.cli.watching import ending_with_its_reader, watch
from penstock.dashboard.beside import addresses_told
from penstock.elasticity.decision import Decision
from penstock.elasticity.rails.rail import in_slots
from penstock.journal.events import DecisionMade

if TYPE_CHECKING:
    from penstock.demo import Load

# What is not worked off so long after the last row came is left: a demo should end.
PATIENCE_SECONDS = 12.0
MEMORY = "1g"
# A JVM that lives for a minute on a few cores spends most of it compiling, unless told not to.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a demo did, and what Spark found in its files afterwards."""

    record: RunRecord
    by_ctrl_c: bool
    out: Path
    paths: Mapping[str, str]
    read_back: Mapping[str, int]
    offered_rows: int
    stream_seconds: float
    skyline: Path | None = None

    @property
    def journal(self) -> Path:
        """Where the event log is."""
        return self.out / "checkpoint" / "journal"

    @property
    def spark_log(self) -> Path:
        """Where everything is that Spark said."""
        return self.out / "spark.log"


def run_demo(
    out: Path,
    master: str,
    load: Load,
    say: Callable[[str], object],
    progress: Any,
    clock: Callable[[], float] = time.monotonic,
    starting: Callable[[], AbstractContextManager[object]] = nullcontext,
    dashboard: bool = False,
) -> Shown:
    """Run the demo in a directory that is its own; ``progress`` makes a display.

    ``starting`` is entered while Spark starts. With ``dashboard`` it says where a browser shows it.
    """
    from penstock import demo

    rows = load.trace.rows
    say(f"Starting Spark on {master}.")
    settings = {
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.sql.shuffle.partitions": "8",
    }
    with ExitStack() as spark_runs:
        with starting():
            spark = spark_runs.enter_context(
                quiet_spark("penstock-demo", master, settings, log=out / "spark.log")
            )
        say(f"Playing {rows:,} rows in {load.seconds} seconds, with three bursts.")
        with addresses_told(lambda address: say(f"Dashboard: {address} while it runs.")):
            query = demo.start(spark, load, out, dashboard=dashboard)
        started = clock()
        is_enough = Enough(rows, load.seconds + PATIENCE_SECONDS, clock)
        outputs = {output.name: output.sink.path for output in query.topology.outputs}
        display: Progress = progress(list(outputs))
        with ending_with_its_reader(query):
            record, by_ctrl_c = watch(query, display, is_enough)
        stream_seconds = clock() - started
        say("Counting what is in the files.")
        counts = demo.read_back(query, spark)
    drawn = draw_newest(Path(query.journal_dir), out / "skyline.png")
    return Shown(record, by_ctrl_c, out, outputs, counts, rows, stream_seconds, drawn)


def draw_newest(journal: Path, png: Path) -> Path | None:
    """Draw the newest skyline, if any window was complete before the demo ended."""
    from penstock.cli.skyline import draw, windows_seen

    windows = windows_seen(journal)
    if not windows:
        return None
    draw(windows, png)
    return png


class Enough:
    """Says when a demo has shown enough: all rows are done, or too long has passed.

    The time counts from the first micro-batch on, which on a slow machine takes a while itself.
    """

    def __init__(self, rows: int, limit_seconds: float, clock: Callable[[], float]) -> None:
        self._rows = rows
        self._limit_seconds = limit_seconds
        self._clock = clock
        self._first_at: float | None = None

    def __call__(self, record: RunRecord) -> bool:
        """Look at what was done so far, and at the clock."""
        if record.batches and self._first_at is None:
            self._first_at = self._clock()
        is_late = (
            self._first_at is not None and self._clock() >= self._first_at + self._limit_seconds
        )
        return record.rows_in >= self._rows or is_late


def as_dict(shown: Shown) -> dict[str, object]:
    """Give the outcome as JSON takes it."""
    record = shown.record
    return {
        "stopped_by_ctrl_c": shown.by_ctrl_c,
        "stream_seconds": round(shown.stream_seconds, 3),
        "offered_rows": shown.offered_rows,
        "batches": record.batches,
        "rows": record.rows_in,
        "failed_rows": record.failed_rows,
        "outputs": [
            {
                "name": name,
                "path": path,
                "rows": record.rows_out.get(name, 0),
                "rows_read_back": shown.read_back[name],
            }
            for name, path in shown.paths.items()
        ],
        "decisions": decisions_as_dicts(record),
        "placements": placements_as_dicts(record),
        "skyline": None if shown.skyline is None else str(shown.skyline),
        "journal": str(shown.journal),
        "spark_log": str(shown.spark_log),
    }


def as_text(shown: Shown) -> str:
    """Give the outcome as people read it, with what to open next."""
    record = shown.record
    how = "Ctrl-C ended it" if shown.by_ctrl_c else "It ended"
    lines = [
        "",
        f"{how} after {shown.stream_seconds:.0f} seconds of stream: {record.batches} "
        f"micro-batches took {record.rows_in:,} of {shown.offered_rows:,} rows, "
        f"{record.failed_rows:,} failed.",
        "",
        "Written, and counted again in the files:",
    ]
    width = max(len(name) for name in shown.paths)
    for name, path in shown.paths.items():
        written, found = record.rows_out.get(name, 0), shown.read_back[name]
        again = "all there" if written == found else f"{found:,} IN THE FILES"
        lines.append(f"  {name:<{width}}  {written:>9,} rows, {again}  {path}")
    made_in_all = len(record.decisions)
    lines += ["", f"Decisions, of {made_in_all}, that changed the slots, or tell why not:"]
    lines += [
        f"  from batch {batch_id + 1}: {in_slots(decision.slots)} ({decision.reason})"
        for batch_id, decision in changes(record.decisions)
    ]
    lines += [
        f"  from batch {made.batch_id + 1}: still {in_slots(made.decision.slots)} "
        f"({made.decision.reason})"
        for made in most_and_last_kept(record.decisions)
    ]
    lines += [f"  from batch {made.batch_id + 1}: {made.reason}" for made in record.placements]
    return "\n".join([*lines, "", *_next_steps(shown)])


def changes(decisions: Sequence[DecisionMade]) -> list[tuple[int, Decision]]:
    """Return the decisions to use another number of slots, and the first, each with its batch."""
    before = [None, *(made.decision.slots for made in decisions)]
    return [
        (made.batch_id, made.decision)
        for made, slots in zip(decisions, before, strict=False)
        if made.decision.slots != slots
    ]


def most_and_last_kept(decisions: Sequence[DecisionMade]) -> list[DecisionMade]:
    """Return, of the decisions that kept the slots, that with the largest demand, and the last."""
    changed = {batch_id for batch_id, _ in changes(decisions)}
    kept = [made for made in decisions if made.batch_id not in changed]
    if not kept:
        return []
    most = max(kept, key=lambda made: made.decision.demand_slots or 0.0)
    return [most] if most is kept[-1] else [most, kept[-1]]


def _next_steps(shown: Shown) -> list[str]:
    from penstock.demo import job

    alarms = shlex.quote(str(shown.out / "alarms"))
    journal = shlex.quote(str(shown.journal))
    drawn = [] if shown.skyline is None else [f"  the skyline      {shown.skyline}"]
    return [
        "Look at:",
        f"  the dashboard    penstock dashboard {shlex.quote(str(shown.out / 'checkpoint'))}",
        f"  the story        penstock report {shlex.quote(str(shown.out / 'checkpoint'))} --html",
        *drawn,
        f"  the alarms       head -n 3 {alarms}/batch_id=*/*.json",
        f"  the event log    tail -n 3 {journal}/*.jsonl",
        f"  the job itself   {job.__file__}",
        f"  Spark's log      {shown.spark_log}",
    ]
