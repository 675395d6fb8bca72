"""What DABS-Storm's experiments ran on: the paper's settings, and those it leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.replicas import ByChance, Grouping, Posg, ReplicaEngine, Restart
from penstock.simulation.replicas.mechanisms import Meanwhile
from penstock.simulation.topology import SimulatedTopology
from penstock.simulation.topology_file import read_topology
from penstock.simulation.workloads.erratic import Erratic
from penstock.simulation.workloads.progressive import Progressive

TopologyName = Literal["insensitive", "sensitive", "complex"]
Stream = Literal["progressive", "erratic"]

# Table 2 and section 7.2.
WORKERS = 9 * 4
MONITORING_SECONDS = 10.0
TIMEOUT_SECONDS = 30.0
MARGIN, BETA = 0.3, 0.8
PRECISION = 0.05
# Our own mechanism's; the paper has none.
TRIGGER_SECONDS = 1.0

OBSERVED: Mapping[TopologyName, str] = {
    "insensitive": "insensitive_bolt",
    "sensitive": "sensitive_bolt",
    "complex": "sensitive_bolt",
}
"""The operator whose parallelism the paper draws, by topology."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What the paper does not tell: one choice for all experiments, made by trying several.

    ``low`` and ``high`` are the streams' rows a second, ``seconds`` how long they are. The paper
    says that one executor per operator congests and that the cluster suffices. An executor of the
    observed operator does 30 rows a second here: ``low`` needs less than one, ``high`` half of the
    cluster's workers, so that whoever expects twice what comes still gets it.

    ``downtime_seconds`` is how long Storm's rebalance stops the topology: workers are killed, and
    their JVMs take some seconds to come up again. What arrives ``meanwhile`` is held at the source,
    or lost. For ``settling_seconds`` after a change nothing is monitored, for every method: one
    more monitoring interval. ``low_cpu`` and ``high_cpu`` are the incremental method's thresholds.
    A low one keeps executors for the next peak, as the paper's "over-provisions" them.
    ``sample_seconds`` is how often rows are counted within a monitoring iteration.
    """

    low: float = 20.0
    high: float = 600.0
    seconds: float = 1200.0
    downtime_seconds: float = 5.0
    meanwhile: Meanwhile = "hold"
    settling_seconds: float = 10.0
    low_cpu: float = 0.3
    high_cpu: float = 0.8
    sample_seconds: float = 1.0

    def load(self, stream: Stream, seed: int) -> Load:
        """Draw one of the paper's two streams (Fig. 11)."""
        kind = Progressive if stream == "progressive" else Erratic
        return kind(low=self.low, high=self.high, seconds=self.seconds, seed=seed).load()

    def topology(self, name: TopologyName) -> SimulatedTopology:
        """Return one of the paper's three topologies (Figs. 9 and 10)."""
        return read_topology(name)

    def storm(self, topology: TopologyName) -> ReplicaEngine:
        """Return Storm as the paper set it up: with OSG where what a row costs depends on it."""
        grouping: Grouping = ByChance()
        if topology != "insensitive":
            grouping = Posg(epsilon=PRECISION, delta=PRECISION)
        return ReplicaEngine(
            interval_seconds=self.sample_seconds,
            timeout_seconds=TIMEOUT_SECONDS,
            grouping={OBSERVED[topology]: grouping},
            mechanism=Restart(self.downtime_seconds, self.meanwhile),
        )

    def spark(self, topology: TopologyName) -> MicroBatch:
        """Return our own mechanism, on as many slots as the paper's cluster has workers.

        A batch takes no more rows than all of them do in a trigger, or the batches of a sudden peak
        would grow with every one, and no slot that came meanwhile could be used.
        """
        what = self.topology(topology)
        return MicroBatch(
            trigger_seconds=TRIGGER_SECONDS,
            most_slots=WORKERS,
            start_slots=len(what.operators),
            placement=None if topology == "insensitive" else "cost-aware",
            most_rows=int(WORKERS * TRIGGER_SECONDS / what.seconds_per_row()),
            deadline_seconds=TIMEOUT_SECONDS,
        )
