"""What rows cost in a simulated topology, for any keys and any number of sources."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static
from penstock.simulation.laws import ByKey
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.micro_batch.operators import batch_operators
from penstock.simulation.micro_batch.placed import PlacedKeys
from penstock.simulation.published.psps import PublishedPsps
from penstock.simulation.replicas import ReplicaEngine, simulate
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.sources.keys import UniformKeys, ZipfKeys
from penstock.sources.trace import trace_of_counts

LAW = ByKey(0.001, 0.064, seed=3)
CLICKS, VIEWS = SimulatedSource("clicks", 0.25), SimulatedSource("views", 0.75, ZipfKeys(50, 1.2))
# clicks, all of key 0 -> left -\
# views -> right ---------------> both
TWO_SOURCES = SimulatedTopology(
    "two sources",
    (CLICKS, VIEWS),
    (
        SimulatedOperator("left", {"clicks": 1.0}, LAW, selectivity=2.0),
        SimulatedOperator("right", {"views": 1.0}, LAW),
        SimulatedOperator("both", {"left": 1.0, "right": 1.0}, LAW),
    ),
)


class Watches:
    """Adds up what every operator did."""

    def __init__(self) -> None:
        self.busy: dict[str, float] = {}
        self.rows: dict[str, int] = {}

    def plan(self, seen: Observation) -> dict[str, int]:
        for each in seen.operators:
            self.busy[each.name] = self.busy.get(each.name, 0.0) + each.busy_seconds
            self.rows[each.name] = self.rows.get(each.name, 0) + each.rows_in
        return {}


def test_a_row_takes_what_the_keys_of_its_own_source_say() -> None:
    (only,) = LAW.draw(np.zeros(1, np.int64), np.random.default_rng(0))
    zipf = LAW.mean_seconds(VIEWS.keys)
    mixed = (2 * 0.25 * only + 0.75 * zipf) / (2 * 0.25 + 0.75)
    expected = {"left": only, "right": zipf, "both": mixed}
    assert TWO_SOURCES.row_seconds() == pytest.approx(expected)
    assert PublishedPsps.knowing(TWO_SOURCES).execution_seconds == pytest.approx(expected)
    per_row = 0.25 * only + 0.75 * zipf + 1.25 * mixed
    assert TWO_SOURCES.seconds_per_row() == pytest.approx(per_row)


def test_replicas_and_micro_batches_agree_on_what_rows_take() -> None:
    load = Load(trace_of_counts([100] * 200))
    watches = Watches()
    simulate(TWO_SOURCES, load, watches, ReplicaEngine(start_replicas=16))
    measured = {name: busy / watches.rows[name] for name, busy in watches.busy.items()}
    assert measured == pytest.approx(TWO_SOURCES.row_seconds(), rel=0.02)
    operators = batch_operators(TWO_SOURCES, fused=True)
    planned = dict(zip(operators.names, operators.seconds_per_row.tolist(), strict=True))
    assert {name: planned[name] for name in measured} == pytest.approx(TWO_SOURCES.row_seconds())


def test_keys_that_are_few_have_the_mean_of_their_own_times() -> None:
    for keys in (UniformKeys(3), ZipfKeys(3, 0.0)):
        times = LAW.draw(np.arange(3), np.random.default_rng(0))
        assert LAW.mean_seconds(keys) == pytest.approx(times.mean())
    assert LAW.mean_seconds(UniformKeys(2**53)) == LAW.mean_seconds() == 0.0325


def test_the_keys_of_every_source_are_placed() -> None:
    """One source's rows are all alike and can't be uneven; the other's cost 1 ms or 64 ms."""
    law = ByKey(0.001, 0.064, values=2)
    alike, mixed = SimulatedSource("alike", 0.5), SimulatedSource("mixed", 0.5, UniformKeys(2**40))
    operators = tuple(SimulatedOperator(f"of {n}", {n: 1.0}, law) for n in ("alike", "mixed"))
    topology = SimulatedTopology("two", (alike, mixed), operators)
    laid_out = batch_operators(topology, fused=True)
    placed = PlacedKeys(topology, laid_out, "round-robin")
    stages = dict(zip(laid_out.names, laid_out.stage.tolist(), strict=True))
    uneven = {name: placed.imbalance(stages[f"of {name}"], 4, 64) for name in ("alike", "mixed")}
    assert uneven["mixed"] > uneven["alike"]
    cluster = MicroBatch(placement="cost-aware")
    assert cluster.run(topology, Load(trace_of_counts([50] * 10)), Static(4)).processed == 1.0
