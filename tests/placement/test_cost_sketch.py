from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.placement.cell_hashes import COMPILED_FROM_KEYS
from penstock.placement.cost_sketch import CostSketch

# Eighths add up exactly, so that no order of adding them makes a difference.
streams = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 800).map(lambda n: n / 8)), max_size=60
)


def arrays(stream: list[tuple[int, float]]) -> tuple[Any, Any]:
    keys = np.array([key for key, _ in stream], np.uint64)
    return keys, np.array([cost for _, cost in stream], np.float64)


def sketch_of(stream: list[tuple[int, float]]) -> CostSketch:
    sketch = CostSketch(0.3, 0.2, seed=7)
    sketch.update(*arrays(stream))
    return sketch


def by_hand(stream: list[tuple[int, float]], sketch: CostSketch, key: int) -> float:
    """Return W / F of the row with the smallest count, one cell after the other."""
    best = (math.inf, 0.0)
    for row in range(sketch.rows):
        cell = sketch.cells(np.array([key], np.uint64))[row, 0]
        sharing = [
            cost for other, cost in stream if sketch.cells(np.array([other]))[row, 0] == cell
        ]
        if len(sharing) < best[0]:
            best = (len(sharing), sum(sharing))
    if best[0]:
        return best[1] / best[0]
    return sum(cost for _, cost in stream) / len(stream) if stream else 0.0


@given(streams.filter(lambda stream: len(stream) < 15), st.integers(0, 60))
def test_the_row_with_the_smallest_count_gives_the_estimate(
    stream: list[tuple[int, float]], key: int
) -> None:
    sketch = CostSketch(1.0, 0.25, seed=7)  # two rows of three cells: many keys share theirs
    sketch.update(*arrays(stream))
    (estimate,) = sketch.estimate(np.array([key], np.uint64))
    assert estimate == pytest.approx(by_hand(stream, sketch, key), rel=1e-12)


@given(streams)
def test_estimates_lie_between_the_cheapest_and_the_dearest_row(
    stream: list[tuple[int, float]],
) -> None:
    sketch = sketch_of(stream)
    costs = [cost for _, cost in stream] or [0.0]
    estimates = sketch.estimate(np.arange(100, dtype=np.uint64))
    assert (estimates >= min(costs) - 1e-9).all()
    assert (estimates <= max(costs) + 1e-9).all()


def test_few_keys_are_estimated_exactly() -> None:
    keys = np.array([10, 20, 30], np.uint64)
    sketch = CostSketch()
    for _ in range(5):
        sketch.update(keys, np.array([1.0, 2.0, 64.0]))
    assert sketch.estimate(keys).tolist() == [1.0, 2.0, 64.0]


def test_a_key_never_seen_costs_the_mean_and_an_empty_sketch_knows_nothing() -> None:
    nobody = np.array([99], np.uint64)
    sketch = CostSketch()
    assert (sketch.estimate(nobody)[0], sketch.mean, sketch.total_rows) == (0.0, 0.0, 0.0)
    sketch.update(np.array([1, 2], np.uint64), np.array([2.0, 4.0]))
    assert (sketch.estimate(nobody)[0], sketch.mean, sketch.total_cost) == (3.0, 3.0, 6.0)


@pytest.mark.parametrize(("cost", "expected"), [(1, 32.0846), (64, 32.9154)])
def test_the_expected_estimate_of_equally_frequent_keys(cost: int, expected: float) -> None:
    """Section IV-B: n = 4096 keys, costs 1 to 64 with 64 keys each, c = 55 columns."""
    keys_with_each, columns = 64, CostSketch().columns
    n, total = 64 * keys_with_each, keys_with_each * sum(range(1, 65))
    others = (total - cost) / (n - 1)
    shared = columns * (total - n * cost) / (n * (n - 1)) * (1 - (1 - 1 / columns) ** n)
    assert others - shared == pytest.approx(expected, abs=5e-5)
    ratios = []
    for seed in range(300):
        sketch = CostSketch(0.05, 0.1, seed)
        keys = np.arange(n, dtype=np.uint64)
        sketch.update(keys, 1.0 + keys % 64)
        mine = np.arange(cost - 1, n, 64, dtype=np.uint64)
        cells = sketch.cells(mine)
        ratios.append([sketch.snapshot()[row][cells[row]].mean() for row in range(sketch.rows)])
    # The mean of 1,200 rows of cells scatters by less than 0.01.
    assert np.mean(ratios) == pytest.approx(expected, abs=0.05)


@given(streams, st.integers(0, 60), st.randoms())
def test_splitting_and_shuffling_make_no_difference(
    stream: list[tuple[int, float]], cut: int, dice: Any
) -> None:
    whole = sketch_of(stream)
    shuffled = dice.sample(stream, len(stream))
    merged = sketch_of(shuffled[:cut])
    merged.merge(sketch_of(shuffled[cut:]))
    for left, right in [(merged.counts, whole.counts), (merged.costs, whole.costs)]:
        assert (left == right).all()
    assert merged.mean == whole.mean


