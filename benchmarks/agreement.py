"""How well the simulator predicts live runs: batch times and latencies, run by run.

Each run is real: Spark on this machine, with operators that wait, that need a core, that are
skewed, that form windows; with few slots, many, and slots that follow the load. From its journal
alone the simulator learns what rows, tasks and batches cost in one part, and predicts the other.

    python benchmarks/agreement.py                          # about 15 minutes, then a table
    python benchmarks/agreement.py --seconds 60 --runs steady ramp --json
    python benchmarks/agreement.py --keep journals          # penstock agree journals/steady/journal

learnt   median error of batch times, of the batches that costs were learnt from
unseen   the same of batches between those, and below what nine of ten of them are
ahead    the same of the second half of the run, with costs of the first
latency  mean of the second half, as recorded, and as simulated from when its rows arrived
load     processes that wanted a core when the run was over: others on the machine make noise
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from agreement_runs import RUNS, SLOTS, LiveRun
from measuring import session, show
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.simulation.agreement.agreement import Agreement, agreement_of

WARM_UP_SECONDS = 20
TARGET = 0.15


def row(run: LiveRun, found: Agreement, machine_load: float) -> dict[str, Any]:
    """Put what was found of a run in a line of the table."""
    return {
        "run": run.name,
        "about": run.about,
        "batches": found.batches,
        "fixed_s": found.learnt.costs.fixed_seconds,
        "learnt": found.in_sample.median,
        "unseen": found.unseen.median,
        "unseen_90": found.unseen.p90,
        "ahead": found.ahead.median,
        "latency_s": found.mean_latency.recorded_seconds,
        "simulated_s": found.mean_latency.simulated_seconds,
        "load": machine_load,
    }


def measure(spark: SparkSession, run: LiveRun, seconds: int, where: Path) -> dict[str, Any] | None:
    """Play a run and compare it; None where it failed, or made too few batches to learn from."""
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    try:
        (found,) = agreement_of(run.play(spark, seconds, where))
    except PenstockError as error:
        print(f"{run.name}: left out. {str(error).splitlines()[0]}", flush=True)
        return None
    return row(run, found, os.getloadavg()[0])


def main() -> None:
    """Play the runs, and show how far off the simulator is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=90, help="of each run")
    parser.add_argument("--runs", nargs="+", choices=[run.name for run in RUNS])
    parser.add_argument("--keep", type=Path, help="a folder for the journals")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    wanted = [run for run in RUNS if not options.runs or run.name in options.runs]
    spark = session(f"local[{SLOTS}]")
    with tempfile.TemporaryDirectory() as folder:
        keep = options.keep or Path(folder)
        # The first batches of a session compile what all that follow use.
        RUNS[0].play(spark, WARM_UP_SECONDS, Path(folder) / "warm-up")
        found = [
            measure(spark, run, options.seconds, keep / run.name.replace(" ", "-"))
            for run in wanted
        ]
    spark.stop()
    rows = [each for each in found if each is not None]
    if rows:
        show(rows, "agreement of the simulator with live runs", options.json)
        unseen = statistics.median(each["unseen"] for each in rows)
        if not options.json:
            print(f"median over runs: {unseen:.1%} unseen; the target is {TARGET:.0%}")


if __name__ == "__main__":
    main()
