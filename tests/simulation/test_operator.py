"""The compiled simulation of an operator against the plain one, and against what is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.placement.cost_aware import CostAware
from penstock.simulation.operator.groupings import (
    FullKnowledge,
    Grouping,
    MicroBatches,
    Posg,
    RoundRobin,
)
from penstock.simulation.operator.simulating import simulate
from penstock.simulation.operator.summing import pairwise_sum
from penstock.simulation.operator.tuples import Speeds, Tuples, evenly_spaced
from simulation.operator_reference import simulated

A_B_A = Tuples(np.arange(3.0), np.array([1, 2, 1]), np.array([10.0, 1.0, 10.0]))


def streams(instances: int) -> st.SearchStrategy[Tuples]:
    """Draw streams with ties: whole seconds, or any, few keys, and speeds that change.

    They are long enough for POSG to run; a list would be drawn far too short for that.
    """
    speed = st.lists(st.sampled_from([0.5, 0.95, 1.0, 1.1]), min_size=instances, max_size=instances)
    speeds = st.lists(st.tuples(st.integers(0, 300), speed), max_size=2, unique_by=lambda s: s[0])

    @st.composite
    def drawn(draw: st.DrawFn) -> Tuples:
        rng = np.random.default_rng(draw(st.integers(0, 999)))
        count = draw(st.integers(1, 60) | st.integers(100, 400))
        seconds = rng.integers(0, 4, count) / 1.0 if draw(st.booleans()) else 3 * rng.random(count)
        gaps = draw(st.sampled_from([0.0, 0.3, 1.0, 2.5]))
        keys = rng.integers(-2, draw(st.integers(0, 30)), count)
        periods = sorted(draw(speeds))
        changes = tuple(Speeds(number, tuple(times)) for number, times in periods)
        return Tuples(np.arange(count) * gaps, keys, seconds, changes)

    return drawn()


posgs = st.builds(
    Posg,
    window=st.integers(1, 6),
    mu=st.sampled_from([0.0, 0.05, 0.3, 9.0, 9.0]),
    epsilon=st.sampled_from([0.3, 0.9, 1.0]),
    delta=st.sampled_from([0.1, 0.4]),
    seed=st.integers(0, 2),
    alike=st.booleans(),
    only_if_moved=st.booleans(),
    idle_counts=st.booleans(),
    resync_tuples=st.none() | st.integers(1, 12),
)


@settings(max_examples=250, deadline=None)
@given(st.data(), st.integers(1, 5), posgs, st.sampled_from([0.0, 0.4, 1.0, 7.0]))
def test_posg_is_that_of_the_classes(
    data: st.DataObject, instances: int, grouping: Posg, delay: float
) -> None:
    tuples = data.draw(streams(instances))
    found = simulate(tuples, instances, grouping, delay)
    expected = simulated(tuples, instances, grouping, delay)
    assert found.instances.tolist() == expected.instances
    assert found.seconds.tolist() == expected.seconds
    assert found.control is not None
    control = found.control
    assert (control.matrices, control.requests, control.replies) == (
        expected.matrices,
        expected.requests,
        expected.replies,
    )
    assert list(control.matrices_at) == expected.matrices_at
    assert list(control.run_from) == expected.run_from


def test_posg_is_that_of_the_classes_on_a_long_stream() -> None:
    """Sketches of the paper's size, and windows longer than what a sketch takes in at once."""
    rng = np.random.default_rng(3)
    keys = rng.zipf(1.3, 60_000) % 4096
    tuples = evenly_spaced(keys, rng.random(4096)[keys], 3)
    grouping = Posg(window=9_000, mu=0.6, idle_counts=True, resync_tuples=700)
    found, expected = (play(tuples, 3, grouping, 0.1) for play in (simulate, simulated))
    assert found.run_from is not None
    assert found.instances.tolist() == expected.instances
    assert found.seconds.tolist() == expected.seconds


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 5), st.sampled_from([0.0, 0.4]), st.booleans())
def test_the_others_are_those_of_the_reference(
    data: st.DataObject, instances: int, delay: float, idle_counts: bool
) -> None:
    tuples = data.draw(streams(instances))
    from_tuple = data.draw(st.sampled_from([0, 7]))
    for grouping in (RoundRobin(), FullKnowledge(from_tuple, idle_counts)):
        found = simulate(tuples, instances, grouping, delay)
        expected = simulated(tuples, instances, grouping, delay)
        assert found.instances.tolist() == expected.instances
        assert found.seconds.tolist() == expected.seconds


@pytest.mark.parametrize(
    "grouping", [RoundRobin(), FullKnowledge(), Posg(), MicroBatches(1.0, CostAware())]
)
@pytest.mark.filterwarnings("error")
def test_of_no_tuples_none_are_completed(grouping: Grouping) -> None:
    nothing = evenly_spaced(np.empty(0, np.int64), np.empty(0), instances=3)
    completed = simulate(nothing, 3, grouping)
    assert (len(completed.seconds), completed.mean_seconds) == (0, 0.0)


def test_a_b_a() -> None:
    """Section II: 29 s in turn, 21 s by what tuples take."""
    assert simulate(A_B_A, 2, RoundRobin()).seconds.tolist() == [10.0, 1.0, 18.0]
    placed = simulate(A_B_A, 2, FullKnowledge())
    assert (placed.seconds.sum(), placed.instances.tolist()) == (21.0, [0, 1, 1])


def test_the_network_takes_its_time_once() -> None:
    assert simulate(A_B_A, 3, RoundRobin(), 0.5).seconds.tolist() == [10.5, 1.5, 10.5]


