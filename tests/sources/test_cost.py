from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.sources import KeyCost


@given(levels=st.integers(1, 80), blocks=st.integers(1, 20), seed=st.integers(0, 2**32))
def test_every_level_is_given_to_as_many_keys(levels: int, blocks: int, seed: int) -> None:
    cost = KeyCost(1.0, 64.0, levels, seed)
    counts = Counter(cost.cost_ms(np.arange(levels * blocks)).tolist())
    assert counts == dict.fromkeys(np.linspace(1.0, 64.0, levels).tolist(), blocks)


def test_a_key_costs_the_same_wherever_it_is() -> None:
    cost = KeyCost(1.0, 64.0)
    keys = np.arange(4_096)
    assert (cost.cost_ms(keys)[::-1] == cost.cost_ms(keys[::-1])).all()


def test_cost_says_nothing_of_popularity() -> None:
    costs = KeyCost(1.0, 64.0).cost_ms(np.arange(4_096))
    # The correlation of a shuffle has a standard deviation of 1 / sqrt(4,095).
    assert abs(np.corrcoef(np.arange(4_096), costs)[0, 1]) < 4 / np.sqrt(4_095)
    assert abs(np.corrcoef(np.arange(64), costs[:64])[0, 1]) < 4 / np.sqrt(63)


def test_another_seed_deals_otherwise() -> None:
    keys = np.arange(64)
    assert (KeyCost(1, 64, seed=1).cost_ms(keys) != KeyCost(1, 64, seed=2).cost_ms(keys)).any()


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (3.0, 2.0), (0.0, float("inf"))])
def test_wrong_costs_are_refused(low: float, high: float) -> None:
    with pytest.raises(ConfigurationError, match="low_ms <= high_ms"):
        KeyCost(low, high)


@pytest.mark.parametrize("levels", [0, -1, 1.5, True, 1_000_001])
def test_wrong_levels_are_refused(levels: Any) -> None:
    with pytest.raises(ConfigurationError, match="levels is"):
        KeyCost(1, 2, levels)
