"""The replica engine against the same engine event by event, and against queueing theory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.elasticity.incremental import Incremental
from penstock.elasticity.observation import Observation
from penstock.errors import ConfigurationError
from penstock.simulation.laws import ByKey, Constant, Exponential
from penstock.simulation.load import Load
from penstock.simulation.replicas import (
    ByChance,
    FixedReplicas,
    Grouping,
    InTurn,
    LeastLoaded,
    PerOperator,
    Pool,
    Posg,
    ReplicaEngine,
    Restart,
    SharedQueue,
    simulate,
)
from penstock.simulation.replicas.outcome import REASONS
from penstock.simulation.replicas.simulator import ReplicaRun
from penstock.simulation.run import NoRecorder, SimulatedRun
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.sources.keys import UniformKeys
from penstock.sources.trace import trace_of_counts
from simulation.replicas_reference import Reference

LAWS = (Constant(0.0625), Constant(0.3), Constant(0.75), ByKey(0.01, 0.64, values=8))
GROUPINGS = (
    ByChance(),
    InTurn(),
    LeastLoaded(),
    LeastLoaded(1.5),
    LeastLoaded(remembers=False),
    SharedQueue(),
    Posg(window=4, mu=0.5, epsilon=0.5, delta=0.5),
    Posg(window=2, mu=10.0, epsilon=0.5, delta=0.5, alike=True),
)
MECHANISMS = (
    Pool(),
    Pool(),
    Pool(),
    Restart(0.0),
    Restart(0.75),
    Restart(1.5, "lose"),
    Restart(2.0),
)


@dataclass(frozen=True)
class Scripted:
    """Plans what is written down, and remembers the queues it saw."""

    script: list[Mapping[str, int]]
    queues: list[dict[str, int]]

    def plan(self, seen: Observation) -> Mapping[str, int]:
        self.queues.append({each.name: each.waiting_rows for each in seen.operators})
        return self.script[seen.batch_id % len(self.script)]


@st.composite
def topologies(draw: st.DrawFn) -> SimulatedTopology:
    sources = tuple(
        SimulatedSource(f"s{n}", 0.5 if two else 1.0, UniformKeys(5))
        for two in [draw(st.booleans())]
        for n in range(1 + two)
    )
    names, operators = [each.name for each in sources], []
    for n in range(draw(st.integers(1, 4))):
        parents = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        shares = {name: draw(st.sampled_from((0.25, 0.5, 1.0))) for name in parents}
        law, rows_out = draw(st.sampled_from(LAWS)), draw(st.sampled_from((0.5, 1.0, 1.5, 2.0)))
        operators.append(SimulatedOperator(f"o{n}", shares, law, rows_out))
        names.append(f"o{n}")
    return SimulatedTopology("random", sources, tuple(operators))


@st.composite
def engines(draw: st.DrawFn) -> ReplicaEngine:
    return ReplicaEngine(
        interval_seconds=draw(st.sampled_from((1.0, 2.0))),
        queue_limit=draw(st.sampled_from((None, 1, 3))),
        timeout_seconds=draw(st.sampled_from((None, 0.5, 1.75))),
        network_seconds=draw(st.sampled_from((0.0, 0.0625, 1.25))),
        grouping=draw(st.sampled_from(GROUPINGS)),
        mechanism=draw(st.sampled_from(MECHANISMS)),
        start_replicas=draw(st.integers(1, 3)),
        most_replicas=draw(st.sampled_from((None, 2))),
    )


@pytest.mark.parametrize("grouping", GROUPINGS, ids=str)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    topology=topologies(),
    engine=engines(),
    counts=st.lists(st.integers(0, 12), min_size=2, max_size=8).filter(any),
    spacing=st.sampled_from(("even", "random")),
    replicas=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    seed=st.integers(0, 5),
)
def test_every_row_fares_as_event_by_event(
    grouping: Grouping,
    topology: SimulatedTopology,
    engine: ReplicaEngine,
    counts: list[int],
    spacing: str,
    replicas: list[int],
    seed: int,
) -> None:
    engine = replace(engine, grouping=grouping)
    load = Load(trace_of_counts(counts), spacing)  # type: ignore[arg-type]
    script = [{each.name: n for each in topology.operators} for n in replicas]
    policy = Scripted(script, [])
    run = ReplicaRun(topology, load, policy, engine, seed, NoRecorder())
    while run.interval():
        pass
    reference = Reference(topology, load, lambda n, _: script[n % len(script)], engine, seed).run()
    expected = reference.roots
    assert run.roots.done_at.tolist() == [each.done_at for each in expected]
    assert run.roots.failed_at.tolist() == [each.failed_at for each in expected]
    why = [REASONS.get(code, "") for code in run.roots.why.tolist()]
    assert why == [each.why for each in expected]
    assert run.roots.open_rows.tolist() == [each.open_rows for each in expected]
    assert policy.queues == reference.asked
    assert run.result("scripted").changes == reference.changes


def line(*seconds: float) -> SimulatedTopology:
    names = [f"o{n}" for n in range(len(seconds))]
    operators = (
        SimulatedOperator(name, {parent: 1.0}, Constant(each))
        for name, parent, each in zip(names, ["s", *names], seconds, strict=False)
    )
    return SimulatedTopology("line", (SimulatedSource("s"),), tuple(operators))


def fixed(topology: SimulatedTopology, counts: list[int], **engine: object) -> SimulatedRun:
    settings = ReplicaEngine(**engine)  # type: ignore[arg-type]
    return simulate(topology, Load(trace_of_counts(counts)), FixedReplicas(), settings)


def test_a_queue_that_grows_evenly_has_the_latencies_of_arithmetic() -> None:
    """D/D/1 above its capacity: row n waits n times what it takes longer than the next comes."""
    run = fixed(line(0.25), [8] * 10, interval_seconds=3.0)
    assert run.done_rows == 39  # 4 a second, and the first came after 1/16 s
    gap, work = 0.125, 0.25
    expected = [work + n * (work - gap) for n in range(39)]
    assert run.mean_latency_seconds == pytest.approx(np.mean(expected))
    assert run.timeline.rows_done.tolist() == [3.0] + [4.0] * 9


@pytest.mark.parametrize("grouping", [InTurn(), SharedQueue(), LeastLoaded()])
def test_just_enough_replicas_make_no_row_wait(grouping: object) -> None:
    run = fixed(line(0.25, 0.5), [8] * 6, start_replicas=4, grouping=grouping)
    assert run.latency_quantiles[0.99] == pytest.approx(0.75)
    assert run.timeline.waiting_rows.max() == 0.0
    assert run.timeline.slots.tolist() == [8.0] * 6


def test_random_arrivals_and_equal_work_wait_as_long_as_pollaczek_and_khinchine_say() -> None:
    """M/D/1 at 80 %: the mean wait is rho / (2 (1 - rho)) of the work of a row."""
    load = Load(trace_of_counts([80_000] * 20), "random")
    run = simulate(line(1e-5), load, FixedReplicas(), ReplicaEngine())
    assert run.mean_latency_seconds == pytest.approx(1e-5 * (1 + 0.8 / 0.4), rel=0.03)


def test_rows_that_wait_are_rate_times_wait() -> None:
    """Little's law, with the work drawn by chance and the queue counted over time."""
    work = SimulatedOperator("o", {"s": 1.0}, Exponential(0.002))
    topology = SimulatedTopology("one", (SimulatedSource("s"),), (work,))
    load = Load(trace_of_counts([700] * 300), "random")
    run = simulate(topology, load, FixedReplicas(), ReplicaEngine(start_replicas=2), seed=3)
    wait = run.mean_latency_seconds - 0.002
    assert run.timeline.waiting_rows.mean() == pytest.approx(700 * wait, rel=0.02)


