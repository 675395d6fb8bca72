"""Single cases of queues and dealing, each worked out by hand or by the placement itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.elasticity.observation import Observation
from penstock.placement.least_loaded import least_loaded
from penstock.simulation.laws import ByKey, Constant
from penstock.simulation.load import Load
from penstock.simulation.replicas import (
    ByChance,
    FixedReplicas,
    Grouping,
    InTurn,
    LeastLoaded,
    Posg,
    ReplicaEngine,
    SharedQueue,
    simulate,
)
from penstock.simulation.replicas.dealing import Batch, dealer_for
from penstock.simulation.replicas.roots import Roots
from penstock.simulation.replicas.simulator import ReplicaRun
from penstock.simulation.replicas.station import Served
from penstock.simulation.run import NoRecorder
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.sources.keys import UniformKeys
from penstock.sources.trace import trace_of_counts
from simulation.replicas_reference import Reference


@dataclass
class Watching:
    """Plans what is written down, and remembers what it saw."""

    script: tuple[int, ...] = (1,)
    seen: list[Observation] = field(default_factory=list)

    def plan(self, seen: Observation) -> Mapping[str, int]:
        self.seen.append(seen)
        return {"o": self.script[min(seen.batch_id, len(self.script) - 1)]}


def one(seconds: float) -> SimulatedTopology:
    work = SimulatedOperator("o", {"s": 1.0}, Constant(seconds))
    return SimulatedTopology("one", (SimulatedSource("s"),), (work,))


@settings(max_examples=60, deadline=None)
@given(
    processed=st.lists(st.integers(0, 20), min_size=1, max_size=5),
    seconds=st.sampled_from((0.125, 0.1, 0.3, 1.5)),
)
def test_the_least_loaded_get_the_rows_that_the_placement_gives_them(
    processed: list[int], seconds: float
) -> None:
    rows = 60
    roots = Roots.of(one(seconds), Load(trace_of_counts([rows])), None, seed=0)
    dealer = dealer_for(LeastLoaded(), len(processed), None, seconds, 1.0, 0.0)
    dealer.learn(np.array(processed))
    numbers, nothing = np.arange(rows), np.empty(0)
    work = np.full(rows, seconds)
    served = Served(
        roots.born,
        work,
        numbers,
        roots.identity,
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int8),
    )
    batch = Batch(roots.born, work, numbers, roots.identity, 0)
    dealer.deal(batch, roots, np.zeros(len(processed)), nothing, 1.0, served)
    expected = least_loaded([count * Fraction(seconds) for count in processed], seconds)
    assert served.replica.tolist() == list(islice(expected, rows))


@pytest.mark.parametrize("grouping", [ByChance(), SharedQueue(), LeastLoaded(), Posg()])
def test_a_full_queue_drops_rows_and_not_the_one_being_served(grouping: Grouping) -> None:
    load = Load(trace_of_counts([8, 0, 0, 0, 0]))
    run = simulate(one(1.0), load, Watching(), ReplicaEngine(queue_limit=2, grouping=grouping))
    assert run.failed == {"queue full": 5}
    assert run.done_rows == 3
    assert run.timeline.rows_failed.tolist() == [5.0, 0.0, 0.0, 0.0, 0.0]


def test_rows_that_wait_in_a_shared_queue_go_to_a_new_replica_from_when_it_is_there() -> None:
    """Rows come at 1/8, 3/8 .. and take 1 s; from 2 s on there are four replicas.

    |  0.125 --- 1.125 --- 2.125     the first replica: rows 0 and 1
    |                 2.0 --- 3.0    two of three that are new: rows 2 and 3
    """
    policy = Watching((4,))
    engine = ReplicaEngine(interval_seconds=2.0, grouping=SharedQueue())
    run = simulate(one(1.0), Load(trace_of_counts([4, 0, 0, 0])), policy, engine)
    assert policy.seen[0].operators[0].waiting_rows == 2
    assert run.timeline.rows_done.tolist() == [0.0, 1.0, 1.0, 2.0]
    latencies = [1.0, 2.125 - 0.375, 3.0 - 0.625, 3.0 - 0.875]
    assert run.mean_latency_seconds == pytest.approx(np.mean(latencies))


def test_a_replica_that_is_switched_off_works_off_its_own_queue() -> None:
    policy = Watching((1,))
    engine = ReplicaEngine(interval_seconds=1.0, grouping=InTurn(), start_replicas=2)
    run = simulate(one(0.75), Load(trace_of_counts([4, 0, 0, 0])), policy, engine)
    assert run.done_rows == 4
    assert run.timeline.slots.tolist() == [2.0, 1.0, 1.0, 1.0]
    assert run.latency_quantiles[0.99] < 1.5


def test_busy_time_is_that_of_the_interval_and_replica_it_was_spent_in() -> None:
    policy = Watching()
    engine = ReplicaEngine(interval_seconds=1.0, grouping=InTurn(), start_replicas=1)
    simulate(one(0.75), Load(trace_of_counts([2, 0, 0, 0])), policy, engine)
    busy = [each.operators[0].busy_seconds for each in policy.seen]
    assert busy == pytest.approx([0.75, 0.75, 0.0, 0.0])  # from 0.25 s to 1.75 s
    assert [each.operators[0].rows_in for each in policy.seen] == [1, 1, 0, 0]
    assert [each.operators[0].waiting_rows for each in policy.seen] == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", range(4))
def test_messages_of_posg_travel_as_long_as_rows_do(seed: int) -> None:
    """So many rows that the scheduler is corrected again and again, while rows keep coming."""
    work = SimulatedOperator("o", {"s": 1.0}, ByKey(0.005, 0.12, values=8))
    topology = SimulatedTopology("one", (SimulatedSource("s", keys=UniformKeys(20)),), (work,))
    grouping = Posg(window=4, mu=1.0, epsilon=0.2, delta=0.25)
    engine = ReplicaEngine(
        interval_seconds=2.0, network_seconds=0.0625, grouping=grouping, start_replicas=3
    )
    load = Load(trace_of_counts([45] * 6), "random")
    run = ReplicaRun(topology, load, FixedReplicas(), engine, seed, NoRecorder())
    while run.interval():
        pass
    reference = Reference(topology, load, lambda number, queues: {}, engine, seed).run()
    assert run.roots.done_at.tolist() == [each.done_at for each in reference.roots]
