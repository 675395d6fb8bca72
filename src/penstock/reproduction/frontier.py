"""How few slots and how little latency Penstock can have at once, on the tweets of PSPS.

Penstock runs micro-batches. Each costs a fixed time in which slots do nothing, so that fewer slots
take longer batches and longer batches make rows wait. PSPS and DABS pay other prices: whole
replicas for each operator, and restarts. Here are runs of Penstock's own policy with several fixed
costs beside both, and the bound that no policy can beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path

import numpy as np

from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.replica_pool import ReplicaPool
from penstock.reproduction.frontier_bound import (
    DABS,
    MOST_SLOTS,
    PSPS,
    WANTED,
    Four,
    bound,
    fixed_cost_needed,
)
from penstock.reproduction.psps_experiments import trace_file
from penstock.reproduction.result import Beside, Figure, Progress, Table
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.processes import in_processes
from penstock.simulation.run import SimulatedRun
from penstock.simulation.topology_file import read_topology
from penstock.sources.trace import Trace
from penstock.sources.trace_reading import read_trace

TOPOLOGY = "tweets"
DEADLINE_SECONDS = 30.0
"""PSPS's timeout: a row done later counts as failed."""
LONG_INTERVAL_SECONDS = 10.0
"""PSPS does not say over what throughput degradation is averaged. By the second, batches longer
than one count as standstill, whatever the policy does; over this they don't."""
LIVE_FIXED_SECONDS = 0.4
"""What a batch costs with no rows: the median of the nine runs of ``benchmarks/agreement.py``."""
SHORT_FIXED_SECONDS = 0.03
SHORT_TRIGGER_SECONDS = 0.5
"""With batches that fit twice in a second, every second puts out what came in one."""
FIXED_SECONDS = (0.1, 0.2, LIVE_FIXED_SECONDS)
BATCHES_PER_FIXED = (5.0, 7.0, 9.0, 12.0)
"""Batch lengths to plan for, as multiples of the fixed cost."""
END_TO_END_SECONDS = 0.1
"""A trigger no longer than any batch: they run end to end, and the policy plans their length."""
UTILISATION = 0.98
WORKERS = 2
QUICK_STEPS = 150


@dataclass(frozen=True, slots=True)
class Run:
    """A run with one fixed cost, whose policy planned for batches of one length."""

    fixed_seconds: float
    batch_seconds: float
    four: Four
    long_degradation: float

    @property
    def smoothed(self) -> Four:
        """The four metrics, with degradation averaged over the longer intervals."""
        return replace(self.four, degradation=self.long_degradation)


def run_one(
    trace: Trace,
    fixed_seconds: float,
    batch_seconds: float,
    trigger_seconds: float = END_TO_END_SECONDS,
) -> Run:
    """Simulate Penstock's replica pool, planning for batches of this length."""
    # Slots of a pool are there already, as PSPS's replicas are: nothing is lost by turning often.
    rails = GuardRails(scale_in_after=1, scale_in_cool_down=0, scale_out_cool_down=0, turns=1_000)
    policy = ReplicaPool(
        utilisation=UTILISATION,
        interval="2 seconds",
        batch_within=batch_seconds,
        max_slots=MOST_SLOTS,
        rails=rails,
    )
    mechanism = MicroBatch(
        trigger_seconds=trigger_seconds,
        costs=BatchCosts(fixed_seconds, task_seconds=0.0, imbalance=1.0),
        executor_seconds=0.0,
        most_slots=MOST_SLOTS,
        deadline_seconds=DEADLINE_SECONDS,
    )
    ran = mechanism.run(read_topology(TOPOLOGY), Load(trace), policy)
    return Run(
        fixed_seconds,
        batch_seconds,
        four_of(ran),
        ran.degradation(LONG_INTERVAL_SECONDS),
    )


def four_of(ran: SimulatedRun) -> Four:
    """Return the four metrics of a run."""
    return Four(
        ran.saved(MOST_SLOTS),
        ran.degradation(1.0),
        ran.processed,
        ran.mean_latency_seconds,
    )


def frontier(
    data: Path | None, quick: bool, progress: Progress
) -> tuple[tuple[Table, ...], tuple[Figure, ...], tuple[str, ...]]:
    """Return the tables and figures of the frontier, and what is to say about them.

    Without the folder of traces there is nothing to compare with: no table, and one remark.
    """
    path = None if data is None else trace_file(data, "psps_main.csv")
    if path is None:
        return (), (), ("The frontier needs psps_main.csv of the folder of traces: left out.",)
    trace = read_trace(path)
    if quick:
        trace = Trace(trace.step_micros[:QUICK_STEPS], trace.counts[:QUICK_STEPS])
    asked = [
        (trace, fixed, round(fixed * times, 3), END_TO_END_SECONDS)
        for fixed in (FIXED_SECONDS[1:] if quick else FIXED_SECONDS)
        for times in (BATCHES_PER_FIXED[1:3] if quick else BATCHES_PER_FIXED)
    ]
    short = SHORT_TRIGGER_SECONDS
    asked.append((trace, SHORT_FIXED_SECONDS, short, short))
    runs = []
    for run in in_processes(_run, asked, 1 if quick else WORKERS):
        runs.append(run)
        progress("the frontier of slots and latency", len(runs) / len(asked))
    mean_slots = trace.rows / trace.duration_seconds * read_topology(TOPOLOGY).seconds_per_row()
    return (
        tuple(table(fixed, runs) for fixed in sorted({each.fixed_seconds for each in runs})),
        (_figure(runs, mean_slots),),
        remarks(runs, mean_slots),
    )