@settings(max_examples=25, deadline=None)
@given(topology=topologies(), engine=engines(), seed=st.integers(0, 99))
def test_no_row_is_lost_from_the_count(
    topology: SimulatedTopology, engine: ReplicaEngine, seed: int
) -> None:
    script = [{each.name: 1 + n for each in topology.operators} for n in range(3)]
    load = Load(trace_of_counts([9, 30, 2, 0, 15, 8]), "random")
    run = ReplicaRun(topology, load, Scripted(script, []), engine, seed, NoRecorder())
    while run.interval():
        pass
    result = run.result("scripted")
    open_roots = int((run.roots.open_rows > 0).sum())
    failed_and_open = int(((run.roots.open_rows > 0) & (run.roots.why > 0)).sum())
    failed = sum(result.failed.values())
    assert result.rows == result.done_rows + failed + open_roots - failed_and_open
    timeline = result.timeline
    assert timeline.rows_in.sum() == result.rows == 64
    assert timeline.rows_done.sum() == result.done_rows
    assert timeline.rows_failed.sum() == failed
    total = sum(each.sum() for each in timeline.operator_slots.values())
    assert timeline.slots.sum() == pytest.approx(total) == pytest.approx(result.slot_seconds)


def test_a_restart_loses_what_is_in_the_engine_and_holds_what_comes() -> None:
    policy = Scripted([{"o0": 2}], [])
    load = Load(trace_of_counts([8] * 4))
    engine = ReplicaEngine(interval_seconds=2.0, mechanism=Restart(1.0), grouping=InTurn())
    run = simulate(line(0.25), load, policy, engine)
    # 7 of 16 rows are done at 2 s, the other 9 are lost; the 8 of the next second wait for it.
    assert run.failed == {"lost in a restart": 9}
    assert run.timeline.rows_done.tolist() == [3.0, 4.0, 0.0, 8.0]
    assert run.timeline.waiting_rows[2] == 0.0
    assert (run.changes, run.mean_slots) == (1, 1.5)
    lost = simulate(
        line(0.25),
        load,
        Scripted([{"o0": 2}], []),
        ReplicaEngine(interval_seconds=2.0, mechanism=Restart(1.0, "lose")),
    )
    assert lost.failed == {"lost in a restart": 17}


