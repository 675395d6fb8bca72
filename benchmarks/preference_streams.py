"""Skylines over windows of live streams: does the query keep up with Elastic-PPQ's streams?

The streams of the paper's Table 3 are played in real time into a query on this machine: windows of
1 second every 200 ms over rows of eight attributes, a K-slack watermark, and all windows that come
out counted, a sample of them compared with the batch query over the same rows.

    python benchmarks/preference_streams.py --data rates --seconds 40     # all: about 20 minutes
    python benchmarks/preference_streams.py --streams MAP-1K --queries skyline --plot run.png
    python benchmarks/preference_streams.py --streams MAP-4K --find-rate  # by bisection

extra        time until the last window came out over the stream's length, less one; the paper has
             3.1 % at most
rho          utilisation of the pane and the window stage; the set point is 0.9
parts        in how many parts a pane was split on average (sigma)
CV           of windows per second: standard deviation over mean
latency      median and 95th percentile, from a window's end in event time to the commit of the
             batch that it came out with
CPU          seconds of processor a second of the stream, Spark's driver and workers included
missing      windows that did not come out; wrong: of those that were compared
After a slash stands what the paper printed: its tasks are threads of a core each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from measuring import session, show
from preference_check import check
from preference_feed import Feed, feed, present
from preference_paper import PUBLISHED
from preference_run import Played, Question, play
from pyspark.sql import SparkSession

import penstock as ps

MOST_EXTRA_PERCENT = 3.1
WARM_UP_SECONDS = 20
CONTROL_INTERVAL = "2500 milliseconds"
QUERIES = ("skyline", "top_dominant")
# What splitting and MERGE tasks are for: the same without them.
WAYS = {
    "no splitting": Question(splitting="none"),
    "even splitting": Question(splitting="even"),
    "no merges": Question(merges=False),
}


@dataclass(frozen=True)
class Bench:
    """What is the same for all runs."""

    spark: SparkSession
    data: Path | None
    seconds: int
    policy: str
    trigger: float | None
    sample: int
    journals: Path | None

    def run(self, stream: str, question: Question, way: str, scale: float = 1.0) -> Run:
        """Play a stream once and sum up what came of it."""
        source = feed(stream, self.seconds, data=self.data, scale=scale)
        journal = None
        if self.journals is not None:
            journal = self.journals / f"{stream}-{question.query}-{way.replace(' ', '-')}-{scale:g}"
        played = self.play(source, question, journal)
        return Run(source, question, way, played, self._row(source, question, way, played))

    def play(self, source: Feed, question: Question, journal: Path | None = None) -> Played:
        """Play a stream once."""
        slots = int(self.spark.sparkContext.defaultParallelism)
        policy: ps.Policy = ps.Static(slots)
        if self.policy == "Fuzzy":
            policy = ps.Fuzzy(interval=CONTROL_INTERVAL, max_slots=slots)
        return play(
            self.spark, source, question, policy=policy, trigger=self.trigger, journal=journal
        )

    def _row(self, source: Feed, question: Question, way: str, played: Played) -> dict[str, Any]:
        run, found = played.course, check(self.spark, source, question, played, self.sample)
        latency = played.latencies()
        return {
            "stream": source.name,
            "query": question.query,
            "way": way,
            "rows_per_second": source.rate,
            "extra_percent": run.extra_percent,
            "rho_panes": run.mean(lambda step: step.pane_utilisation),
            "rho_windows": run.mean(lambda step: step.window_utilisation),
            "parts": run.mean(lambda step: step.parts_per_pane),
            "threshold_rows": run.mean(lambda step: step.threshold_rows),
            "pane_tasks": run.mean(lambda step: float(step.pane_tasks)),
            "window_tasks": run.mean(lambda step: float(step.window_tasks)),
            "slots": run.mean(lambda step: float(step.slots)),
            "windows_per_second": float(np.mean(run.windows_per_second())),
            "cv": run.variation,
            "latency_p50_s": float(np.median(latency)),
            "latency_p95_s": float(np.quantile(latency, 0.95)),
            "batch_s": run.mean(lambda step: step.batch_seconds),
            "merges": sum(step.merges for step in run.steps),
            "updates": sum(step.updates for step in run.steps),
            "late_rows": sum(step.late_rows for step in run.steps),
            "cpu_s_per_s": played.cpu_seconds / source.seconds,
            **asdict(found),
            "faults": len(run.faults),
        }


@dataclass(frozen=True)
class Run:
    """One run, and its row of the table."""

    feed: Feed
    question: Question
    way: str
    played: Played
    row: dict[str, Any]


def beside_the_paper(row: dict[str, Any]) -> dict[str, Any]:
    """Put what the paper printed beside a row."""
    published = PUBLISHED[row["stream"]]
    paper = getattr(published, row["query"], None)
    printed = {} if paper is None else asdict(paper)
    return row | {f"paper_{name}": value for name, value in printed.items()}


def as_shown(row: dict[str, Any]) -> dict[str, str]:
    """Choose what fits into a table; what the paper printed is after a slash."""

    def beside(found: str, *names: str) -> str:
        printed = " + ".join(
            f"{row[f'paper_{name}']:.3g}" for name in names if f"paper_{name}" in row
        )
        return f"{found} / {printed}" if printed else found

    tasks = f"{row['pane_tasks']:.1f} + {row['window_tasks']:.1f}"
    return {
        "stream": row["stream"],
        "query": row["query"],
        "way": row["way"],
        "rows/s": f"{row['rows_per_second']:,.0f}",
        "extra %": beside(f"{row['extra_percent']:.2f}", "extra_percent"),
        "tasks": beside(tasks, "pane_threads", "window_threads"),
        "parts": beside(f"{row['parts']:.2f}", "parts_per_pane"),
        "rho": f"{row['rho_panes']:.2f}, {row['rho_windows']:.2f}",
        "windows/s": f"{row['windows_per_second']:.2f}",
        "CV": beside(f"{row['cv']:.2f}", "variation"),
        "latency s": f"{row['latency_p50_s']:.2f}, {row['latency_p95_s']:.2f}",
        "CPU": f"{row['cpu_s_per_s']:.2f}",
        "windows": str(row["windows"]),
        "missing": str(row["missing"]),
        "wrong": f"{row['wrong']} of {row['compared']}",
    }


def as_markdown(rows: list[dict[str, str]]) -> str:
    """Write a table as documents have it."""
    lines = [list(rows[0]), ["---"] * 3 + ["---:"] * (len(rows[0]) - 3)]
    lines += [list(row.values()) for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def all_runs(bench: Bench, options: argparse.Namespace) -> Iterator[Run]:
    """Run every stream with every query, then the other ways on the streams chosen for them."""
    chosen = Question(splitting=options.splitting, merges=options.merges == "on")
    way = f"{options.splitting}{'' if chosen.merges else ', no merges'}"
    for stream in options.streams:
        for query in options.queries:
            question = replace(chosen, query=query)
            if options.find_rate:
                yield from highest_rate(bench, stream, question, options.tries)
            else:
                yield bench.run(stream, question, way)
    for stream in options.variants:
        for other, question in WAYS.items():
            yield bench.run(stream, replace(question, query=options.queries[0]), other)


def highest_rate(bench: Bench, stream: str, question: Question, tries: int) -> Iterator[Run]:
    """Look for the highest multiple of a stream's rate that is held: double it, then bisect."""
    low, high, scale = 0.0, None, 1.0
    for _ in range(tries):
        run = bench.run(stream, question, f"{scale:.3g} x", scale)
        yield run
        if run.row["extra_percent"] <= MOST_EXTRA_PERCENT:
            low = scale
        else:
            high = scale
        scale = 2 * low if high is None else (low + high) / 2


