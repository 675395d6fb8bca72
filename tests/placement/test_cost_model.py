"""What is learnt of the cost of rows: when it is known, when it changes, what it is worth."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_model import FIRST_ROWS, CostModel, Learnt, TaskCosts

MS = 1e-3
LEAST_GAIN = CostAware().least_gain_seconds
Costs = Callable[[Any], Any]


class Batches:
    """Batches of rows with keys drawn evenly, measured by a few tasks."""

    def __init__(self, keys: int, rows: int, seed: int = 1, jitter: float = 0.0) -> None:
        self.model = CostAware().model()
        self._keys, self._rows, self._jitter = keys, rows, jitter
        self._dice = np.random.default_rng(seed)

    def learn(self, cost: Costs, executors: tuple[str, ...] = ("one",) * 4) -> Learnt | None:
        return self.model.learn([self._task(cost, name, len(executors)) for name in executors])

    def _task(self, cost: Costs, executor: str, tasks: int) -> TaskCosts:
        keys = self._dice.integers(0, self._keys, self._rows // tasks).astype(np.uint64)
        costs = cost(keys.astype(np.int64)) * self._dice.lognormal(0.0, self._jitter, len(keys))
        costs = costs * (3.0 if executor == "slow" else 1.0)
        sketch = CostAware().sketch()
        sketch.update(keys, costs)
        return TaskCosts(sketch, float(costs @ costs), executor)

    def error(self, cost: Costs) -> float:
        """How far what is known of the keys is off together, relative to what they cost."""
        assert self.model.sketch is not None
        keys = np.arange(self._keys)
        true = cost(keys)
        known = self.model.sketch.estimate(keys.astype(np.uint64))
        return float(np.abs(known - true).sum() / true.sum())


def even(keys: Any) -> Any:
    return np.full(len(keys), 2 * MS)


def in_classes(keys: Any) -> Any:
    """Costs of 25, 5 and 1 ms."""
    return np.array([25.0, 5.0, 1.0])[keys % 3] * MS


def swapped(keys: Any) -> Any:
    return np.array([1.0, 5.0, 25.0])[keys % 3] * MS


def half_tripled(keys: Any) -> Any:
    return in_classes(keys) * np.where(keys % 2, 3.0, 1.0)


def test_costs_are_known_as_soon_as_enough_rows_were_seen() -> None:
    batches = Batches(keys=30, rows=FIRST_ROWS // 2)
    assert batches.learn(in_classes) is None
    assert batches.model.sketch is None
    assert batches.model.gain_seconds(1_000, 4) == 0.0
    assert batches.model.placers(1_000, 4) == 1
    learnt = batches.learn(in_classes)
    assert learnt is not None
    assert not learnt.is_change
    assert learnt.reason.startswith("costs are known from 200 rows, ")
    assert batches.error(in_classes) < 0.1


def test_a_batch_without_rows_teaches_nothing() -> None:
    batches = Batches(keys=30, rows=400)
    batches.learn(in_classes)
    before = batches.model.to_json()
    empty = TaskCosts(CostAware().sketch(), 0.0, "one")
    assert batches.model.learn([]) is None
    assert batches.model.learn([empty]) is None
    assert batches.model.to_json() == before


@pytest.mark.parametrize("jitter", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("keys", [3, 50, 500])
@pytest.mark.parametrize("seed", range(3))
def test_even_costs_explain_nothing_however_noisy_calls_are(
    keys: int, jitter: float, seed: int
) -> None:
    """1,000 rows of about 2 ms: what chance makes of the keys is not worth an exchange."""
    batches = Batches(keys, rows=1_000, jitter=jitter, seed=seed)
    for _ in range(10):
        learnt = batches.learn(even)
        assert learnt is None or not learnt.is_change
        assert batches.model.gain_seconds(1_000, 4) < LEAST_GAIN


@pytest.mark.parametrize("keys", [3, 50, 500])
@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_differences_between_keys_are_found_and_their_worth_is_told(
    keys: int, jitter: float
) -> None:
    """Dealt in turn to 4 tasks, 250 rows of 25, 5 and 1 ms each end about 0.17 s late."""
    batches = Batches(keys, rows=1_000, jitter=jitter)
    for _ in range(5):
        batches.learn(in_classes)
    deviation = float(np.std(in_classes(np.arange(3))))
    assert batches.model.explained_seconds == pytest.approx(deviation, rel=0.25)
    simulated = _seconds_over_the_mean(rows=1_000, tasks=4)
    assert batches.model.gain_seconds(1_000, 4) == pytest.approx(simulated, rel=0.25)
    assert batches.model.gain_seconds(1_000, 1) == 0.0


def _seconds_over_the_mean(rows: int, tasks: int) -> float:
    dice = np.random.default_rng(7)
    costs = in_classes(dice.integers(0, 3, (500, tasks, rows // tasks)))
    loads = costs.sum(axis=2)
    return float((loads.max(axis=1) - loads.mean(axis=1)).mean())


@pytest.mark.parametrize("after", [swapped, half_tripled])
@pytest.mark.parametrize("keys", [6, 60, 300])
@pytest.mark.parametrize("rows", [200, 1_000])
def test_a_jump_is_noticed_within_two_batches_and_then_costs_are_right(
    after: Costs, keys: int, rows: int
) -> None:
    batches = Batches(keys, rows, jitter=0.1)
    for _ in range(12):
        learnt = batches.learn(in_classes)
        assert learnt is None or not learnt.is_change
    changes = [batches.learn(after) for _ in range(2)]
    told = [learnt.reason for learnt in changes if learnt is not None and learnt.is_change]
    assert told
    assert told[0].startswith("costs changed: ")
    # Keys that no row of these two batches had are still thought to cost what they did.
    unseen = (1 - 1 / keys) ** (2 * rows)
    assert batches.error(after) < 0.15 + 6 * unseen


def test_a_slow_drift_is_followed() -> None:
    """Half of the keys get dearer by 2 % with every batch, the others cheaper."""
    batches = Batches(keys=60, rows=1_000, jitter=0.1)
    errors = []
    for number in range(60):
        drift = 1.02**number

        def drifted(keys: Any, drift: float = drift) -> Any:
            return in_classes(keys) * np.where(keys % 2, drift, 1 / drift)

        batches.learn(drifted)
        errors.append(batches.error(drifted))
    assert max(errors[10:]) < 0.15


def rare_and_dear(keys: Any) -> Any:
    """2 % of the keys cost 75 times as much as the others."""
    return np.where(keys % 50 == 0, 75.0, 1.0) * MS


@pytest.mark.parametrize("seed", range(3))
def test_keys_that_share_cells_are_no_change(seed: int) -> None:
    batches = Batches(keys=500, rows=1_000, seed=seed)
    learnt = [batches.learn(rare_and_dear) for _ in range(200)]
    alarms = sum(1 for each in learnt if each is not None and each.is_change)
    assert alarms == 0
    assert batches.model.gain_seconds(1_000, 4) > LEAST_GAIN


def test_how_fast_executors_are_is_learnt_whatever_rows_they_had() -> None:
    batches = Batches(keys=30, rows=4_000)
    for _ in range(8):
        batches.learn(in_classes, ("one", "two", "slow", "one"))
    speeds = batches.model.speeds
    assert speeds["one"] / speeds["two"] == pytest.approx(1.0, rel=0.1)
    assert speeds["one"] / speeds["slow"] == pytest.approx(3.0, rel=0.1)
    batches.learn(in_classes, ("one",))
    assert list(batches.model.speeds) == ["one"]  # the others are gone


def test_a_task_that_cost_nothing_says_nothing_of_speed() -> None:
    """A speed of 0 would let the estimate of a batch's end be divided by it."""
    model = CostModel(CostAware().sketch())

    def learn(cost: float) -> None:
        sketch = CostAware().sketch()
        sketch.update(np.zeros(300, np.uint64), np.full(300, cost))
        model.learn([TaskCosts(sketch, 300 * cost * cost, "one")])

    for cost in (0.0, 1.0, 0.0, 0.0):
        learn(cost)
        assert all(speed > 0 for speed in model.speeds.values())


