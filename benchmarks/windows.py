"""Windows over streams: Penstock beside Spark's own ``groupBy(window(...))``.

Both read the same rows from the same source and write to the same kind of sink. They take turns,
each run in a process of its own from an empty checkpoint, and every run is as long as it takes to
warm up: so many micro-batches and so many seconds at the least. The time is Spark's own
triggerExecution of the micro-batches of the second half of a run.

    python benchmarks/windows.py                                  # a table
    python benchmarks/windows.py --json --case sliding60 five
    python benchmarks/windows.py --case flat --plot docs/images/flat.svg
    python benchmarks/windows.py --case flink --flink-python other-venv/bin/python
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import windows_flat
import windows_flink
from measuring import peak_memory_mb, show
from windows_cases import CASES, FLAT
from windows_runs import WAYS, Run, Setting, run_once

LEAST_BATCHES = 20
OTHERS = ("flat", "flink")


@dataclass(frozen=True, slots=True)
class Told:
    """What a run in another process told, and the memory it took."""

    run: Run
    peak_memory_mb: float


def compare(options: argparse.Namespace, case: str) -> list[dict[str, Any]]:
    """Run a case each way in turns, and set the times side by side."""
    told: dict[str, list[Told]] = {way: [] for way in options.ways}
    for turn in range(options.rounds):
        for way in options.ways if turn % 2 == 0 else reversed(options.ways):
            told[way].append(_elsewhere(options, case, way))
            times = told[way][-1].run.batch_ms
            median = f"{statistics.median(times):,.0f} ms a batch, {len(times)} batches measured"
            print(f"{case} by {way}, round {turn + 1}: {median}", file=sys.stderr, flush=True)
    _check_same({way: runs[0].run.results for way, runs in told.items()})
    rows = [_row(case, way, runs) for way, runs in told.items()]
    for row in rows:
        row["to_penstock"] = row["median_ms"] / rows[0]["median_ms"]
        row["cpu_to_penstock"] = row["cpu_ms"] / rows[0]["cpu_ms"]
    return rows


def _row(case: str, way: str, told: list[Told]) -> dict[str, Any]:
    times = [ms for each in told for ms in each.run.batch_ms]
    return {
        "case": case,
        "way": way,
        "median_ms": statistics.median(times),
        "p95_ms": statistics.quantiles(times, n=20)[-1],
        "to_penstock": 1.0,
        "cpu_ms": statistics.median(each.run.cpu_ms for each in told),
        "cpu_to_penstock": 1.0,
        "batches": len(times),
        "empty_batches": sum(each.run.empty_batches for each in told),
        "peak_memory_mb": max(each.peak_memory_mb for each in told),
        "durations_ms": told[-1].run.durations_ms,
        "steps_ms": told[-1].run.steps_ms,
    }


def _check_same(results: dict[str, list[float]]) -> None:
    """Refuse to compare ways that give different results."""
    first = next(iter(results.values()))
    for way, found in results.items():
        if any(abs(a - b) > 1e-9 * max(abs(a), 1.0) for a, b in zip(first, found, strict=True)):
            raise RuntimeError(f"the results differ, so times mean nothing: {way} of {results}")


def _elsewhere(options: argparse.Namespace, case: str, way: str) -> Told:
    """Run once in a new process: no run inherits another's heap or compiled code."""
    with tempfile.TemporaryDirectory() as where:
        answer = Path(where) / "answer.json"
        command = [sys.executable, __file__, "--one", way, "--case", case]
        command += ["--batches", str(options.batches), "--seconds", str(options.seconds)]
        command += ["--sink", options.sink, "--master", options.master, "--answer", str(answer)]
        if options.rows is not None:
            command += ["--rows", str(options.rows)]
        try:
            peak = peak_memory_mb(command)
        except RuntimeError as error:
            why = answer.read_text() if answer.exists() else "it said nothing"
            raise RuntimeError(f"{case} by {way} failed: {why}") from error
        return Told(Run(**json.loads(answer.read_text())), peak)


def _one(options: argparse.Namespace) -> None:
    """Run once in this process and write down what it took, or why it failed."""
    way, _, partitions = options.one.partition("-")
    setting = Setting(
        CASES[options.case[0]].with_rows(options.rows),
        options.batches,
        options.seconds,
        options.sink,
        options.master,
        int(partitions or 2),
    )
    try:
        answer = json.dumps(asdict(run_once(way, setting)))
    except Exception:
        Path(options.answer).write_text(traceback.format_exc())
        raise
    Path(options.answer).write_text(answer)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--case", nargs="+", choices=[*CASES, *OTHERS], default=[*CASES])
    parser.add_argument("--batches", type=int, default=24, help="least micro-batches of a run")
    parser.add_argument("--seconds", type=float, default=60.0, help="least time of a run")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each way")
    parser.add_argument("--rows", type=int, help="rows a micro-batch, for all cases")
    parser.add_argument("--sink", choices=["parquet", "noop"], default="parquet")
    parser.add_argument(
        "--ways",
        nargs="+",
        default=["penstock", "spark"],
        choices=[*WAYS, "spark-200"],
        help="the first is what others are compared with; 200 is a number of shuffle partitions",
    )
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--flat-batches", type=int, default=2_000)
    parser.add_argument("--plot", help="where the plot of the flat case is drawn")
    parser.add_argument("--flink-python", default=sys.executable, help="a Python with Flink")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.batches < LEAST_BATCHES and not options.one:
        print(f"fewer than {LEAST_BATCHES} batches: no steady state", file=sys.stderr)
    return options


def main() -> None:
    options = parsed()
    if options.one:
        _one(options)
        return
    results: list[dict[str, Any]] = []
    for case in options.case:
        if case == "flat":
            setting = Setting(FLAT.with_rows(options.rows), options.flat_batches, sink=options.sink)
            results += windows_flat.measure(setting, options.plot)
        elif case == "flink":
            results += windows_flink.measure(options.flink_python, options.batches, options.rows)
        else:
            results += compare(options, case)
    if options.json:
        show(results, "windows", as_json=True)
        return
    for case in options.case:
        rows = [{k: v for k, v in r.items() if not isinstance(v, dict)} for r in results]
        show([row for row in rows if row["case"] == case], case, as_json=False)


if __name__ == "__main__":
    main()