def say(run: Run | str) -> None:
    if isinstance(run, Run):
        shown = as_shown(run.row)
        run = ", ".join(f"{name} {value}" for name, value in shown.items())
    print(run, file=sys.stderr, flush=True)


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", nargs="+", default=list(PUBLISHED), choices=list(PUBLISHED))
    parser.add_argument("--queries", nargs="+", default=list(QUERIES), choices=[*QUERIES, "count"])
    parser.add_argument("--seconds", type=int, default=60, help="how long each stream lasts")
    parser.add_argument("--data", type=Path, help="the folder with the rates of the match")
    parser.add_argument("--splitting", default="pid", choices=["pid", "none", "even"])
    parser.add_argument("--merges", default="on", choices=["on", "off"])
    parser.add_argument(
        "--variants",
        nargs="*",
        default=[],
        choices=list(PUBLISHED),
        help="streams that are also run without splitting, with even splitting and without MERGE",
    )
    parser.add_argument("--policy", default="Fuzzy", choices=["Fuzzy", "Static"])
    parser.add_argument("--slots", type=int, default=2, help="tasks at once, cores or not")
    parser.add_argument("--trigger", type=float, help="seconds; else batches follow each other")
    parser.add_argument("--find-rate", action="store_true", help="the highest rate that is held")
    parser.add_argument("--tries", type=int, default=5, help="runs of the bisection")
    parser.add_argument("--sample", type=int, default=3, help="windows of a run to compare")
    parser.add_argument("--journals", type=Path, help="keep every run's journal in this directory")
    parser.add_argument("--plot", type=Path, help="draw the first run here")
    parser.add_argument("--table", type=Path, help="write the table here, as Markdown")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    there = present(options.streams, options.data)
    if left_out := sorted(set(options.streams) - set(there)):
        say(f"left out, as --data has no rates of them: {', '.join(left_out)}")
    options.streams = there
    options.variants = present(options.variants, options.data)
    return options


def main() -> None:
    options = parsed()
    spark = session(f"local[{options.slots}]")
    bench = Bench(
        spark=spark,
        data=options.data,
        seconds=options.seconds,
        policy=options.policy,
        trigger=options.trigger,
        sample=options.sample,
        journals=options.journals,
    )
    # Once unmeasured: the JVM compiles what it runs often, and workers compile the kernels.
    for query in options.queries:
        bench.play(feed("MAP-1K", WARM_UP_SECONDS), Question(query=query))
    runs = []
    for run in all_runs(bench, options):
        say(run)
        runs.append(run)
    spark.stop()
    rows = [beside_the_paper(run.row) for run in runs]
    shown = [as_shown(row) for row in rows]
    show(rows if options.json else shown, "preference queries", options.json)
    if options.table is not None:
        options.table.write_text(as_markdown(shown), encoding="utf-8")
    if options.plot is not None and runs:
        from preference_plot import draw

        first = runs[0]
        title = f"{first.feed.name}, {first.question.query}: {first.feed.rate:,.0f} rows a second"
        draw(first.feed, first.played.course, title, options.plot)


if __name__ == "__main__":
    main()
