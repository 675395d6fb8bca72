"""What came of several policies on one trace, and which of them to take."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.arguments import shown
from penstock.elasticity.decision import Policy
from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.simulation.sweep import folder_name
from penstock.simulation.topology import SimulatedTopology
from penstock.simulation.trial import Cluster, Measures, Outcome, Trial
from penstock.simulation.workloads.named import workload_named
from penstock.sources.trace import Trace
from penstock.sources.trace_reading import read_trace

LESS_PROCESSED = 0.001
MORE_LATENCY = 0.5
SAME_COST = 0.02
LEAST_SAVED = 0.005
LONG_SHARE = 0.25
# In a load of seconds, rows may well wait for much of it: for their trigger.
LONG_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Simulation:
    """What came of every policy, in the order in which they were given."""

    topology: SimulatedTopology
    load: Load
    outcomes: tuple[Outcome, ...]

    @property
    def best(self) -> Outcome:
        """The cheapest of those that keep up.

        That is: a thousandth of the rows fewer processed than by the best is no fewer, and the 99th
        percentile of latency is at most half more than the least of those. Of runs that cost
        about the same (2 %), it is the one with the least mean latency. For a target of your own,
        plan the capacity.
        """
        measured = [(each, each.measures) for each in self.outcomes]
        most = max(found.processed for _, found in measured)
        measured = [pair for pair in measured if pair[1].processed >= most - LESS_PROCESSED]
        limit = min(found.p99_latency_seconds for _, found in measured) * (1 + MORE_LATENCY)
        measured = [pair for pair in measured if pair[1].p99_latency_seconds <= limit]
        cheapest = min(found.slot_hours for _, found in measured)
        cheap = [pair for pair in measured if pair[1].slot_hours <= cheapest * (1 + SAME_COST)]
        return min(cheap, key=lambda pair: pair[1].mean_latency_seconds)[0]

    @property
    def advice(self) -> str:
        """Which to take, and why, in a sentence; or that none is good enough."""
        best = self.best
        found = best.measures
        if not self._keeps_up(found):
            return (
                f"{best.label} comes nearest, but does not keep up: 99 % of the rows are done "
                f"within {found.p99_latency_seconds:,.1f} s, in a load of "
                f"{self.load.duration_seconds:,.0f} s. It needs more slots, or quicker operators."
            )
        among = f" of {len(self.outcomes)} tried" if len(self.outcomes) > 1 else ""
        less = f", {found.saved:.0%} less than" if found.saved >= LEAST_SAVED else ", as"
        return (
            f"{best.label} is the cheapest{among} that keeps up: {found.slot_hours:,.2f} "
            f"slot-hours{less} {best.most_slots:,} slots all the time; 99 % "
            f"of the rows are done within {found.p99_latency_seconds:,.1f} s."
        )

    def _keeps_up(self, found: Measures) -> bool:
        """Whether rows wait for less than a good part of the load, so that no queue just grows."""
        long = max(self.load.duration_seconds * LONG_SHARE, LONG_SECONDS)
        return found.p99_latency_seconds <= long

    def __getitem__(self, label: str) -> Outcome:
        for each in self.outcomes:
            if each.label == label:
                return each
        labels = ", ".join(each.label for each in self.outcomes)
        raise ConfigurationError(f"no run is called '{label}'. There are: {labels}.")


def trials_by_label(
    policies: Mapping[str, str | Policy],
    cluster: Cluster,
    topology: SimulatedTopology,
    load: Load,
    seed: int,
    journals: Path | None,
    sweep: Sequence[str],
) -> tuple[Trial, ...]:
    """Make a trial of each policy; they are called as the mapping calls them."""
    if sweep:
        raise ConfigurationError(
            "a sweep changes policies by their text. Give them in a list, such as "
            "['auto-scale-plus'], not by label."
        )
    for label, policy in policies.items():
        if isinstance(policy, type) or not (isinstance(policy, str) or hasattr(policy, "decide")):
            raise ConfigurationError(
                f"the policy '{label}' is {shown(policy)}. Give one such as ps.Static(4), or its "
                "text such as 'static:4'."
            )
    trials = [
        Trial(label, policy, cluster, topology, load, seed) for label, policy in policies.items()
    ]
    if journals is not None:
        trials = [replace(each, journal=journals / folder_name(each.label)) for each in trials]
    return tuple(trials)


def load_of(trace: str | os.PathLike[str] | Sequence[float] | Trace | Load, seed: int = 0) -> Load:
    """Return the load that somebody means: a file, counts by the second, a workload's name."""
    if isinstance(trace, Load):
        return trace
    if isinstance(trace, str | os.PathLike):
        return workload_named(os.fspath(trace), seed)
    return Load(read_trace(trace))
