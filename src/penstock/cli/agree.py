"""``penstock agree``: how well the simulator predicts runs that were journaled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from penstock.simulation.agreement.agreement import Agreement, agreement_of


def agree(
    journals: Sequence[Path],
    show: Callable[[str, float], object] = lambda what, share: None,
) -> list[Agreement]:
    """Compare all runs of all journals with what the simulator says of them."""
    return [found for path in journals for found in agreement_of(path, show)]


def as_screen(found: Sequence[Agreement], *, legend: bool = True) -> Group:
    """Lay out how far off the simulator is, for people."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("run", overflow="fold")
    errors = ("learnt", "unseen", "90 %", "ahead")
    for name in ("batches", "fixed s", "ms/row", *errors, "mean s", "95 % s"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found:
        costs = each.learnt.costs
        mean, slow = each.mean_latency, each.p95_latency
        table.add_row(
            Text(each.run),
            f"{each.batches}",
            f"{costs.fixed_seconds:.2f}",
            f"{1e3 * each.learnt.topology.seconds_per_row():.3g}",
            f"{each.in_sample.median:.1%}",
            f"{each.unseen.median:.1%}",
            f"{each.unseen.p90:.1%}",
            f"{each.ahead.median:.1%}",
            f"{mean.recorded_seconds:.2f} ({mean.simulated_seconds:.2f})",
            f"{slow.recorded_seconds:.2f} ({slow.simulated_seconds:.2f})",
        )
    return Group(table, *([Text(LEGEND)] if legend else []))


LEGEND = (
    "Errors of batch times: learnt, of the batches that costs were learnt from; unseen, of "
    "stretches between those (median, and 90 % are below); ahead, of the second half by the first. "
    "Latencies of the second half: as recorded (as simulated from its arrivals)."
)