def test_a_policy_of_its_own_for_every_operator_sees_that_operator_alone() -> None:
    """The second operator takes four times as long, so that only its own policy adds replicas."""
    policy = PerOperator(lambda: Incremental(interval=1, max_slots=8), most_replicas=8)
    load = Load(trace_of_counts([20] * 120))
    engine = ReplicaEngine(interval_seconds=5.0, grouping=SharedQueue())
    run = simulate(line(0.03125, 0.125), load, policy, engine)
    first, second = (run.timeline.operator_slots[name] for name in ("o0", "o1"))
    assert set(first.tolist()) == {1.0}
    assert second[0] == 1.0
    assert 3.0 <= second[-1] <= 5.0
    assert run.timeline.waiting_rows[-1] < 1.0


def test_runs_are_the_same_for_the_same_seed_and_differ_for_others() -> None:
    work = SimulatedOperator("o", {"s": 0.5}, Exponential(0.1), selectivity=1.5)
    sink = SimulatedOperator("p", {"o": 0.5}, Exponential(0.1))
    topology = SimulatedTopology("two", (SimulatedSource("s", keys=UniformKeys(9)),), (work, sink))

    def latency(seed: int) -> float:
        load = Load(trace_of_counts([20] * 10), "random")
        run = simulate(topology, load, FixedReplicas(), ReplicaEngine(), seed=seed)
        return run.mean_latency_seconds

    assert latency(1) == latency(1) != latency(2)


def test_shares_and_selectivities_are_met_on_average() -> None:
    """Of each row 1.5 are put out, split to two operators 0.7 to 0.3."""
    fork = SimulatedOperator("fork", {"s": 1.0}, Constant(0.0), selectivity=1.5)
    left = SimulatedOperator("left", {"fork": 0.7}, Constant(0.0))
    right = SimulatedOperator("right", {"fork": 0.3}, Constant(0.0))
    topology = SimulatedTopology("split", (SimulatedSource("s"),), (fork, left, right))
    seen: list[Observation] = []

    @dataclass
    class Watching(NoRecorder):
        def batch(self, observation: Observation) -> None:
            seen.append(observation)

    load = Load(trace_of_counts([10_000] * 10))
    simulate(topology, load, FixedReplicas(), ReplicaEngine(), recorder=Watching())
    (only,) = seen
    rows = {each.name: each.rows_in for each in only.operators}
    assert rows["fork"] == 100_000
    assert rows["left"] + rows["right"] == only.operators[0].rows_out
    assert only.operators[0].rows_out == pytest.approx(150_000, rel=0.01)
    assert rows["left"] == pytest.approx(105_000, rel=0.01)
    assert [each.received_rows for each in only.operators[1:]] == [
        (rows["left"],),
        (rows["right"],),
    ]


def test_mistakes_are_told() -> None:
    load = Load(trace_of_counts([1] * 20))
    with pytest.raises(ConfigurationError, match="names 'x', which is no operator of 'line'"):
        simulate(line(0.1), load, FixedReplicas(), ReplicaEngine(start_replicas={"x": 2}))
    with pytest.raises(ConfigurationError, match="plans for 'x', which is no operator of 'line'"):
        simulate(line(0.1), load, Scripted([{"x": 2}], []), ReplicaEngine())
    with pytest.raises(ConfigurationError, match="start_replicas=0"):
        ReplicaEngine(start_replicas=0)
    with pytest.raises(ConfigurationError, match="queue_limit=0"):
        ReplicaEngine(queue_limit=0)
    with pytest.raises(ConfigurationError, match="write 0 or more"):
        ReplicaEngine(network_seconds=-1.0)
    with pytest.raises(ConfigurationError, match="downtime_seconds=-1"):
        Restart(-1.0)
    with pytest.raises(ConfigurationError, match="meanwhile='drop'"):
        Restart(1.0, "drop")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="execution_factor=0"):
        LeastLoaded(0)
    with pytest.raises(ConfigurationError, match="window=0"):
        Posg(window=0)
