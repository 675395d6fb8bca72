from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.placement.cell_hashes import COMPILED_FROM_KEYS
from penstock.placement.count_min import CountMinSketch, sketch_sizes

keys_64 = st.integers(0, 2**64 - 1)
# Eighths add up exactly, so that no order of adding them makes a difference.
streams = st.lists(
    st.tuples(st.integers(0, 30) | keys_64, st.integers(0, 800).map(lambda n: n / 8)), max_size=60
)


def arrays(stream: list[tuple[int, float]]) -> tuple[Any, Any]:
    keys = np.array([key for key, _ in stream], np.uint64)
    return keys, np.array([amount for _, amount in stream], np.float64)


def sketch_of(stream: list[tuple[int, float]], seed: int = 0) -> CountMinSketch:
    sketch = CountMinSketch(0.3, 0.2, seed)
    sketch.update(*arrays(stream))
    return sketch


@pytest.mark.parametrize(("delta", "rows"), [(0.1, 4), (0.05, 5), (0.25, 2), (0.5, 1), (0.9, 1)])
def test_rows_come_from_delta(delta: float, rows: int) -> None:
    assert sketch_sizes(0.05, delta)[0] == CountMinSketch(0.05, delta).rows == rows


@pytest.mark.parametrize(("epsilon", "columns"), [(0.05, 55), (0.7, 4), (1.0, 3), (0.001, 2719)])
def test_columns_come_from_epsilon(epsilon: float, columns: int) -> None:
    assert sketch_sizes(epsilon, 0.1)[1] == CountMinSketch(epsilon).columns == columns


@given(streams, st.integers())
def test_an_estimate_is_never_below_the_truth_and_never_above_the_total(
    stream: list[tuple[int, float]], seed: int
) -> None:
    sketch = sketch_of(stream, seed)
    keys, amounts = arrays(stream)
    distinct = np.unique(keys)
    truth = np.array([amounts[keys == key].sum() for key in distinct])
    estimates = sketch.estimate(distinct)
    assert (estimates >= truth).all()
    assert (estimates <= sketch.total).all()
    assert sketch.total == amounts.sum()


@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 0.1), (0.2, 0.25), (0.1, 0.5)])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_few_seeds_miss_the_bound(epsilon: float, delta: float, power: float) -> None:
    """P(estimate - f >= epsilon (m - f)) <= delta, for a stream fixed before the seeds are."""
    keys = np.arange(500, dtype=np.uint64)
    truth = np.ceil(1000 / (1.0 + keys) ** power)
    bounds = epsilon * (truth.sum() - truth)
    misses = np.zeros(len(keys))
    for seed in range(400):
        sketch = CountMinSketch(epsilon, delta, seed)
        sketch.update(keys, truth)
        misses += sketch.estimate(keys) - truth >= bounds
    # Four standard deviations of the share of 400 seeds, for each of 500 keys.
    assert (misses / 400 <= delta + 4 * (delta * (1 - delta) / 400) ** 0.5).all()
    assert misses.mean() / 400 <= delta


@given(streams, st.integers(0, 60), st.randoms())
def test_splitting_and_shuffling_make_no_difference(
    stream: list[tuple[int, float]], cut: int, dice: Any
) -> None:
    whole = sketch_of(stream)
    shuffled = dice.sample(stream, len(stream))
    parts = sketch_of(shuffled[:cut])
    parts.update(*arrays(shuffled[cut:]))
    merged = sketch_of(shuffled[:cut])
    merged.merge(sketch_of(shuffled[cut:]))
    assert (parts.counts == whole.counts).all()
    assert (merged.counts == whole.counts).all()


def test_without_amounts_every_key_counts_one() -> None:
    keys = np.array([1, 2, 1, 1], np.uint64)
    counted, summed = CountMinSketch(), CountMinSketch()
    counted.update(keys)
    summed.update(keys, np.ones(4))
    assert (counted.counts == summed.counts).all()
    assert counted.estimate(keys).tolist() == [3, 1, 3, 3]


