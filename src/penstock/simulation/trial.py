"""One policy on one mechanism with one load, ready to run in any process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.elasticity.decision import Policy
from penstock.elasticity.policy_names import policy_named
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError
from penstock.simulation.journaling import JournalRecorder, check_no_journal, planned_operators
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.published.psps import PublishedPsps
from penstock.simulation.replicas.engine import ReplicaEngine
from penstock.simulation.replicas.policy import PerOperator, ReplicaPolicy
from penstock.simulation.replicas.simulator import simulate as simulate_replicas
from penstock.simulation.run import NoRecorder, Recorder, SimulatedRun
from penstock.simulation.topology import SimulatedTopology

Cluster = MicroBatch | ReplicaEngine
PSPS = "psps"
DEGRADATION_SECONDS = 10.0
_HOUR = 3_600.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What to simulate; ``label`` tells it from the others of a sweep.

    ``policy`` is as ``policy_named`` reads it, or a policy. On a cluster with replicas each
    operator has a policy of its own, and ``psps`` is PSPS as published. ``settings`` are those that
    were swept over, as they were written.
    """

    label: str
    policy: str | Policy
    cluster: Cluster
    topology: SimulatedTopology
    load: Load
    seed: int = 0
    journal: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse what can't run, before anything long begins."""
        if isinstance(self.cluster, ReplicaEngine):
            self._replica_policy(self.cluster)
        else:
            self._policy(self.cluster)
        if self.journal is not None:
            check_no_journal(self.journal)

    def run(self, on_progress: Callable[[float], object] = lambda share: None) -> Outcome:
        """Simulate it, and write its journal where one is wanted."""
        if self.journal is None:
            return self._run(NoRecorder(), on_progress)
        shape = " | ".join(
            f"{', '.join(each.inputs)} -> {each.name}" for each in self.topology.operators
        )
        name, operators = f"{self.topology.name}: {self.label}", planned_operators(self.topology)
        with JournalRecorder(self.journal, name, shape, operators=operators) as journal:
            return self._run(journal, on_progress)

    def _run(self, recorder: Recorder, on_progress: Callable[[float], object]) -> Outcome:
        if isinstance(self.cluster, ReplicaEngine):
            run = simulate_replicas(
                self.topology,
                self.load,
                self._replica_policy(self.cluster),
                self.cluster,
                name=self.label,
                seed=self.seed,
                recorder=recorder,
                on_interval=on_progress,
            )
        else:
            run = self.cluster.run(
                self.topology,
                self.load,
                self._policy(self.cluster),
                name=self.label,
                seed=self.seed,
                recorder=recorder,
                on_progress=on_progress,
            )
        return Outcome(self, run, most_slots_of(self.cluster, self.topology))

    def _policy(self, cluster: MicroBatch) -> Policy:
        if not isinstance(self.policy, str):
            return self.policy
        if self.policy == PSPS:
            raise ConfigurationError(
                "psps is for operators with replicas of their own. Write --mechanism pool, or "
                "--policy replica-pool, which is PSPS's idea in micro-batches."
            )
        found = policy_named(self.policy, cluster.least_slots, cluster.most_slots)
        if isinstance(found, Static) and found.slots is not None:
            _check_fixed(found.slots, cluster.least_slots, cluster.most_slots)
        return found

    def _replica_policy(self, cluster: ReplicaEngine) -> ReplicaPolicy:
        if self.policy == PSPS:
            return PublishedPsps.knowing(self.topology)
        written = self.policy
        if not isinstance(written, str):
            raise ConfigurationError(
                f"{type(written).__name__} is a policy for one query, and here every operator has "
                "its own. Write its name and settings, such as 'incremental:step=2'."
            )
        most = _most_replicas(cluster)
        policy_named(written, 1, most)
        return PerOperator(lambda: policy_named(written, 1, most), most)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a trial; ``most_slots`` is what saving is measured against."""

    trial: Trial
    run: SimulatedRun
    most_slots: int

    @property
    def label(self) -> str:
        """What the trial is called."""
        return self.trial.label

    @property
    def measures(self) -> Measures:
        """Its numbers."""
        run = self.run
        return Measures(
            saved=run.saved(self.most_slots),
            degradation=run.degradation(DEGRADATION_SECONDS),
            processed=run.processed,
            mean_latency_seconds=run.mean_latency_seconds,
            p95_latency_seconds=run.latency_quantiles[0.95],
            p99_latency_seconds=run.latency_quantiles[0.99],
            slot_hours=run.slot_seconds / _HOUR,
            changes=run.changes,
            behind_seconds=run.behind_seconds,
        )


@dataclass(frozen=True, slots=True)
class Measures:
    """How good a run was.

    ``saved`` is the share of slots saved against always having the most, ``degradation`` the mean
    of |input - output| / input over intervals of 10 seconds, ``processed`` the share of rows that
    were done (PSPS's three), and ``behind_seconds`` the time in micro-batches that took longer than
    their trigger.
    """

    saved: float
    degradation: float
    processed: float
    mean_latency_seconds: float
    p95_latency_seconds: float
    p99_latency_seconds: float
    slot_hours: float
    changes: int
    behind_seconds: float


def most_slots_of(cluster: Cluster, topology: SimulatedTopology) -> int:
    """Return how many slots there could be."""
    if isinstance(cluster, MicroBatch):
        return cluster.most_slots
    return _most_replicas(cluster) * len(topology.operators)


def _most_replicas(cluster: ReplicaEngine) -> int:
    if not isinstance(cluster.most_replicas, int):
        raise ConfigurationError(
            "say how many replicas each operator may have, such as ReplicaEngine(most_replicas=8)"
        )
    return cluster.most_replicas


def _check_fixed(slots: int, least: int, most: int) -> None:
    """Refuse a fixed number of slots out of bounds: what came of it would be another's."""
    if not least <= slots <= most:
        raise ConfigurationError(
            f"static:{slots} is not from {least} to {most} slots. Write --max {slots}, or another "
            "number of slots."
        )
