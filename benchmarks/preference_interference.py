"""A preference query beside other programs: more slots where cores are taken (Elastic-PPQ, 5.4).

The stream of a football match, or bursts where its rates are not there, is played into a skyline
query that may use more slots than there are cores, while stress-ng keeps 0, 50 and 100 % of the
cores busy with stressors of processor and caches, drawn at random from the paper's fifteen.

    apt-get install stress-ng
    python benchmarks/preference_interference.py --data rates --plot interference.png

tasks        of the pane and of the window stage, on average by time (the paper's threads)
slots        that the policy asked for, on average by time
windows/s    that came out; five start in a second
CV           of windows per second: standard deviation over mean
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measuring import session, show
from preference_check import check
from preference_feed import feed, present
from preference_outcome import Course
from preference_run import Question, play

import penstock as ps

STRESSORS = (
    *("bsearch", "cache", "hsearch", "icache", "lockbus", "lsearch", "malloc", "matrix"),
    *("memcpy", "qsort", "str", "tsearch", "vecmath", "wcs", "zlib"),
)
STRESSOR_SECONDS = 5
WARM_UP_SECONDS = 10
CONTROL_INTERVAL = "2500 milliseconds"


@contextmanager
def stressed(threads: int, seed: int = 0) -> Iterator[None]:
    """Keep so many cores busy, each with one stressor after another."""
    done = threading.Event()
    workers = [
        threading.Thread(target=_stress, args=(random.Random(f"{seed} {number}"), done))
        for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        done.set()
        for worker in workers:
            worker.join()


def _stress(draw: random.Random, done: threading.Event) -> None:
    while not done.is_set():
        stressor = draw.choice(STRESSORS)
        command = ["stress-ng", "--quiet", f"--{stressor}", "1"]
        process = subprocess.Popen(
            [*command, "--timeout", str(STRESSOR_SECONDS)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None:
            if done.wait(0.1):
                process.terminate()  # it ends what it started
                process.wait()


def row_of(percent: int, threads: int, run: Course, found: Any, cpu_per_s: float) -> dict[str, Any]:
    """Sum up a run beside so much other work."""
    return {
        "load_percent": percent,
        "stressors": threads,
        "tasks": run.mean(lambda step: float(step.tasks)),
        "slots": run.mean(lambda step: float(step.slots)),
        "pane_tasks": run.mean(lambda step: float(step.pane_tasks)),
        "window_tasks": run.mean(lambda step: float(step.window_tasks)),
        "parts": run.mean(lambda step: step.parts_per_pane),
        "rho_panes": run.mean(lambda step: step.pane_utilisation),
        "rho_windows": run.mean(lambda step: step.window_utilisation),
        "windows_per_second": float(np.mean(run.windows_per_second())),
        "cv": run.variation,
        "extra_percent": run.extra_percent,
        "missing": found.missing,
        "wrong": found.wrong,
        "cpu_s_per_s": cpu_per_s,
    }


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=90, help="how long each stream lasts")
    parser.add_argument("--data", type=Path, help="the folder with the rates of the match")
    parser.add_argument("--loads", type=int, nargs="+", default=[0, 50, 100], help="% of the cores")
    parser.add_argument("--slots", type=int, default=6, help="tasks at once at most")
    parser.add_argument("--scale", type=float, default=1.0, help="of the stream's rate")
    parser.add_argument("--query", default="skyline", choices=["skyline", "top_dominant"])
    parser.add_argument("--trigger", type=float, help="seconds; else batches follow each other")
    parser.add_argument("--plot", type=Path, help="draw slots and throughput here")
    parser.add_argument("--journals", type=Path, help="keep every run's journal in this directory")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    if shutil.which("stress-ng") is None:
        print("stress-ng is not there. On Debian or Ubuntu: apt-get install stress-ng")
        sys.exit(2)
    spark = session(f"local[{options.slots}]")
    stream = (present(["Game1"], options.data) or ["MAP-1K"])[0]
    source = feed(stream, options.seconds, data=options.data, scale=options.scale)
    question = Question(options.query)
    cores = os.cpu_count() or 1
    policy = ps.Fuzzy(interval=CONTROL_INTERVAL, max_slots=options.slots, start_slots=cores)
    setting = {"policy": policy, "trigger": options.trigger}
    play(spark, feed("MAP-1K", WARM_UP_SECONDS), question, **setting)
    rows, runs = [], {}
    for percent in options.loads:
        threads = round(cores * percent / 100)
        journal = None if options.journals is None else options.journals / f"load-{percent}"
        with stressed(threads):
            played = play(spark, source, question, **setting, journal=journal)
        found = check(spark, source, question, played, sample=2)
        used = played.cpu_seconds / source.seconds
        rows.append(row_of(percent, threads, played.course, found, used))
        runs[percent] = played.course
        print(rows[-1], file=sys.stderr, flush=True)
    spark.stop()
    show(rows, f"{options.query} over {stream} beside stress-ng", options.json)
    if options.plot is not None:
        from preference_plot import draw_interference

        draw_interference(runs, options.plot)


if __name__ == "__main__":
    main()