def test_posg_runs_when_all_have_sent_and_replied() -> None:
    """Two instances, windows of 2, a tuple every second that takes 1.5 s; 0.25 s of network.

    Tuples 0 to 7 are the first two windows of both. Instance 1 is done with its fourth, number 7,
    at 8.75 s and its matrices come at 9.0 s, before tuple 9 is submitted. Tuples 9 and 10 carry the
    requests; the second is done at 11.75 s, so that tuple 12 is the first to run.
    """
    tuples = Tuples(np.arange(16.0), np.ones(16, np.int64), np.full(16, 1.5))
    control = simulate(tuples, 2, Posg(window=2), 0.25).control
    assert control is not None
    assert control.matrices_at[:2] == (8, 9)
    assert control.run_from[0] == 12
    assert control.extra == control.matrices + control.replies


def test_the_sum_is_numpys() -> None:
    rng = np.random.default_rng(1)
    for length in [*range(20), 127, 128, 129, 136, 137, 220, 255, 257, 1025, 10_876]:
        numbers = rng.random(length) * 10.0 ** rng.integers(-3, 4, length)
        assert pairwise_sum(numbers) == numbers.sum()
        if length % 4 == 0:
            assert pairwise_sum(numbers) == numbers.reshape(4, -1).sum()


def test_micro_batches_begin_at_triggers_or_when_the_last_one_ends() -> None:
    r"""One instance, 2 s of work every second, a trigger every 3 s, half a second for each batch.

    0 1 2 3 |3              |11.5 ...   row 3 comes as the batch begins and is in it
    """
    tuples = Tuples(np.array([0.0, 1, 2, 3, 4, 20]), np.arange(6), np.full(6, 2.0))
    batches = simulate(tuples, 1, MicroBatches(3.0, fixed_seconds=0.5))
    ends = batches.seconds + tuples.arrival_seconds
    assert ends.tolist() == [11.5, 11.5, 11.5, 11.5, 14.0, 23.5]


def test_a_batch_is_over_with_its_slowest_task() -> None:
    tuples = Tuples(np.zeros(3), np.arange(3), np.array([5.0, 1.0, 1.0]))
    batches = simulate(tuples, 2, MicroBatches(1.0))
    assert batches.instances.tolist() == [0, 1, 0]
    assert batches.seconds.tolist() == [7.0, 7.0, 7.0]


def test_micro_batches_are_placed_by_cost_when_that_is_known() -> None:
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 40, 6_000)
    tuples = evenly_spaced(keys, np.where(keys < 4, 0.1, 0.002), 4, provisioning=1.05)
    in_turn = simulate(tuples, 4, MicroBatches(1.0))
    placed = simulate(tuples, 4, MicroBatches(1.0, CostAware()))
    assert placed.mean_seconds < 0.8 * in_turn.mean_seconds
    known = simulate(tuples, 4, MicroBatches(1.0, CostAware(least_gain_seconds=1e9)))
    assert known.instances.tolist() == in_turn.instances.tolist()


def test_micro_batches_on_slower_instances() -> None:
    slow = Tuples(np.zeros(4), np.arange(4), np.ones(4), (Speeds(2, (3.0, 1.0)),))
    assert simulate(slow, 2, MicroBatches(1.0)).seconds.tolist() == [5.0] * 4


@pytest.mark.parametrize(
    ("arrivals", "keys", "seconds", "words"),
    [
        ([0.0, 1.0], [1], [1.0, 1.0], "as many whole numbers"),
        ([0.0, 1.0], [0.5, 1.5], [1.0, 1.0], "as many whole numbers"),
        ([1.0, 0.0], [1, 2], [1.0, 1.0], "Sort them"),
        ([0.0], [1, 2], [1.0, 1.0], "Give one for each"),
        ([0.0, 1.0], [1, 2], [1.0, -1.0], "0 or more"),
        ([0.0, np.nan], [1, 2], [1.0, 1.0], "0 or more"),
    ],
)
def test_tuples_that_cant_be(
    arrivals: list[float], keys: list[float], seconds: list[float], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Tuples(np.array(arrivals), np.array(keys), np.array(seconds))


def test_settings_that_cant_be() -> None:
    for wrong in (
        lambda: Posg(window=0),
        lambda: Posg(mu=-1),
        lambda: Posg(resync_tuples=0),
        lambda: FullKnowledge(from_tuple=-1),
        lambda: MicroBatches(trigger_seconds=0),
        lambda: MicroBatches(fixed_seconds=-1),
        lambda: simulate(A_B_A, 0, RoundRobin()),
        lambda: evenly_spaced(A_B_A.keys, A_B_A.seconds, instances=0),
        lambda: evenly_spaced(A_B_A.keys, A_B_A.seconds, 1, provisioning=np.nan),
        lambda: simulate(A_B_A, 1, RoundRobin(), -1.0),
    ):
        with pytest.raises(ConfigurationError):
            wrong()
    two = Tuples(np.arange(3.0), np.arange(3), np.ones(3), (Speeds(0, (1.0, 2.0)),))
    with pytest.raises(ConfigurationError, match="of 2 instances, not of 3"):
        simulate(two, 3, RoundRobin())
    for speeds in (
        (Speeds(5, (1.0,)), Speeds(5, (1.0,))),
        (Speeds(0, (0.0,)),),
        (Speeds(-1, (1.0,)),),
    ):
        with pytest.raises(ConfigurationError):
            Tuples(np.arange(3.0), np.arange(3), np.ones(3), speeds)
