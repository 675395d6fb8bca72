"""Policies side by side on a live stream: resources saved, rows in time, latency.

The stream and its four operators are those of examples/tweets.py. Operators wait, so that sixteen
slots work on any machine, and one policy after another meets the same tweets at the same pace, a
micro-batch a second. The times of all policies are squeezed as the load is. Without a recording the
load is three waves, each higher than the last.

    python benchmarks/elasticity.py --trace rates.csv       # about 20 minutes, then a table
    python benchmarks/elasticity.py --seconds 60 --ways AutoScalePlus "Static(max)" --json
    python benchmarks/elasticity.py --plot slots.svg        # needs matplotlib

saved        1 - mean slots / all slots (resources, by PSPS)
degradation  of throughput: mean of abs(input - output) / input over intervals of 10 s
in time      rows committed within 30 s of when they were due, of all that came
latency      from when a row was due to the commit of its batch
cpu          how busy the cores of the machine were
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from elasticity_load import load
from elasticity_outcome import Arrivals, Batch, Course, Outcome, course, outcome
from elasticity_ways import WAYS, Setting
from measuring import await_rows, session, show
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import penstock as ps
from penstock.journal import read
from penstock.sources.schedule import Schedule

sys.path.append(str(Path(__file__).parent.parent / "examples"))
import tweets

# Spark's workers can't import the example.
cloudpickle.register_pickle_by_value(tweets)

# What a micro-batch of this kind costs before any work; the work has the rest of the trigger.
FIXED_SECONDS = 0.35
INTERVAL_SECONDS = 10.0
DEADLINE_SECONDS = 30.0
STANDS_FOR_SECONDS = 1_200.0  # the load of PSPS lasts some 20 minutes
WARM_UP_SECONDS = 10
PATIENCE_SECONDS = 300.0  # and four times the length of the load

COUNTED = ("restarts", "lost_rows", "doubled_rows", "faults")
HIDDEN = ("rounds", "rows", "batches", "most_slots", "doubled_rows", "faults")


def seconds_per_tweet() -> float:
    """What a tweet waits for on average, in all operators together."""
    shares = tweets.AUTHORS.probabilities()
    waits = [tweets.AUTHOR_MS[tweets.kind_of_author(n)] for n in range(tweets.AUTHORS.n)]
    # One tweet in eight has no words, and goes no further than parse.
    millis = tweets.PARSE_MS + 7 / 8 * (tweets.CONTENT_MS + float(shares @ np.array(waits)))
    return millis / 1_000


@dataclass(frozen=True)
class Bench:
    """What is the same for all ways: the session, the tweets and which of them must be stored."""

    spark: SparkSession
    trace: ps.sources.Trace
    setting: Setting
    stored: frozenset[int]

    @classmethod
    def of(cls, spark: SparkSession, options: argparse.Namespace) -> Bench:
        """Make the load, so high that its peak needs ``--peak-slots``."""
        busy_share = 1 - FIXED_SECONDS / options.trigger
        highest_rate = options.peak_slots * busy_share / seconds_per_tweet()
        trace = load(options.trace, options.seconds, highest_rate)
        share = trace.rows / options.seconds / max(trace.counts)
        setting = Setting(
            slots=int(spark.sparkContext.defaultParallelism),
            mean_slots=int(np.ceil(options.peak_slots * share)),
            trigger_seconds=options.trigger,
            squeeze=options.seconds / STANDS_FOR_SECONDS,
        )
        return cls(spark, trace, setting, with_words(spark, trace))


def with_words(spark: SparkSession, trace: ps.sources.Trace) -> frozenset[int]:
    """Find the tweets that have words, without a stream and without our operators."""
    rows = spark.range(trace.rows).selectExpr("id", "current_timestamp() AS ts", "0L AS key")
    texts = rows.selectExpr(*tweets.tweet_columns())
    return frozenset(row.id for row in texts.filter("text LIKE '@%'").select("id").collect())


def run_way(
    bench: Bench, trace: ps.sources.Trace, policy: ps.Policy, out: Path, journal: Path | None = None
) -> Course:
    """Play the load once, and return how it went when every row was committed."""
    rows = ps.sources.replay(trace, keys=tweets.AUTHORS, spark=bench.spark)
    stream = ps.Stream.read(rows.selectExpr(*tweets.tweet_columns()), name="tweets")
    query = ps.run(
        *tweets.topology(stream, str(out)),
        checkpoint=str(out / "checkpoint"),
        policy=policy,
        slots=ps.LocalSlots(),
        trigger=bench.setting.trigger_seconds,
        journal=journal,
    )
    try:
        await_rows(query, trace.rows, PATIENCE_SECONDS + 4 * trace.duration_seconds)
    finally:
        query.stop()
    return course(read(query.journal_dir))


def arrivals(trace: ps.sources.Trace, stored: Any, batches: tuple[Batch, ...]) -> Arrivals:
    """Work out when every row was due, and check it by the rows that were stored."""
    due = Schedule(trace).due_micros(np.arange(trace.rows)) / 1e6
    ids = stored["id"].to_numpy()
    at = stored["ts"].cast(pa.timestamp("us", tz="UTC")).cast("int64").to_numpy() / 1e6
    start = float(at[0] - due[ids[0]])
    ends = np.cumsum([batch.rows for batch in batches])
    numbers = np.array([batch.batch_id for batch in batches])
    by_count = numbers[np.searchsorted(ends, ids, side="right")]
    if not np.allclose(at, start + due[ids], atol=1e-3, rtol=0):
        raise RuntimeError("rows have other times than the load says")
    if not np.array_equal(by_count, stored["batch_id"].cast("int64").to_numpy()):
        raise RuntimeError("rows were stored with other batches than the journal says")
    return Arrivals(start, trace.duration_seconds, start + due)


def measure(
    bench: Bench, way: str, journal: Path | None = None
) -> tuple[Outcome, float, tuple[Batch, ...]]:
    out = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    busy, began = busy_seconds(), time.monotonic()
    try:
        seen = run_way(bench, bench.trace, WAYS[way](bench.setting), out, journal)
        cpu = (busy_seconds() - busy) / (time.monotonic() - began) / (os.cpu_count() or 1)
        stored = pq.read_table(out / "tweets", columns=["id", "ts", "batch_id"])
    finally:
        shutil.rmtree(out, ignore_errors=True)
    came = arrivals(bench.trace, stored, seen.batches)
    ids = set(stored["id"].to_pylist())
    summed = outcome(
        way,
        seen,
        came,
        over_slots=bench.setting.slots,
        interval_seconds=INTERVAL_SECONDS,
        deadline_seconds=DEADLINE_SECONDS,
        lost_rows=len(bench.stored - ids),
        doubled_rows=stored.num_rows - len(ids),
        cpu=cpu,
    )
    for fault in seen.faults:
        say(f"  {fault}")
    return summed, came.start_seconds, seen.batches


def busy_seconds() -> float:
    """Give the seconds that the cores of this machine have worked, added up; Linux alone tells."""
    try:
        ticks = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except OSError:
        return float("nan")
    user, nice, system, _idle, _waiting, *interrupts = ticks
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def together(rounds: Sequence[Outcome]) -> dict[str, Any]:
    """Sum up the rounds of one way: what must not happen is counted, the rest a mean."""
    rows: dict[str, Any] = {"way": rounds[0].way, "rounds": len(rounds)}
    for field in fields(Outcome):
        values = [getattr(each, field.name) for each in rounds]
        if field.name in COUNTED:
            rows[field.name] = sum(values)
        elif field.name != "way":
            rows[field.name] = statistics.mean(values)
    return rows


def as_shown(result: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not for the table, and show the shares with the digits that matter."""
    shown = {name: value for name, value in result.items() if name not in HIDDEN}
    return shown | {name: f"{shown[name]:.4f}" for name in ("saved", "degradation", "in_time")}


