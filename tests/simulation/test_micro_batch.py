"""Simulated micro-batches worked out by hand, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError
from penstock.replay.batches import Conditions, ReplayedBatch
from penstock.replay.model import replay
from penstock.replay.work import Work
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.laws import ByKey, Constant
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.micro_batch.mechanism import arrivals_of
from penstock.simulation.micro_batch.operators import batch_operators
from penstock.simulation.micro_batch.placed import PlacedKeys
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.sources.keys import ZipfKeys
from penstock.sources.trace import trace_of_counts

PLAIN = BatchCosts(fixed_seconds=1.0, task_seconds=0.0, imbalance=1.0)
STEADY = Load(trace_of_counts([10] * 30))


def operator(name: str, inputs: Mapping[str, float], **fields: Any) -> SimulatedOperator:
    law = Constant(fields.pop("seconds", 0.1))
    return SimulatedOperator(name, inputs, fields.pop("law", law), **fields)


def topology(*operators: SimulatedOperator, keys: Any = None) -> SimulatedTopology:
    return SimulatedTopology("test", (SimulatedSource("clicks", keys=keys),), operators)


ONE = topology(operator("score", {"clicks": 1.0}))


def micro_batch(**changes: Any) -> MicroBatch:
    usual = {"trigger_seconds": 10.0, "costs": PLAIN, "executor_seconds": 0.0}
    return MicroBatch(**{**usual, **changes})


@dataclass
class Asks:
    """Asks for these slots, one after the other, and remembers what it was shown."""

    slots: Sequence[int]
    tasks: Mapping[str, int] = field(default_factory=dict)
    seen: list[Observation] = field(default_factory=list)

    def decide(self, observation: Observation) -> Decision:
        self.seen.append(observation)
        asked = self.slots[min(len(self.seen), len(self.slots)) - 1]
        return Decision(asked, "as told", self.tasks)


def test_slots_that_keep_up() -> None:
    # rows     |0........100|......200|......300|
    # batches               |--6 s--| |--6 s--| |--6 s--|
    # time     0           10      16 20      26 30     36
    run = micro_batch().run(ONE, STEADY, Static(2))
    assert run.batches == (
        ReplayedBatch(10.0, 6.0, 100, slots=2, waiting_rows=60),
        ReplayedBatch(20.0, 6.0, 100, slots=2, waiting_rows=60),
        ReplayedBatch(30.0, 6.0, 100, slots=2, waiting_rows=0),
    )
    assert (run.rows, run.done_rows, run.processed, run.behind_seconds) == (300, 300, 1.0, 0.0)
    assert run.mean_latency_seconds == pytest.approx(11.0)
    assert run.latency_quantiles[0.95] == pytest.approx(15.5, abs=1e-3)
    # Slots cost until the load is over, at 30; the 6 s after that are latency.
    assert (run.slot_seconds, run.mean_slots, run.saved(8)) == (60.0, 2.0, 0.75)


def test_what_each_second_shows() -> None:
    line = micro_batch().run(ONE, STEADY, Static(2)).timeline
    assert len(line.slots) == 36
    assert line.rows_in.tolist() == [10.0] * 30 + [0.0] * 6
    assert {at: rows for at, rows in enumerate(line.rows_done) if rows} == {
        15: 100.0,
        25: 100.0,
        35: 100.0,
    }
    assert line.latency_seconds[[15, 25, 35]].tolist() == pytest.approx([11.0] * 3)
    assert np.isnan(line.latency_seconds[14])
    # In the seventh second the 60th to 70th row arrived, and none was taken.
    assert line.waiting_rows[6] == pytest.approx(65.0)
    assert line.waiting_rows[10] == pytest.approx(5.0)
    assert line.slots.tolist() == [2.0] * 36


def test_slots_take_their_time_to_come() -> None:
    run = micro_batch(executor_seconds=5.0).run(ONE, STEADY, Asks([1, 3]))
    assert [(each.started_seconds, each.slots) for each in run.batches] == [
        (10.0, 1),
        (21.0, 1),
        (33.0, 3),
    ]
    assert run.slot_seconds == 1 * 26 + 3 * 4
    assert run.timeline.slots[[25, 26]].tolist() == [1.0, 3.0]
    assert (run.behind_seconds, run.changes) == (23.0, 1)
    assert [(each.at_seconds, each.decision.slots) for each in run.decisions] == [(0, 1), (21, 3)]


@given(
    counts=st.lists(st.integers(0, 300), min_size=1, max_size=20).filter(any),
    fixed=st.floats(0.05, 5),
    per_row=st.floats(0.0001, 0.05),
    trigger=st.none() | st.sampled_from([0.5, 1.0, 3.0]),
    asked=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    executor_seconds=st.floats(0, 20),
)
@settings(max_examples=50)
def test_one_operator_is_what_a_replay_takes_a_query_for(
    counts: list[int],
    fixed: float,
    per_row: float,
    trigger: float | None,
    asked: list[int],
    executor_seconds: float,
) -> None:
    load = Load(trace_of_counts(counts))
    costs = BatchCosts(fixed_seconds=fixed, task_seconds=0.0, imbalance=1.0)
    spark = MicroBatch(
        trigger_seconds=trigger, costs=costs, executor_seconds=executor_seconds, start_slots=8
    )
    run = spark.run(topology(operator("a", {"clicks": 1.0}, seconds=per_row)), load, Asks(asked))
    conditions = Conditions(1, 8, 8, trigger, trigger or 1e9, len(counts), executor_seconds)
    expected = replay(arrivals_of(load), Work(fixed, per_row), Asks(asked), conditions)
    took = [each.seconds for each in expected.batches]
    assert [each.seconds for each in run.batches] == pytest.approx(took)
    assert [each.rows for each in run.batches] == [each.rows for each in expected.batches]
    assert run.mean_latency_seconds == pytest.approx(expected.mean_latency_seconds)
    shown, done = run.timeline, run.timeline.rows_done > 0
    assert shown.rows_done.sum() == run.rows == shown.rows_in.sum()
    mean = float((shown.latency_seconds * shown.rows_done)[done].sum()) / run.rows
    assert mean == pytest.approx(run.mean_latency_seconds)


def test_a_chain_is_one_stage_and_borders_stand_at_forks_and_joins() -> None:
    # clicks - a - b - c - - - f - g
    #               \_ d - e _/
    shape = topology(
        operator("a", {"clicks": 1.0}),
        operator("b", {"a": 1.0}),
        operator("c", {"b": 1.0}),
        operator("d", {"b": 1.0}),
        operator("e", {"d": 1.0}),
        operator("f", {"c": 1.0, "e": 1.0}),
        operator("g", {"f": 1.0}),
    )
    found = batch_operators(shape, fused=True)
    stages: dict[int, set[str]] = {}
    for name, stage in zip(found.names, found.stage.tolist(), strict=True):
        stages.setdefault(stage, set()).add(name)
    assert list(stages.values()) == [{"clicks", "a", "b"}, {"c"}, {"d", "e"}, {"f", "g"}]
    assert found.level.tolist() == [0, 1, 1, 2]
    apart = batch_operators(shape, fused=False)
    assert apart.level.tolist() == [0, 1, 2, 2, 3, 4, 5]


def test_stages_that_wait_for_each_other_add_up_and_others_share_the_slots() -> None:
    shape = topology(
        operator("a", {"clicks": 1.0}, seconds=0.04),
        operator("b", {"a": 1.0}, seconds=0.05),
        operator("c", {"a": 1.0}, seconds=0.06),
    )
    costs = BatchCosts(fixed_seconds=1.0, task_seconds=0.1, imbalance=1.5)
    run = micro_batch(costs=costs).run(shape, STEADY, Static(4))
    # a: 0.1 + 4 s / 4 * 1.5; b and c: in two waves, 0.2 + 11 s / 4, more than c alone.
    assert run.batches[0].seconds == pytest.approx(1.0 + 1.6 + 2.95)
    # A few tasks leave slots to the others: then c decides, with 0.1 + 6 s / 2 * 1.5.
    few = micro_batch(costs=costs).run(shape, STEADY, Asks([4], {"c": 2, "b": 2}))
    assert few.batches[0].seconds == pytest.approx(1.0 + 1.6 + 4.6)


def test_a_component_has_the_tasks_of_its_most_demanding_operator() -> None:
    chain = topology(operator("a", {"clicks": 1.0}), operator("b", {"a": 1.0}))
    policy = Asks([4], {"a": 1, "b": 2})
    run = micro_batch().run(chain, STEADY, policy)
    assert run.batches[0].seconds == pytest.approx(1.0 + 20.0 / 2)
    assert [each.tasks for each in policy.seen[1].operators] == [2, 2, 2]
    assert (policy.seen[1].used_slots, policy.seen[1].slots, policy.seen[1].most_slots) == (4, 4, 8)


def test_what_a_policy_sees_is_what_a_live_monitor_measures() -> None:
    shape = topology(
        operator("parse", {"clicks": 1.0}, seconds=0.01, selectivity=0.5),
        operator("score", {"parse": 0.3}, seconds=0.02),
    )
    policy = Asks([2])
    costs = BatchCosts(fixed_seconds=1.0, task_seconds=0.0, imbalance=1.2)
    micro_batch(costs=costs).run(shape, STEADY, policy)
    start, first = policy.seen[:2]
    assert (start.batch_id, start.slots, start.most_slots) == (-1, 8, 8)
    by_name = {each.name: each for each in first.operators}
    assert list(by_name) == ["clicks", "parse", "parse to score", "score"]
    assert [(each.rows_in, each.rows_out) for each in first.operators] == [
        (100, 100),
        (100, 50),
        (50, 15),
        (15, 15),
    ]
    parse = by_name["parse"]
    assert (parse.busy_seconds, parse.tasks, parse.inputs) == (1.0, 2, ("clicks",))
    assert (parse.mean_task_seconds, parse.slowest_task_seconds) == (0.5, 0.6)
    assert by_name["score"].inputs == ("parse to score",)
    assert by_name["parse to score"].busy_seconds == 0.0
    assert (first.rows_in, first.waiting_rows, first.trigger_seconds) == (100, 0, 10.0)
    assert first.batch_seconds == pytest.approx(1.0 + (1.0 + 0.3) / 2 * 1.2)


def test_a_batch_that_may_not_read_all_leaves_rows_behind() -> None:
    policy = Asks([8])
    run = micro_batch(most_rows=80).run(ONE, STEADY, policy)
    assert [each.rows for each in run.batches] == [80, 80, 80, 60]
    assert [seen.waiting_rows for seen in policy.seen[1:5]] == [20, 40, 60, 0]
    assert run.done_rows == 300


def test_rows_past_the_deadline_failed() -> None:
    # Each batch's rows are done 6 to 16 s after they came, one every 0.1 s.
    run = micro_batch(deadline_seconds=15.0).run(ONE, STEADY, Static(2))
    assert (run.done_rows, dict(run.failed)) == (270, {"later than the deadline": 30})
    assert (run.timeline.rows_failed.sum(), run.timeline.rows_done.sum()) == (30, 270)
    # All ten came within a second, and nothing after it; the batch at 10 s takes 1.5 s.
    pause = Load(trace_of_counts([10, *[0] * 9]))
    late = micro_batch(deadline_seconds=5.0).run(ONE, pause, Static(2))
    assert late.failed == {"later than the deadline": 10}
    kept = micro_batch(deadline_seconds=16.0).run(ONE, STEADY, Static(2))
    assert (kept.processed, kept.failed) == (1.0, {})


def test_tasks_that_share_cores_are_busy_for_longer() -> None:
    costs = BatchCosts(fixed_seconds=1.0, task_seconds=0.0, imbalance=1.0, cores=2)
    policy = Asks([8])
    run = micro_batch(costs=costs).run(ONE, STEADY, policy)
    assert run.batches[0].seconds == pytest.approx(1.0 + 10.0 / 2)
    (score,) = [each for each in policy.seen[1].operators if each.name == "score"]
    assert (score.busy_seconds, score.cpu_seconds) == (pytest.approx(40.0), pytest.approx(10.0))
    assert policy.seen[1].cores == 2


def test_a_policy_is_told_that_nothing_comes() -> None:
    policy = Asks([2])
    micro_batch().run(ONE, Load(trace_of_counts([10, *[0] * 59])), policy)
    idle = [seen.at_seconds for seen in policy.seen if seen.batch_seconds == 0][1:]
    assert idle == [30.0, 40.0, 50.0, 60.0]


@st.composite
def topologies(draw: st.DrawFn) -> SimulatedTopology:
    sources = draw(st.integers(1, 2))
    names = [f"source{number}" for number in range(sources)]
    share = draw(st.floats(0.1, 0.9)) if sources == 2 else 1.0
    shares = [share, 1 - share][:sources]
    operators = []
    for number in range(draw(st.integers(1, 6))):
        parents = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        inputs = {name: draw(st.sampled_from([1.0, 0.5, 0.1])) for name in parents}
        selectivity = draw(st.sampled_from([0.0, 0.3, 1.0, 2.5]))
        operators.append(operator(f"op{number}", inputs, seconds=1e-4, selectivity=selectivity))
        names.append(f"op{number}")
    made = zip(names, shares, strict=False)
    return SimulatedTopology("drawn", tuple(SimulatedSource(*each) for each in made), (*operators,))


@given(shape=topologies(), counts=st.lists(st.integers(1, 500), min_size=1, max_size=12))
@settings(max_examples=50)
def test_no_row_is_lost_or_made(shape: SimulatedTopology, counts: list[int]) -> None:
    policy = Asks([4])
    run = micro_batch(trigger_seconds=1.0).run(shape, Load(trace_of_counts(counts)), policy)
    totals: dict[str, int] = {}
    for seen in policy.seen:
        out = {each.name: each.rows_out for each in seen.operators}
        for each in seen.operators:
            if each.inputs:
                assert each.rows_in == sum(out[name] for name in each.inputs)
            totals[each.name] = totals.get(each.name, 0) + each.rows_in
    expected = shape.rows_per_row()
    for name, rows in expected.items():
        # Every edge into an operator is rounded once.
        assert totals[name] == pytest.approx(rows * run.rows, abs=4)


def test_the_same_seed_gives_the_same_run_and_random_arrivals_are_seeded() -> None:
    load = Load(STEADY.trace, "random")
    runs = [
        micro_batch(trigger_seconds=0.7).run(ONE, load, AutoScalePlus(max_slots=8), seed=seed)
        for seed in (1, 1, 2)
    ]
    rows = [[each.rows for each in run.batches] for run in runs]
    assert rows[0] == rows[1] != rows[2]
    assert runs[2].done_rows == 300


def test_placing_by_cost_is_more_even_than_in_turn() -> None:
    law = ByKey(0.001, 0.064)
    shape = topology(operator("score", {"clicks": 1.0}, law=law), keys=ZipfKeys(4096, 1.0))
    operators = batch_operators(shape, fused=True)
    in_turn = PlacedKeys(shape, operators, "round-robin", seed=1).imbalance(0, 8, 1_000)
    by_cost = PlacedKeys(shape, operators, "cost-aware", seed=1).imbalance(0, 8, 1_000)
    assert 1.0 <= by_cost < 1.05 < in_turn < 2.0
    more = PlacedKeys(shape, operators, "round-robin", seed=1)
    assert more.imbalance(0, 8, 2_000_000) - 1 == pytest.approx(
        (more.imbalance(0, 8, 20_000) - 1) / 10
    )
    assert more.imbalance(0, 1, 1_000) == 1.0
    load = Load(trace_of_counts([50] * 20))
    runs = {
        name: micro_batch(trigger_seconds=5.0, placement=name).run(shape, load, Static(4))
        for name in ("round-robin", "cost-aware")
    }
    took = {name: sum(each.seconds for each in run.batches) for name, run in runs.items()}
    assert took["cost-aware"] < took["round-robin"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"trigger_seconds": 0.0}, r"MicroBatch\(trigger_seconds=0.0\) can't be"),
        ({"most_rows": -1}, r"MicroBatch\(most_rows=-1\) can't be"),
        ({"executor_seconds": -1.0}, "write 0 seconds or more"),
        ({"least_slots": 9}, "9 to 8 slots can't be"),
        ({"start_slots": 0}, r"start_slots=0\): write 1 to 8"),
        ({"start_slots": 9}, r"start_slots=9\): write 1 to 8"),
        ({"placement": "random"}, "placement='random' can't be simulated"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        micro_batch(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fixed_seconds": -1},
        {"task_seconds": float("nan")},
        {"imbalance": 0.5},
        {"cores": 0},
        {"cpu_share": 2},
    ],
)
def test_costs_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"costs: {next(iter(wrong))} is"):
        BatchCosts(**wrong)