def test_the_costs_are_shipped_again_only_when_they_have_moved() -> None:
    batches = Batches(keys=30, rows=1_000, jitter=0.1)
    for _ in range(10):
        batches.learn(in_classes)
    assert batches.model.sketch is not None
    assert batches.model.moved(None)
    shipped = batches.model.sketch.snapshot()
    batches.learn(in_classes)
    assert not batches.model.moved(shipped)
    batches.learn(swapped)
    assert batches.model.moved(shipped)


def test_what_is_known_comes_back_from_json() -> None:
    batches = Batches(keys=50, rows=1_000, jitter=0.2)
    for _ in range(5):
        batches.learn(in_classes)
    document = json.loads(json.dumps(batches.model.to_json()))
    again = CostAware().model()
    again.restore(document)
    assert again.to_json() == batches.model.to_json()
    assert again.gain_seconds(1_000, 4) == batches.model.gain_seconds(1_000, 4)
    assert again.placers(1_000, 4) == batches.model.placers(1_000, 4)
    # One batch of even costs must not undo what many have shown, as it would not without a restart.
    before = again.explained_seconds
    batches.model = again
    batches.learn(even)
    assert again.explained_seconds == pytest.approx(before * np.sqrt(0.7), rel=0.01)


def test_nothing_known_comes_back_as_nothing() -> None:
    again = CostAware().model()
    again.restore(json.loads(json.dumps(CostAware().model().to_json())))
    assert again.sketch is None


def test_sketches_of_another_size_or_seed_are_learnt_anew() -> None:
    batches = Batches(keys=50, rows=1_000)
    batches.learn(in_classes)
    for other in (CostAware(epsilon=0.05), CostAware(seed=1), CostAware(delta=0.3)):
        model = other.model()
        model.restore(batches.model.to_json())
        assert model.sketch is None
        assert model.gain_seconds(1_000, 4) == 0.0


@pytest.mark.parametrize("missing", ["sketch", "usual_error", "explained_seconds", "speeds"])
def test_half_a_document_is_taken_over_as_none(missing: str) -> None:
    batches = Batches(keys=50, rows=1_000)
    batches.learn(in_classes)
    document = batches.model.to_json()
    del document[missing]
    model = CostAware().model()
    with pytest.raises((KeyError, TypeError, ValueError)):
        model.restore(document)
    assert model.to_json() == CostAware().model().to_json()


def test_the_more_rows_a_task_carries_the_more_placers_may_share_the_work() -> None:
    """5 % of a task's load may be a random walk of steps as long as the dearest row."""
    sketch = CostAware().sketch()
    sketch.update(np.arange(2, dtype=np.uint64), np.array([1.0, 3.0]))
    model = CostModel(sketch)
    model.sketch = sketch  # mean 2, dearest 3
    assert model.placers(rows=240, tasks=4) == 4  # a task carries 120: steps of 3 to 6 = 5 %
    assert model.placers(rows=480, tasks=4) == 16
    assert model.placers(rows=10, tasks=4) == 1