def test_many_keys_are_learnt_as_few_are() -> None:
    """To the last bit, as long as the parts are whole blocks."""
    dice = np.random.default_rng(0)
    keys = dice.integers(0, 10_000, COMPILED_FROM_KEYS + 77, dtype=np.uint64)
    costs = dice.random(len(keys))
    at_once, in_parts = CostSketch(), CostSketch()
    at_once.update(keys, costs)
    for start in range(0, len(keys), 8 * 8192):
        in_parts.update(keys[start : start + 8 * 8192], costs[start : start + 8 * 8192])
    assert (at_once.costs == in_parts.costs).all()
    assert (at_once.counts == in_parts.counts).all()
    assert (at_once.estimate(keys)[-1000:] == in_parts.estimate(keys[-1000:])).all()


@given(streams)
def test_it_comes_back_from_json_and_pickle(stream: list[tuple[int, float]]) -> None:
    sketch = sketch_of(stream)
    keys = np.arange(60, dtype=np.uint64)
    text = json.dumps(sketch.to_json(), allow_nan=False)
    for back in (CostSketch.from_json(json.loads(text)), pickle.loads(pickle.dumps(sketch))):
        assert (back.estimate(keys) == sketch.estimate(keys)).all()
        assert (back.counts == sketch.counts).all()
        back.merge(sketch)
        assert back.total_rows == 2 * len(stream)


def test_it_travels_in_a_few_kilobytes() -> None:
    dice = np.random.default_rng(0)
    sketch = CostSketch()
    sketch.update(dice.integers(0, 2**64, 100_000, dtype=np.uint64), dice.random(100_000))
    assert len(json.dumps(sketch.to_json())) < 5000
    assert len(pickle.dumps(sketch)) < 5000


@pytest.mark.parametrize("change", [{"costs": "AAAA"}, {"counts": 1}, {"seed": "0"}, {"delta": 2}])
def test_a_damaged_document_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        CostSketch.from_json({**CostSketch().to_json(), **change})


def test_a_document_without_costs_is_refused() -> None:
    document = CostSketch().to_json()
    del document["costs"]
    with pytest.raises(KeyError):
        CostSketch.from_json(document)


def test_a_scaled_sketch_estimates_the_same_and_weighs_less() -> None:
    sketch = sketch_of([(1, 8.0), (2, 2.0), (2, 4.0)])
    quarter = sketch.scaled(0.25)
    keys = np.array([1, 2, 3], np.uint64)
    assert (quarter.estimate(keys) == sketch.estimate(keys)).all()
    assert (quarter.total_rows, quarter.total_cost) == (0.75, 3.5)
    assert sketch.total_rows == 3


def test_a_copy_is_its_own() -> None:
    sketch = sketch_of([(1, 8.0)])
    copy = sketch.copy()
    copy.update(*arrays([(1, 0.0)]))
    assert (sketch.mean, copy.mean) == (8.0, 4.0)


def test_sketches_of_another_seed_are_not_merged() -> None:
    with pytest.raises(ConfigurationError, match="seed"):
        CostSketch(seed=1).merge(CostSketch(seed=2))


def test_the_snapshot_is_zero_where_nothing_was_seen() -> None:
    sketch = sketch_of([(1, 3.0), (1, 5.0)])
    snapshot = sketch.snapshot()
    assert np.count_nonzero(snapshot) == sketch.rows
    assert snapshot.max() == 4.0
    sketch.update(*arrays([(1, 100.0)]))
    assert snapshot.max() == 4.0


def test_distance_is_relative_to_the_snapshot() -> None:
    sketch = sketch_of([(1, 10.0)])
    snapshot = sketch.snapshot()
    assert sketch.distance(snapshot) == 0.0
    sketch.update(*arrays([(1, 20.0)]))
    # Now 15 where it was 10: by the present total it would be a third.
    assert sketch.distance(snapshot) == 0.5


def test_distance_from_an_empty_snapshot() -> None:
    empty = CostSketch().snapshot()
    sketch = CostSketch()
    assert sketch.distance(empty) == 0.0
    sketch.update(*arrays([(1, 0.0)]))
    assert sketch.distance(empty) == 0.0
    sketch.update(*arrays([(1, 1.0)]))
    assert sketch.distance(empty) == math.inf


@pytest.mark.parametrize("costs", [[1.0, -1.0], [1.0, math.nan], [1.0, math.inf], [1.0]])
def test_costs_that_cannot_be_are_refused_and_change_nothing(costs: list[float]) -> None:
    sketch = CostSketch()
    with pytest.raises(ValueError, match=r"finite|amounts"):
        sketch.update(np.array([1, 2], np.uint64), np.array(costs))
    assert sketch.total_rows == 0
