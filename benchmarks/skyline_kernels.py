"""How fast a skyline is found on one core, beside the filters of moocore and paretoset.

No Spark. Uniform, correlated and anti-correlated points (``skyline_data.py``). The ways take turns
on the same points, each in its own process, and the time is the median of CPU time, without the
first call. A way that is not done within the cap is cut, and not tried on more points of the kind.

Then what a pane and a window of a stream cost, beside the block-nested loops of Elastic-PPQ's
authors in machine code: the skyline of a pane of 6,000 points of 8 columns, and the skyline of a
window from those of its 5 panes.

    python benchmarks/skyline_kernels.py
    python benchmarks/skyline_kernels.py --quick --json
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from measuring import show
from skyline_data import KINDS, Points, uniform

from penstock.compiling import compiled
from penstock.preference.growing import GrowingSkyline
from penstock.preference.skyline import skyline

Row = dict[str, Any]

PANE_ROWS, PANES, PANE_COLUMNS = 6_000, 5, 8


def penstock_way() -> Callable[[Points], int]:
    return lambda points: len(skyline(points))


def moocore_way() -> Callable[[Points], int]:
    from moocore import is_nondominated

    return lambda points: int(is_nondominated(points, keep_weakly=True).sum())


def paretoset_way() -> Callable[[Points], int]:
    from paretoset import paretoset

    return lambda points: int(paretoset(points, distinct=False).sum())


WAYS = {"penstock": penstock_way, "moocore": moocore_way, "paretoset": paretoset_way}


def serve(name: str, pipe: Connection) -> None:
    """Time one way on the points of a file, as often as asked."""
    way = WAYS[name]()
    way(np.random.default_rng(0).random((1_000, 4)))  # compiles
    pipe.send(None)
    while True:
        path, rows, times = pipe.recv()
        points = np.load(path)[:rows]
        took = []
        for _ in range(times):
            start = time.process_time()
            size = way(points)
            took.append(time.process_time() - start)
        pipe.send((took, size))


class Worker:
    """A way in a process of its own, which can be cut."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.start()

    def start(self) -> None:
        """Start the process, and wait until it has compiled."""
        self.pipe, other = mp.get_context("spawn").Pipe()
        self.process = mp.get_context("spawn").Process(
            target=serve, args=(self.name, other), daemon=True
        )
        self.process.start()
        self.pipe.recv()

    def seconds(
        self, path: Path, rows: int, times: int, cap: float
    ) -> tuple[list[float], int] | None:
        """Return the times and the skyline's size; None if it was cut."""
        before = self.cpu_seconds()
        self.pipe.send((path, rows, times))
        while not self.pipe.poll(0.1):
            if self.cpu_seconds() - before > cap:
                self.stop()
                self.start()
                return None
        measured: tuple[list[float], int] = self.pipe.recv()
        return measured

    def cpu_seconds(self) -> float:
        """Return what the process has used: waiting for a busy machine doesn't count."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Cut the process, whatever it does."""
        self.process.kill()
        self.process.join()


def compare(
    workers: list[Worker], path: Path, rows: int, cap: float, cut: set[str]
) -> tuple[dict[str, float | None], int]:
    """Return each way's median, None where it was cut, and the skyline's size."""
    medians: dict[str, float | None] = dict.fromkeys(WAYS)
    times: dict[str, list[float]] = {}
    sizes: set[int] = set()
    for worker in workers:
        if worker.name in cut:
            continue
        first = worker.seconds(path, rows, 1, cap)
        if first is None:
            cut.add(worker.name)
        else:
            times[worker.name] = first[0]
            sizes.add(first[1])
    if len(sizes) > 1:
        raise RuntimeError(f"the ways found skylines of {sorted(sizes)} points")
    slowest = max((took[0] for took in times.values()), default=0.0)
    turns, repeats = (7, 9) if slowest < 0.02 else (5, 1) if slowest < 0.5 else (1, 1)
    for _ in range(turns if slowest < 2 else 0):
        for worker in workers:
            if worker.name in times:
                again = worker.seconds(path, rows, repeats, cap * 10)
                times[worker.name] += again[0] if again is not None else []
    for name, took in times.items():
        medians[name] = statistics.median(took[1:] or took)
    return medians, max(sizes, default=0)