def kept(options: argparse.Namespace, way: str, turn: int) -> Path | None:
    """Choose where a run's journal stays; nowhere unless asked for."""
    return None if options.journals is None else options.journals / f"{way}-{turn + 1}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=180, help="how long the load lasts")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--trace", type=Path, help="a recorded rate, as CSV; else three waves")
    parser.add_argument("--peak-slots", type=int, default=13, help="slots that the peak needs")
    parser.add_argument("--trigger", type=float, default=1.0, help="seconds of a micro-batch")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each way")
    parser.add_argument("--master", default="local[16]")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--plot", type=Path, help="draw the slots of each way's last run here")
    parser.add_argument("--journals", type=Path, help="keep every run's journal in this directory")
    options = parser.parse_args(arguments)
    if options.trigger <= FIXED_SECONDS:
        parser.error(f"a micro-batch alone takes {FIXED_SECONDS} s; give a longer --trigger")
    if options.trace is not None and not options.trace.is_file():
        say(f"{options.trace} is not there; the load is three waves instead")
        options.trace = None
    return options


def main() -> None:
    options = parsed()
    spark = session(options.master)
    bench = Bench.of(spark, options)
    peak, rows = max(bench.trace.counts), bench.trace.rows
    say(f"{rows} tweets in {options.seconds} s, at most {peak} a second")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as out:
        # Once unmeasured: the JVM compiles what it runs often, and Python workers start.
        short = load(None, WARM_UP_SECONDS, peak)
        run_way(bench, short, ps.Static(bench.setting.slots), Path(out))
    outcomes: dict[str, list[Outcome]] = {way: [] for way in options.ways}
    courses = {}
    for turn in range(options.rounds):
        first = turn % len(options.ways)
        for way in options.ways[first:] + options.ways[:first]:
            found, start_seconds, batches = measure(bench, way, kept(options, way, turn))
            outcomes[way].append(found)
            courses[way] = (start_seconds, batches)
            say(
                f"{way}: {found.mean_slots:.1f} slots, {found.in_time:.2%} in time, mean latency "
                f"{found.mean_latency_s:.1f} s, {found.changes} changes, {found.lost_rows} lost, "
                f"{found.doubled_rows} doubled, {found.faults} faults"
            )
    spark.stop()
    results = [together(each) for each in outcomes.values()]
    if not options.json:
        results = [as_shown(row) for row in results]
    show(results, "elasticity", options.json)
    if options.plot is not None:
        from elasticity_plot import draw

        draw(bench.trace, {way: courses[way] for way in options.ways}, options.plot)


if __name__ == "__main__":
    main()
