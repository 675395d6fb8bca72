"""What ``penstock bench`` does: measures on this machine, and shows it side by side."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from penstock.cli.quiet_spark import quiet_spark

if TYPE_CHECKING:
    from penstock.bench import Beside, Load

LEGEND = (
    "Rows a second by the median micro-batch; the first half of the micro-batches does not count. "
    "Both ran one after the other in one Spark, on the same rows, into Parquet; Penstock went "
    "first, while code is still being compiled."
)


def bench(
    load: Load,
    seconds: float,
    master: str,
    show: Callable[[str, float], object],
) -> list[Beside]:
    """Measure every case, for about so many seconds in all."""
    settings = {
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "2g",
    }
    from penstock.bench import CASES, run_case
    from penstock.bench.beside_spark import Watch

    each_seconds = seconds / (2 * len(CASES))
    seen: list[str] = []

    def told(what: str, share: float) -> None:
        if what not in seen:
            seen.append(what)
        show(what, (len(seen) - 1 + share) / (2 * len(CASES)))

    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as where,
        quiet_spark("penstock-bench", master, settings) as spark,
    ):
        return [
            run_case(spark, case, load, Path(where) / str(number), Watch(each_seconds, told))
            for number, case in enumerate(CASES)
        ]


def as_dict(found: Sequence[Beside]) -> dict[str, Any]:
    """Lay out what was measured, for programs."""
    cases = [{**asdict(each), "speedup": each.speedup} for each in found]
    return {"is_same": is_same(found), "cases": cases}


def is_same(found: Sequence[Beside]) -> bool:
    """Whether there were results to compare in every case, and all were equal."""
    return all(each.compared_rows and not each.different_rows for each in found)


def as_screen(found: Sequence[Beside], *, legend: bool = True) -> Group:
    """Lay out what was measured, for people."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("windows")
    for name in ("Penstock rows/s", "Spark rows/s", "ratio", "results"):
        table.add_column(name, justify="right")
    for each in found:
        table.add_row(
            each.case.name,
            f"{each.penstock.rows_per_second:,.0f}",
            f"{each.spark.rows_per_second:,.0f}",
            f"{each.speedup:.2f}",
            _results(each),
        )
    return Group(table, *([Text(LEGEND)] if legend else []))


def _results(each: Beside) -> Text:
    if not each.compared_rows:
        return Text("none to compare", style="yellow")
    if each.different_rows:
        return Text(f"{each.different_rows:,} DIFFERENT", style="red")
    return Text(f"{each.compared_rows:,} equal")