def filters(columns: list[int], sizes: list[int], cap: float) -> list[Row]:
    workers = [Worker(name) for name in WAYS]
    results: list[Row] = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind, make in KINDS.items():
                for width in columns:
                    path = Path(folder) / "points.npy"
                    np.save(path, make(max(sizes), width))
                    cut: set[str] = set()
                    for rows in sizes:
                        medians, size = compare(workers, path, rows, cap, cut)
                        results.append(cell(kind, width, rows, size, medians, cap))
    finally:
        for worker in workers:
            worker.stop()
    return results


def cell(
    kind: str, columns: int, rows: int, size: int, medians: dict[str, float | None], cap: float
) -> Row:
    ours = medians["penstock"]
    others = [each for name, each in medians.items() if name != "penstock" and each is not None]
    ratio = None if ours is None else f"{min([*others, cap]) / ours:.1f}"
    if ratio is not None and not others:
        ratio = f"over {ratio}"
    shown = {
        f"{name}_ms": f"over {cap * 1e3:g}" if each is None else each * 1e3
        for name, each in medians.items()
    }
    return {
        "data": kind,
        "columns": columns,
        "rows": rows,
        "skyline": size,
        **shown,
        "times_the_best_other": ratio,
    }


@compiled
def block_nested_loops(points: Points, window: Points, size: int) -> int:
    """Insert points into a window that holds a skyline; return its new size."""
    columns = points.shape[1]
    for row in range(points.shape[0]):
        kept = 0
        beaten = False
        for place in range(size):
            better, worse = False, False
            for column in range(columns):
                if window[place, column] < points[row, column]:
                    worse = True
                elif window[place, column] > points[row, column]:
                    better = True
                if better and worse:
                    break
            if worse and not better:
                beaten = True  # then it has dominated nothing so far: all are kept
                break
            if worse or not better:
                if kept < place:
                    window[kept] = window[place]
                kept += 1
        if not beaten:
            window[kept] = points[row]
            size = kept + 1
    return size


def nested_loops_of(parts: list[Points]) -> int:
    window = np.empty((sum(map(len, parts)), parts[0].shape[1]))
    size = 0
    for part in parts:
        size = block_nested_loops(part, window, size)
    return size


def at_once(parts: list[Points]) -> int:
    return len(skyline(parts[0] if len(parts) == 1 else np.concatenate(parts)))


def pane_after_pane(parts: list[Points]) -> int:
    growing = GrowingSkyline(parts[0].shape[1])
    for part in parts:
        growing.add_skyline(part)
    return len(growing.points)


def panes(rounds: int) -> list[Row]:
    parts = [uniform(PANE_ROWS, PANE_COLUMNS, seed) for seed in range(PANES)]
    best = [part[skyline(part)] for part in parts]
    results = []
    for what, given in (
        ("skyline of a pane", parts[:1]),
        ("window from its panes' skylines", best),
        ("window from all its rows", parts),
    ):
        ways = {"penstock, at once": at_once, "block-nested loops": nested_loops_of}
        if given is best:
            ways["penstock, pane after pane"] = pane_after_pane
        sizes = {name: way(given) for name, way in ways.items()}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                start = time.process_time()
                way(given)
                times[name].append(time.process_time() - start)
        rows = sum(map(len, given))
        speeds = {name: rows / statistics.median(took) for name, took in times.items()}
        if len(set(sizes.values())) > 1:
            raise RuntimeError(f"the ways found skylines of {sizes} points")
        results += [
            {
                "what": what,
                "rows": rows,
                "skyline": sizes[name],
                "way": name,
                "thousand_rows_a_second": speed / 1e3,
                "to_nested_loops": speed / speeds["block-nested loops"],
            }
            for name, speed in speeds.items()
        ]
    return results


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="at most 10,000 points, 4 and 12 wide")
    parser.add_argument("--cap", type=float, default=10.0, help="seconds after which a way is cut")
    parser.add_argument("--sizes", type=int, nargs="+", help="how many points")
    options = parser.parse_args(arguments)
    columns = [4, 12] if options.quick else [4, 8, 12]
    sizes = options.sizes or [1_000, 10_000, *([] if options.quick else [100_000, 1_000_000])]
    compared = filters(columns, sizes, options.cap)
    of_panes = panes(5 if options.quick else 21)
    if options.json:
        show(compared + of_panes, "skyline kernels", True)
    else:
        show(compared, "skyline kernels", False)
        show(of_panes, "panes and windows", False)


if __name__ == "__main__":
    main()
