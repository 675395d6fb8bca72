"""``penstock simulate --target-latency``: the cheapest way to keep it, and how sure that is."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from penstock.cli.simulate import Asked, cluster_of
from penstock.cli.time_left import Shown
from penstock.errors import ConfigurationError
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.planner import CapacityPlan, Tried, plan_capacity
from penstock.simulation.planner.candidates import POLICIES
from penstock.simulation.sweep import read_swept, trials_of
from penstock.simulation.topology_file import read_topology
from penstock.simulation.workloads.named import workload_named


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be kept: so many rows done in time, on so many days of those drawn."""

    latency_seconds: float
    availability: float = 0.999
    resamples: int = 100
    confidence: float = 0.9


def plan(asked: Asked, target: Target, show: Shown) -> CapacityPlan:
    """Search for the cheapest policy, bounds and trigger; policies that were named, or all."""
    load, topology = workload_named(asked.trace, asked.seed), read_topology(asked.topology)
    set_to = read_swept(asked.settings)
    of_policies = [name for name in set_to if name.startswith("policy.")]
    if of_policies:
        raise ConfigurationError(
            f"--target-latency tries the policies' settings itself. Leave {of_policies[0]} out."
        )
    trial, *more = trials_of(["static"], cluster_of(asked), topology, load, set_to)
    cluster = trial.cluster
    if not isinstance(cluster, MicroBatch):
        raise ConfigurationError(
            f"--target-latency plans micro-batches, not --mechanism {asked.mechanism}. Leave the "
            "mechanism out."
        )
    if more:
        raise ConfigurationError(
            "--target-latency plans for one cluster. Give each --set one value, such as "
            "costs.fixed_seconds=0.2."
        )
    if asked.html is not None or asked.out is not None or asked.journal:
        raise ConfigurationError(
            "--target-latency writes no files. Leave out --out, --journal and --html; simulate "
            "with the policy that it finds to have them."
        )
    kinds = tuple(dict.fromkeys(name.partition(":")[0] for name in asked.policies))
    return plan_capacity(
        load,
        trial.topology,
        target_latency_seconds=target.latency_seconds,
        availability=target.availability,
        mechanism=cluster,
        resamples=target.resamples,
        confidence=target.confidence,
        policies=kinds or POLICIES,
        workers=asked.workers or os.cpu_count() or 1,
        seed=asked.seed,
        progress=show,
    )


def as_screen(found: CapacityPlan) -> Group:
    """Lay out a plan, for people: what to take, and what it was chosen from."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", overflow="fold")
    for name in ("slots", "trigger s", "in time", "slot-hours", "5 % to 95 %", "days held"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in (found.best, *found.others):
        table.add_row(*_cells(each), style="bold" if each is found.best else "")
    about = (
        f"{found.candidates} policies and settings tried; resampled days are made of stretches of "
        f"{found.block_seconds:g} s of the trace"
    )
    return Group(Text(about), table, Text(found.sentence))


def _cells(each: Tried) -> tuple[Text | str, ...]:
    candidate, hours = each.candidate, each.slot_hours_between
    slots = f"{candidate.least} to {candidate.most}"
    trigger = "none" if candidate.trigger_seconds is None else f"{candidate.trigger_seconds:g}"
    return (
        Text(candidate.policy_name),
        f"{candidate.most}" if candidate.least == candidate.most else slots,
        trigger,
        f"{each.in_time_between.middle:.4f}",
        f"{hours.middle:,.2f}",
        f"{hours.low:,.2f} to {hours.high:,.2f}",
        f"{each.held} of {each.days}",
    )
