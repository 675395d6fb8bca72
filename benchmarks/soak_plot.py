"""Draws the curves of a soak from its record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from soak_faults import DRIVER, EXECUTOR, SINK, WORKER
from soak_judging import PROCESSES
from soak_record import Record

COLOURS = {
    "driver_jvm": "#1f77b4",
    "driver_python": "#17becf",
    "executor": "#d62728",
    "worker": "#2ca02c",
}
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small"}
FAULTS = {WORKER: "#2ca02c", EXECUTOR: "#d62728", DRIVER: "#1f77b4", SINK: "#9467bd"}


def draw_curves(record: Record, picture: Path) -> None:
    """Draw memory, heaps, files, batch times and rows waiting over time, with the faults."""
    figure = Figure(figsize=(11, 11), layout="constrained")
    memory, heaps, files, times, waiting = figure.subplots(5, 1, sharex=True)
    for kind, words in PROCESSES.items():
        for n, (at, resident) in enumerate(record.lives(kind).values()):
            memory.plot(_minutes(at), resident, color=COLOURS[kind], label=None if n else words)
    memory.set(ylabel="resident MB, each process")
    _heaps(heaps, record)
    at = _minutes([each.at for each in record.files])
    files.plot(at, [each.files for each in record.files], color="#333333", label="files")
    files.plot(at, [each.bytes / 1e3 for each in record.files], color="#ff7f0e", label="kB")
    files.set(ylabel="checkpoint, journal apart")
    batches = sorted(record.batches.values(), key=lambda each: each.at)
    at = _minutes([each.at for each in batches])
    times.plot(at, [each.seconds for each in batches], ".", markersize=3, color="#333333")
    times.set(ylabel="batch, seconds")
    rows = [each.waiting_rows or 0 for each in batches]
    waiting.plot(at, rows, color="#333333", linewidth=0.8)
    waiting.set(ylabel="rows waiting", xlabel="minutes")
    # Before the faults are drawn, so that only the last of the five says what those are.
    for axes in (memory, heaps, files):
        axes.legend(**BESIDE)
    for axes in (memory, heaps, files, times, waiting):
        _faults(axes, record)
        axes.set_ylim(bottom=0)
    waiting.legend(title="faults", **BESIDE)
    figure.savefig(picture, dpi=110)


def _heaps(axes: Any, record: Record) -> None:
    for kind in ("driver_jvm", "executor"):
        for n, life in enumerate(record.lives(kind)):
            seen = [each for each in record.heaps if (each.pid, each.since) == life]
            at, heap_mb = _minutes([each.at for each in seen]), [each.heap_mb for each in seen]
            label = None if n else PROCESSES[kind]
            axes.plot(at, heap_mb, marker=".", color=COLOURS[kind], label=label)
    axes.set(ylabel="heap after a collection, MB")


def _faults(axes: Any, record: Record) -> None:
    for kind, colour in FAULTS.items():
        for n, each in enumerate(done for done in record.done if done.kind == kind):
            label = None if n else kind
            axes.axvline(each.at / 60, color=colour, alpha=0.35, linewidth=1, label=label)


def _minutes(at: list[float]) -> list[float]:
    return [each / 60 for each in at]
