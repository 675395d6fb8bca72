"""Draws how a long run went, from what ``windows.py --case flat`` saw. Needs matplotlib.

python benchmarks/windows_plot.py docs/images/flat.json docs/images/flat.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure


def draw(data: Path, picture: Path) -> None:
    """Draw batch times, segments and memory over the number of the micro-batch."""
    course = json.loads(data.read_text())
    figure = Figure(figsize=(8, 7), layout="constrained")
    times, counts, memory = figure.subplots(3, 1, sharex=True)
    batches = [int(number) for number in course["batch_ms"]]
    times.plot(batches, course["batch_ms"].values(), ".", markersize=2)
    middle = sorted(course["batch_ms"].values())[len(batches) // 2]
    times.set(ylabel="batch, ms", ylim=(0, 4 * middle))
    counts.plot(course["sampled"], course["segments"], label="live segments")
    counts.plot(course["sampled"], course["files"], label="files in the checkpoint")
    memory.plot(course["sampled"], course["heap_mb"], label="JVM heap after a collection, MB")
    memory.plot(course["sampled"], course["python_mb"], label="Python, resident MB")
    memory.set(xlabel="micro-batch")
    for axes in (counts, memory):
        axes.set_ylim(bottom=0)
        axes.legend(loc="lower right")
    figure.savefig(picture)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