def _run(asked: tuple[Trace, float, float, float]) -> Run:
    return run_one(*asked)


def nearest(runs: Sequence[Run], wanted: Four = WANTED) -> Run:
    """Return the run that is nearest to beating ``wanted`` in its worst metric."""

    def worst(run: Run) -> float:
        its = run.smoothed
        return min(
            its.saved / wanted.saved - 1,
            1 - its.degradation / wanted.degradation,
            its.processed / wanted.processed - 1,
            1 - its.latency_seconds / wanted.latency_seconds,
        )

    return max(runs, key=worst)


def table(fixed_seconds: float, runs: Sequence[Run]) -> Table:
    """Put the best run with one fixed cost beside the best of PSPS and DABS, metric by metric."""
    best = nearest([each for each in runs if each.fixed_seconds == fixed_seconds])
    its, why, standing = best.four, "", ""
    if not best.smoothed.beats(WANTED):
        why = f"A batch costs {fixed_seconds:g} s with no rows: see the bound in the figure."
    if its.degradation >= WANTED.degradation:
        standing = "Batches longer than a second put out nothing in some seconds."
    measured = ", as measured live," if fixed_seconds == LIVE_FIXED_SECONDS else ""
    return Table(
        f"frontier-{fixed_seconds:g}",
        f"Penstock with a fixed cost of {fixed_seconds:g} s a batch{measured} and batches of about "
        f"{best.batch_seconds:g} s, beside the better of PSPS and DABS",
        (
            Beside("saved resources", WANTED.saved, its.saved, why=why),
            Beside(
                "throughput degradation, by the second",
                WANTED.degradation,
                its.degradation,
                why=standing,
            ),
            Beside(
                f"throughput degradation, by {LONG_INTERVAL_SECONDS:g} s",
                WANTED.degradation,
                best.long_degradation,
            ),
            Beside("processed", WANTED.processed, its.processed),
            Beside("latency", WANTED.latency_seconds, its.latency_seconds, "s", why=why),
        ),
    )


def _figure(runs: Sequence[Run], mean_slots: float) -> Figure:
    """Draw what is saved at most within a latency, simulated and by the bound."""
    grid = np.round(np.arange(0.4, 6.01, 0.2), 2).tolist()
    series: dict[str, list[float]] = {}
    for fixed in sorted({each.fixed_seconds for each in runs}):
        own = [each.four for each in runs if each.fixed_seconds == fixed]
        within = [[its.saved for its in own if its.latency_seconds <= most] for most in grid]
        series[f"simulated, fixed cost {fixed:g} s"] = [max(each, default=nan) for each in within]
        series[f"bound, fixed cost {fixed:g} s"] = [bound(fixed, mean_slots, most) for most in grid]
    for name, their in (("PSPS", PSPS), ("DABS", DABS)):
        series[name] = [their.saved if each >= their.latency_seconds else nan for each in grid]
    return Figure(
        "frontier",
        "Resources saved within a mean latency: PSPS's tweets",
        "mean latency of at most, s",
        "resources saved",
        grid,
        series,
    )


def remarks(runs: Sequence[Run], mean_slots: float) -> tuple[str, ...]:
    """Say whether one run is better in all four metrics, with which fixed cost, and why."""
    needed = fixed_cost_needed(mean_slots, WANTED)
    ways = (
        ("by the second", [each for each in runs if each.four.beats(WANTED)]),
        (
            f"over {LONG_INTERVAL_SECONDS:g} s",
            [each for each in runs if each.smoothed.beats(WANTED)],
        ),
    )
    told = ", and ".join(
        f"of up to {max(each.fixed_seconds for each in better):g} s where degradation is averaged "
        f"{how}"
        for how, better in ways
        if better
    )
    better_in_all = (
        f"A run is better than PSPS and DABS in all four metrics at once with a fixed cost {told}"
        if told
        else "No run is better than PSPS and DABS in all four metrics at once"
    )
    dearest = max(each.fixed_seconds for each in runs)
    there = nearest([each for each in runs if each.fixed_seconds == dearest]).four
    return (
        f"{better_in_all}. Batches of T seconds make rows wait 1.5 T on average and keep slots "
        "idle for their fixed cost F of every T, so that batches end to end can't save more than "
        f"{WANTED.saved:g} within {WANTED.latency_seconds:g} s unless F is below {needed:.3f} s.",
        f"Measured live, F is {LIVE_FIXED_SECONDS:g} s. With {dearest:g} s the run that comes "
        f"nearest saves {there.saved:.4f} within {there.latency_seconds:.2f} s, with "
        f"{there.processed:.4f} of the rows processed and {there.degradation:.4f} of degradation.",
    )