def test_many_keys_are_counted_as_few_are() -> None:
    keys = np.random.default_rng(0).integers(0, 10_000, COMPILED_FROM_KEYS, dtype=np.uint64)
    amounts = keys / 8
    at_once, in_parts = CountMinSketch(), CountMinSketch()
    at_once.update(keys, amounts)
    for start in range(0, len(keys), 50_000):
        in_parts.update(keys[start : start + 50_000], amounts[start : start + 50_000])
    assert (at_once.counts == in_parts.counts).all()
    assert (at_once.estimate(keys)[:1000] == in_parts.estimate(keys[:1000])).all()


@given(streams)
def test_it_comes_back_from_json_and_pickle(stream: list[tuple[int, float]]) -> None:
    sketch = sketch_of(stream, seed=-3)
    text = json.dumps(sketch.to_json(), allow_nan=False)
    for back in (CountMinSketch.from_json(json.loads(text)), pickle.loads(pickle.dumps(sketch))):
        assert (back.counts == sketch.counts).all()
        assert back.hashes == sketch.hashes
        back.merge(sketch)


def test_a_copy_and_a_scaled_one_are_their_own() -> None:
    sketch = sketch_of([(1, 8.0)])
    copy, half = sketch.copy(), sketch.scaled(0.5)
    sketch.update(*arrays([(1, 1.0)]))
    one = np.array([1], np.uint64)
    assert (copy.estimate(one)[0], half.estimate(one)[0], sketch.estimate(one)[0]) == (8, 4, 9)
    assert half.hashes == sketch.hashes


@pytest.mark.parametrize(
    "other", [CountMinSketch(0.3, 0.2, 1), CountMinSketch(0.2, 0.2), CountMinSketch(0.3, 0.05)]
)
def test_sketches_that_do_not_match_are_not_merged(other: CountMinSketch) -> None:
    sketch = sketch_of([(1, 1.0)])
    with pytest.raises(ConfigurationError, match="same epsilon, delta and seed"):
        sketch.merge(other)
    assert sketch.total == 1


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1.5, float("nan"), float("inf")])
def test_an_epsilon_that_makes_no_sense_is_refused(epsilon: float) -> None:
    with pytest.raises(ConfigurationError, match="epsilon"):
        CountMinSketch(epsilon)


@pytest.mark.parametrize("delta", [0.0, -1.0, 1.0, float("nan")])
def test_a_delta_that_makes_no_sense_is_refused(delta: float) -> None:
    with pytest.raises(ConfigurationError, match="delta"):
        CountMinSketch(0.1, delta)


@pytest.mark.parametrize("factor", [-0.5, float("nan"), float("inf")])
def test_a_factor_that_makes_no_sense_is_refused(factor: float) -> None:
    with pytest.raises(ConfigurationError, match="factor of 0 or more"):
        CountMinSketch().scaled(factor)


@pytest.mark.parametrize(
    ("keys", "amounts", "message"),
    [
        (np.array([1.5]), None, "key_hashes"),
        (np.array([[1]]), None, "key_hashes"),
        (np.array([1]), np.array([1.0, 2.0]), "as many amounts"),
        (np.array([1, 2]), np.array([1.0, -0.5]), "0 or more"),
        (np.array([1, 2]), np.array([np.nan, 1.0]), "finite"),
        (np.array([1, 2]), np.array([np.inf, 1.0]), "finite"),
    ],
)
def test_what_cannot_be_added_is_refused_and_changes_nothing(
    keys: Any, amounts: Any, message: str
) -> None:
    sketch = CountMinSketch()
    with pytest.raises(ValueError, match=message):
        sketch.update(keys, amounts)
    assert not sketch.counts.any()


GOOD = CountMinSketch(0.3, 0.2).to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0},
        {"epsilon": 0.2},
        {"epsilon": "0.3"},
        {"epsilon": True},
        {"delta": None},
        {"delta": 0.01},
        {"seed": 1.5},
        {"counts": ""},
        {"counts": "no base64!"},
        {"counts": GOOD["counts"][:-4]},
        {"counts": 7},
        {"counts": None},
        {"counts": "AAAA"},
    ],
    ids=str,
)
def test_a_damaged_document_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        CountMinSketch.from_json({**GOOD, **change})


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_a_document_with_something_missing_is_refused(missing: str) -> None:
    with pytest.raises(KeyError, match=missing):
        CountMinSketch.from_json({key: value for key, value in GOOD.items() if key != missing})
