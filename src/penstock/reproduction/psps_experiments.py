"""The runs of PSPS's evaluation: what is simulated, with which settings, on which stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from penstock.reproduction.result import Progress
from penstock.simulation.laws import Constant
from penstock.simulation.load import Load
from penstock.simulation.processes import in_processes
from penstock.simulation.published.autoscale_plus import PublishedAutoScalePlus
from penstock.simulation.published.psps import PublishedPsps
from penstock.simulation.replicas import (
    ByChance,
    FixedReplicas,
    Grouping,
    LeastLoaded,
    Mechanism,
    Pool,
    ReplicaEngine,
    ReplicaPolicy,
    Restart,
    simulate,
)
from penstock.simulation.run import SimulatedRun
from penstock.simulation.topology import SimulatedTopology
from penstock.simulation.topology_file import read_topology
from penstock.simulation.workloads.erratic import Erratic
from penstock.simulation.workloads.self_similar import SelfSimilar
from penstock.sources.trace import Trace, trace_of_counts
from penstock.sources.trace_reading import read_trace

Stream = Literal["main", "raw", "dns"]

NETWORK_SECONDS = 0.035
"""What a row takes to the next operator. Calibrated on one row of Table VIII: with eight replicas
each nothing waits, and a latency of 153.51 ms less four times 1/761 s leaves 37 ms for each of
four ways; the little that random shuffling makes rows wait is the rest."""

HELD_DOWNTIME_SECONDS = 5.5
"""How long Storm is down when DABS restarts it, where sources hold what comes meanwhile. Calibrated
on one number of Table X, the latency of 1,391 ms; the other three of that line are not used."""

LOST_DOWNTIME_SECONDS = 7.5
"""The same where rows that come meanwhile are lost. Calibrated on 0.8283 of rows processed."""

MONITORED_SECONDS = 2.0
"""How often DABS samples; five samples are one of its iterations of 10 s."""

FILES: dict[Stream, str] = {"main": "psps_main.csv", "raw": "psps_twitter_raw.csv"}

STAND_INS: dict[Stream, Erratic | SelfSimilar] = {
    "main": Erratic(low=330.0, high=5750.0, seconds=1301.0, seed=1),
    "raw": SelfSimilar(rate=2456.0, hurst=0.8, variation=0.5, seconds=1301.0, step_seconds=1.0),
    "dns": SelfSimilar(rate=500.0, hurst=0.8, variation=0.5, seconds=1301.0, step_seconds=1.0),
}
"""Streams where the paper's are not at hand. That of the DNS traffic never is."""


_LEVEL, _POOL = LeastLoaded(remembers=False), Pool()


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run of the evaluation; the defaults are those of the paper for PSPS itself.

    ``replicas`` is how many each operator begins with. A ``policy`` of "fixed" stays with them.
    ``truth`` is what a row really takes over what PSPS's benchmark found.
    """

    name: str
    policy: Literal["psps", "dabs", "fixed"] = "psps"
    stream: Stream = "main"
    topology: str = "tweets"
    interval_seconds: float = 30.0
    timeout_seconds: float | None = 30.0
    queue_limit: int | None = 100_000
    grouping: Grouping = _LEVEL
    mechanism: Mechanism = _POOL
    replicas: int = 1
    truth: float = 1.0

    def run(self, streams: dict[Stream, Trace], thin: int) -> SimulatedRun:
        """Run it; only one of ``thin`` rows comes, and takes so many times as long."""
        benchmark = slowed(read_topology(self.topology), thin)
        engine = ReplicaEngine(
            interval_seconds=self.interval_seconds,
            timeout_seconds=self.timeout_seconds,
            queue_limit=None if self.queue_limit is None else max(1, self.queue_limit // thin),
            network_seconds=NETWORK_SECONDS,
            grouping=self.grouping,
            mechanism=self.mechanism,
            start_replicas=self.replicas,
        )
        load = Load(thinned(streams[self.stream], thin))
        truth = slowed(benchmark, self.truth)
        return simulate(truth, load, self._policy(benchmark), engine, name=self.name)

    def _policy(self, benchmark: SimulatedTopology) -> ReplicaPolicy:
        if self.policy == "psps":
            return PublishedPsps.knowing(benchmark)
        return PublishedAutoScalePlus() if self.policy == "dabs" else FixedReplicas()


def storm(replicas: int, **more: object) -> Experiment:
    """Return Storm with fixed replicas; its latencies show that it had no timeout, and no limit."""
    plain = Experiment(
        f"Storm, r = {replicas}",
        "fixed",
        timeout_seconds=None,
        queue_limit=None,
        grouping=ByChance(),
        replicas=replicas,
    )
    return replace(plain, **more)  # type: ignore[arg-type]


def dabs(name: str, mechanism: Restart) -> Experiment:
    """Return AutoScale+ on Storm, which restarts for every change."""
    return Experiment(
        name,
        "dabs",
        interval_seconds=MONITORED_SECONDS,
        grouping=ByChance(),
        mechanism=mechanism,
    )


def streams(data: Path | None) -> tuple[dict[Stream, Trace], tuple[Stream, ...]]:
    """Return the streams, and those of them that stand in for one that is not at hand."""
    found: dict[Stream, Trace] = {}
    generated: list[Stream] = []
    for name, stand_in in STAND_INS.items():
        file = None if data is None or name not in FILES else trace_file(data, FILES[name])
        if file is None:
            generated.append(name)
        found[name] = stand_in.load().trace if file is None else read_trace(file)
    return found, tuple(generated)


def trace_file(data: Path, name: str) -> Path | None:
    """Return where a stream of the paper lies in the folder of traces, if it does."""
    return next((each for each in (data / name, data / "rates" / name) if each.is_file()), None)


def thinned(trace: Trace, thin: int) -> Trace:
    """Return a stream of which one in ``thin`` rows is left.

    >>> thinned(trace_of_counts([100, 250]), 100).counts
    (1, 2)
    """
    if thin == 1:
        return trace
    return trace_of_counts([count / thin for count in trace.counts])


def slowed(topology: SimulatedTopology, factor: float) -> SimulatedTopology:
    """Return a topology whose rows take so many times as long.

    >>> slowed(read_topology("tweets"), 761).seconds_per_row()
    4.0
    """
    operators = (
        replace(each, law=Constant(each.law.mean_seconds() * factor)) for each in topology.operators
    )
    return replace(topology, operators=tuple(operators))


def run_all(
    experiments: list[Experiment],
    traces: dict[Stream, Trace],
    thin: int,
    processes: int,
    progress: Progress,
) -> dict[Experiment, SimulatedRun]:
    """Run every experiment once, in so many processes."""
    once = list(dict.fromkeys(experiments))
    found: dict[Experiment, SimulatedRun] = {}
    runs = in_processes(partial(Experiment.run, streams=traces, thin=thin), once, processes)
    for number, (each, run) in enumerate(zip(once, runs, strict=True), start=1):
        found[each] = run
        progress(each.name, number / len(once))
    return found
