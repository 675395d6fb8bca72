"""Upstream tasks that place their rows on their own, and what comes of it together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.hashing import key_hashes
from penstock.placement.placer import KnownCost, Placer


def sketch_of(costs: dict[Any, float]) -> CostSketch:
    sketch = CostAware().sketch()
    sketch.update(key_hashes(list(costs)), np.array(list(costs.values())))
    return sketch


DEAR = {0: 25.0, 1: 5.0, 2: 1.0}


def placer_of(tasks: int, placers: int, costs: dict[Any, float]) -> Placer:
    return Placer(tasks, placers, (KnownCost((0,), sketch_of(costs)),))


def loads(placer: Placer, parts: list[Any], costs: dict[int, float]) -> Any:
    """What every task carries when each of the upstream tasks has placed its keys."""
    total = np.zeros(placer.tasks)
    for number, keys in enumerate(parts):
        chosen = placer.begin(number).place([keys])
        total += np.bincount(chosen, [costs[key] for key in keys.tolist()], placer.tasks)
    return total


@given(
    keys=st.lists(st.integers(0, 9), max_size=200),
    tasks=st.integers(1, 7),
    placers=st.integers(1, 9),
    number=st.integers(0, 12),
)
def test_every_row_gets_one_of_the_tasks(
    keys: list[int], tasks: int, placers: int, number: int
) -> None:
    chosen = placer_of(tasks, placers, DEAR).begin(number).place([np.array(keys, np.int64)])
    assert chosen.dtype == np.int32
    assert len(chosen) == len(keys)
    assert all(task in range(tasks) for task in chosen.tolist())


@pytest.mark.parametrize("placers", [1, 2, 3, 4, 8, 13])
def test_several_balance_together(placers: int) -> None:
    """Each is off by less than a row; beginning at different tasks they stay near the mean."""
    dice = np.random.default_rng(placers)
    parts = [dice.integers(0, 3, 200) for _ in range(placers)]
    total = loads(placer_of(4, placers, DEAR), parts, DEAR)
    assert total.max() / total.mean() < 1.03


@pytest.mark.parametrize(("placers", "tasks"), [(4, 4), (8, 4), (2, 4), (3, 3), (6, 3), (12, 4)])
def test_one_row_each_is_spread_over_as_many_tasks_as_there_are(placers: int, tasks: int) -> None:
    """All to the first task would be the worst that could be done."""
    parts = [np.array([0])] * placers
    total = loads(placer_of(tasks, placers, DEAR), parts, DEAR)
    assert total.max() == 25.0 * -(-placers // tasks)


def test_upstream_tasks_that_nobody_counted_still_begin_at_different_tasks() -> None:
    total = loads(placer_of(4, 4, DEAR), [np.array([0])] * 16, DEAR)
    assert total.tolist() == [100.0] * 4


def test_record_batches_of_one_task_go_on_where_the_last_one_ended() -> None:
    """Dear rows that come one by one go round, as if they had come together."""
    placed = placer_of(3, 1, DEAR).begin(0)
    chosen = [placed.place([np.array([0])])[0] for _ in range(6)]
    assert sorted(chosen) == [0, 0, 1, 1, 2, 2]
    np.testing.assert_allclose(placed.loads, [50.0] * 3)


def test_the_same_rows_go_the_same_way_again() -> None:
    keys = np.random.default_rng(5).integers(0, 3, 500)
    placer = placer_of(5, 3, DEAR)
    first, again = placer.begin(1), placer.begin(1)
    for part in np.array_split(keys, 7):
        assert first.place([part]).tolist() == again.place([part]).tolist()


def test_costs_of_several_operators_are_added_by_their_own_keys_and_weights() -> None:
    """Rows of (dear, cheap) and (cheap, dear) weigh 10 + 1 and 1 + 2 * 10."""
    first = KnownCost((0,), sketch_of({"dear": 10.0, "cheap": 1.0}))
    second = KnownCost((1,), sketch_of({"dear": 10.0, "cheap": 0.5}), weight=2.0)
    placer = Placer(2, 1, (first, second))
    placed = placer.begin(0)
    placed.place([pa.array(["dear", "cheap"]), pa.array(["cheap", "dear"])])
    assert sorted(placed.loads.tolist()) == [11.0, 21.0]


def test_a_key_of_several_columns_is_told_apart_by_all_of_them() -> None:
    sketch = CostAware().sketch()
    sketch.update(key_hashes(["a", "a"], [1, 2]), np.array([9.0, 1.0]))
    known = KnownCost((2, 0), sketch)
    columns = [pa.array([2, 1]), pa.array([0.5, 0.5]), pa.array(["a", "a"])]
    assert known.estimate(columns).tolist() == [1.0, 9.0]


def test_a_key_never_seen_costs_the_mean_and_null_is_a_key() -> None:
    known = KnownCost((0,), sketch_of({"a": 9.0, None: 1.0}))
    assert known.estimate([pa.array(["a", None, "b"])]).tolist() == [9.0, 1.0, 5.0]


def test_rows_that_seem_to_cost_nothing_are_spread() -> None:
    chosen = placer_of(4, 1, {0: 0.0}).begin(0).place([np.zeros(400, np.int64)])
    assert np.bincount(chosen, minlength=4).tolist() == [100] * 4


def test_a_record_batch_without_rows_is_placed_without_any() -> None:
    placed = placer_of(4, 1, DEAR).begin(0)
    assert placed.place([np.zeros(0, np.int64)]).tolist() == []
    assert placed.place([np.array([0])]).tolist() == [0]
