"""The state machines of POSG, message by message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.posg import (
    Instance,
    InstanceState,
    Matrices,
    Reply,
    Request,
    Scheduler,
    SchedulerState,
)

A, B = 1, 2
ROUND_ROBIN, SEND_ALL, WAIT_ALL, RUN = SchedulerState


def knowing(costs: dict[int, float]) -> CostSketch:
    sketch = CostSketch()
    sketch.update(np.array([*costs], np.uint64), np.array([*costs.values()]))
    return sketch


def running(costs: dict[int, float], instances: int, resync_tuples: int | None = None) -> Scheduler:
    """Return a scheduler that runs, with loads of 0 and these costs on every instance."""
    scheduler = Scheduler(instances, resync_tuples=resync_tuples)
    for instance in range(instances):
        scheduler.receive(Matrices(instance, knowing(costs)))
    for _ in range(instances):
        instance, request = scheduler.submit(next(iter(costs)))
        assert request is not None
        scheduler.receive(Reply(instance, request.epoch, -request.estimated_seconds))
    assert (scheduler.state, scheduler.loads) == (RUN, [0.0] * instances)
    return scheduler


def completion_seconds(costs: Sequence[float], chosen: Sequence[int], every: float) -> float:
    free: dict[int, float] = {}
    total = 0.0
    for number, (cost, instance) in enumerate(zip(costs, chosen, strict=True)):
        arrival = number * every
        free[instance] = max(free.get(instance, 0.0), arrival) + cost
        total += free[instance] - arrival
    return total


def test_a_b_a() -> None:
    r"""Section II: arrivals 1 s apart, a takes 10 s and b 1 s.

    round robin   0: a a         greedy   0: a
                  1: b                    1: b a
    """
    costs = [10.0, 1.0, 10.0]
    in_turn = Scheduler(2)
    assert [in_turn.submit(key).instance for key in (A, B, A)] == [0, 1, 0]
    assert completion_seconds(costs, [0, 1, 0], every=1.0) == 29.0
    scheduler = running({A: 10.0, B: 1.0}, 2)
    chosen = [scheduler.submit(key).instance for key in (A, B, A)]
    assert chosen == [0, 1, 1]
    assert completion_seconds(costs, chosen, every=1.0) == 21.0


@pytest.mark.parametrize(("instances", "ratio"), [(2, 1.5), (3, 5 / 3), (5, 1.8)])
def test_greedy_is_at_worst_so_far_from_the_best(instances: int, ratio: float) -> None:
    """Section IV-A: k (k - 1) tuples of w / k, then one of w, whose best makespan is w."""
    scheduler = running({A: 1.0, B: 1.0 / instances}, instances)
    for key in [B] * instances * (instances - 1) + [A]:
        scheduler.submit(key)
    assert max(scheduler.loads) == pytest.approx(ratio)


def test_an_instance_is_stable_after_two_windows_at_the_earliest() -> None:
    instance = Instance(3, window=4)
    states, sent = [], []
    for _ in range(16):
        sent += instance.execute(A, 2.0)
        states.append(instance.state)
    assert (
        states
        == ([InstanceState.START] * 3 + [InstanceState.STABILIZING] * 4 + [InstanceState.START]) * 2
    )
    assert [type(message) for message in sent] == [Matrices, Matrices]
    assert (sent[0].instance, sent[0].sketch.total_rows, sent[0].sketch.mean) == (3, 8, 2.0)
    assert sent[1].sketch.total_rows == 8


def test_an_instance_that_is_not_stable_takes_another_snapshot() -> None:
    """Costs of 1, then 9, then 5: the mean goes 1, 5, 5, and only the last step is small."""
    instance = Instance(0, window=2)
    sent = [instance.execute(A, seconds) for seconds in (1.0, 1.0, 9.0, 9.0, 5.0, 5.0)]
    assert [len(messages) for messages in sent] == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(("second", "sends"), [(1.09, True), (1.11, False)])
def test_mu_is_relative_to_the_snapshot(second: float, sends: bool) -> None:
    """The mean goes from 1 to (1 + second) / 2: by 0.045 or by 0.055."""
    instance = Instance(0, window=1)
    instance.execute(A, 1.0)
    assert bool(instance.execute(A, second)) == sends


def test_an_instance_tells_how_far_the_estimate_is_off() -> None:
    instance = Instance(1, window=10)
    assert instance.execute(A, 2.0) == []
    assert instance.execute(A, 3.0, Request(7, 4.5)) == [Reply(1, 7, 0.5)]
    assert instance.execute(A, 1.0, Request(8, 9.0)) == [Reply(1, 8, -3.0)]


def test_idle_time_counts_where_that_is_wished() -> None:
    instance = Instance(1, window=10, idle_counts=True)
    assert instance.execute(A, 2.0, done_seconds=7.0) == []
    assert instance.execute(A, 3.0, Request(7, 4.5), done_seconds=12.0) == [Reply(1, 7, 7.5)]
    with pytest.raises(ConfigurationError, match="done_seconds"):
        instance.execute(A, 1.0, Request(8, 9.0))


def test_the_scheduler_asks_again_after_so_many_tuples_of_running() -> None:
    scheduler = running({A: 2.0}, 2, resync_tuples=3)
    assert [scheduler.submit(A).request for _ in range(2)] == [None, None]
    asked = [scheduler.submit(A) for _ in range(2)]
    assert asked == [(0, Request(2, 4.0)), (1, Request(2, 4.0))]
    assert scheduler.state is WAIT_ALL
    assert scheduler.submit(A).request is None  # nobody runs before all have replied
    for instance in (0, 1):
        scheduler.receive(Reply(instance, 2, 0.0))
    assert [scheduler.submit(A).request is None for _ in range(3)] == [True, True, False]


def test_matrices_put_off_the_next_question() -> None:
    scheduler = running({A: 2.0}, 1, resync_tuples=3)
    scheduler.submit(A)
    scheduler.receive(Matrices(0, knowing({A: 2.0})))
    request = scheduler.submit(A).request
    assert request is not None
    scheduler.receive(Reply(0, request.epoch, 0.0))
    assert [scheduler.submit(A).request is None for _ in range(3)] == [True, True, False]


def test_the_reply_comes_before_the_matrices_of_the_same_tuple() -> None:
    """Matrices begin a new epoch: a reply behind them would be too old."""
    instance = Instance(0, window=1)
    instance.execute(A, 1.0)
    messages = instance.execute(A, 1.0, Request(1, 1.0))
    assert [type(message) for message in messages] == [Reply, Matrices]


@pytest.mark.parametrize(
    ("only_if_moved", "sent"),
    [(False, [True, True, True, True]), (True, [True, False, True, False])],
)
def test_an_instance_may_keep_what_is_known_already(only_if_moved: bool, sent: list[bool]) -> None:
    instance = Instance(0, window=1, only_if_moved=only_if_moved)
    seen = []
    for seconds in (1.0, 1.04, 1.2, 1.2):
        instance.execute(A, seconds)
        seen.append(bool(instance.execute(A, seconds)))
    assert seen == sent


def test_tuples_that_cost_nothing_are_told_too() -> None:
    instance = Instance(0, window=1, only_if_moved=True)
    instance.execute(A, 0.0)
    assert len(instance.execute(A, 0.0)) == 1


def test_round_robin_lasts_until_all_matrices_are_there() -> None:
    scheduler = Scheduler(3)
    for instance in (1, 1, 0):
        scheduler.receive(Matrices(instance, knowing({A: 1.0})))
        assert scheduler.state is ROUND_ROBIN
    assert [scheduler.submit(A) for _ in range(4)] == [(0, None), (1, None), (2, None), (0, None)]
    assert scheduler.loads == [0.0] * 3
    scheduler.receive(Matrices(2, knowing({A: 1.0})))
    assert (scheduler.state, scheduler.epoch) == (SEND_ALL, 1)


def test_send_all_asks_each_instance_once_after_adding_the_estimate() -> None:
    scheduler = Scheduler(2)
    for instance, seconds in ((0, 2.0), (1, 3.0)):
        scheduler.receive(Matrices(instance, knowing({A: seconds})))
    assert scheduler.submit(A) == (0, Request(1, 2.0))
    assert scheduler.state is SEND_ALL
    assert scheduler.submit(A) == (1, Request(1, 3.0))
    assert scheduler.state is WAIT_ALL
    assert scheduler.submit(A) == (0, None)
    assert scheduler.loads == [4.0, 3.0]


def test_corrections_wait_for_all_replies() -> None:
    scheduler = running({A: 2.0}, 2)
    scheduler.receive(Matrices(0, knowing({A: 2.0})))
    scheduler.submit(A)
    scheduler.receive(Reply(0, 2, 100.0))  # the other is not even asked yet
    assert (scheduler.state, scheduler.loads) == (SEND_ALL, [2.0, 0.0])
    scheduler.submit(A)
    scheduler.receive(Reply(0, 2, 100.0))  # twice the same is once
    assert (scheduler.state, scheduler.loads) == (WAIT_ALL, [2.0, 2.0])
    scheduler.submit(A)
    scheduler.receive(Reply(1, 2, -1.0))
    assert (scheduler.state, scheduler.loads) == (RUN, [104.0, 1.0])
    assert scheduler.submit(A) == (1, None)


@pytest.mark.parametrize("asked", [0, 1, 2])
def test_new_matrices_begin_a_new_epoch_and_old_replies_are_ignored(asked: int) -> None:
    scheduler = Scheduler(2)
    for instance in (0, 1):
        scheduler.receive(Matrices(instance, knowing({A: 2.0})))
    for _ in range(asked):
        scheduler.submit(A)
    scheduler.receive(Matrices(1, knowing({A: 5.0})))
    assert (scheduler.state, scheduler.epoch) == (SEND_ALL, 2)
    submissions = [scheduler.submit(A) for _ in range(2)]
    assert {instance for instance, _ in submissions} == {0, 1}
    assert [request and request.epoch for _, request in submissions] == [2, 2]
    before = list(scheduler.loads)
    for instance in (0, 1):
        scheduler.receive(Reply(instance, 1, 50.0))
    assert (scheduler.state, scheduler.loads) == (WAIT_ALL, before)
    for instance in (0, 1):
        scheduler.receive(Reply(instance, 2, 1.0))
    assert (scheduler.state, scheduler.loads) == (RUN, [load + 1.0 for load in before])


def test_replies_of_two_epochs_are_not_counted_together() -> None:
    scheduler = running({A: 2.0}, 2)
    for epoch, replying in ((2, 0), (3, 1)):
        scheduler.receive(Matrices(0, knowing({A: 2.0})))
        scheduler.submit(A)
        scheduler.submit(A)
        scheduler.receive(Reply(replying, epoch, 1.0))
        assert scheduler.state is WAIT_ALL
    scheduler.receive(Reply(0, 3, 1.0))
    assert scheduler.state is RUN


def test_nothing_runs_before_all_were_asked() -> None:
    scheduler = running({A: 2.0}, 2)
    scheduler.receive(Matrices(0, knowing({A: 2.0})))
    for instance in (0, 1):
        scheduler.receive(Reply(instance, 2, 1.0))
    assert (scheduler.state, scheduler.loads) == (SEND_ALL, [0.0, 0.0])


def test_each_instance_has_its_own_estimates_unless_all_are_alike() -> None:
    for alike, loads in ((False, [1.0, 3.0]), (True, [2.0, 2.0])):
        scheduler = Scheduler(2, alike=alike)
        scheduler.receive(Matrices(0, knowing({A: 1.0})))
        scheduler.receive(Matrices(1, knowing({A: 3.0})))
        scheduler.submit(A)
        scheduler.submit(A)
        assert scheduler.loads == loads


@given(st.dictionaries(st.integers(0, 2**64 - 1), st.floats(0, 100), max_size=80), st.data())
def test_estimates_are_those_of_the_sketch(costs: dict[int, float], data: st.DataObject) -> None:
    sketch = CostSketch(0.3, 0.2, seed=4)
    sketch.update(np.array([*costs], np.uint64), np.array([*costs.values()], np.float64))
    key = data.draw(st.sampled_from([*costs, 12345]))
    scheduler = Scheduler(1, 0.3, 0.2, seed=4)
    scheduler.receive(Matrices(0, sketch))
    scheduler.submit(key)
    expected = sketch.estimate(np.array([key], np.uint64))[0]
    assert scheduler.loads == [expected]
    scheduler.submit(key, sketch.cells(np.array([key], np.uint64))[:, 0])
    assert scheduler.loads == [expected + expected]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 6), st.booleans(), st.booleans())
def test_whatever_the_network_does(
    data: st.DataObject, k: int, window: int, alike: bool, only_if_moved: bool
) -> None:
    """Messages of one instance keep their order; those of several arrive in any."""
    scheduler = Scheduler(k, alike=alike)
    instances = [Instance(i, window, only_if_moved=only_if_moved) for i in range(k)]
    tuples: list[list[tuple[int, Request | None]]] = [[] for _ in range(k)]
    messages: list[list[Matrices | Reply]] = [[] for _ in range(k)]
    sent, replied, executed = set[int](), dict[int, set[int]](), 0
    for _ in range(data.draw(st.integers(0, 150))):
        what, i = data.draw(st.tuples(st.integers(0, 2), st.integers(0, k - 1)))
        total = sum(scheduler.loads)
        if what == 0:
            key = data.draw(st.integers(0, 5))
            chosen, request = scheduler.submit(key)
            assert chosen in range(k)
            assert sum(scheduler.loads) >= total - 1e-9
            tuples[chosen].append((key, request))
        elif what == 1 and tuples[i]:
            key, request = tuples[i].pop(0)
            messages[i] += instances[i].execute(key, (1.0 + key) * (1 + i), request)
            executed += 1
        elif what == 2 and messages[i]:
            message = messages[i].pop(0)
            scheduler.receive(message)
            if isinstance(message, Matrices):
                sent.add(i)
            else:
                replied.setdefault(message.epoch, set()).add(i)
        if scheduler.state is not ROUND_ROBIN:
            assert sent == set(range(k))
            assert executed >= 2 * window * k
        if scheduler.state is RUN:
            assert replied[scheduler.epoch] == set(range(k))


@pytest.mark.parametrize("settings_", [{"window": 0}, {"mu": -0.1}, {"mu": float("nan")}])
def test_an_instance_that_makes_no_sense_is_refused(settings_: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="window of 1 tuple or more"):
        Instance(0, **settings_)  # type: ignore[arg-type]


def test_what_does_not_fit_the_scheduler_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Give 1 or more"):
        Scheduler(0)
    with pytest.raises(ConfigurationError, match="every 0 tuples"):
        Scheduler(1, resync_tuples=0)
    with pytest.raises(ConfigurationError, match="same epsilon, delta and seed"):
        Scheduler(1).receive(Matrices(0, CostSketch(seed=9)))
    with pytest.raises(ConfigurationError, match="no instance 2 of 2"):
        Scheduler(2).receive(Reply(2, 0, 0.0))
