"""What ``CostAware`` takes, and what it makes of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from penstock.errors import ConfigurationError
from penstock.placement.cost_aware import CostAware


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *[(name, value) for name in ("epsilon", "delta") for value in (0, 1, -0.1, 2, "x", None)],
        ("epsilon", math.nan),
        *[("window", value) for value in (0, -1, 1.5, "x", None)],
        *[(name, value) for name in ("mu", "least_gain_seconds") for value in (-1, "x", None)],
        ("mu", math.nan),
        *[("seed", value) for value in (1.5, "x", None)],
        ("epsilon", True),
        ("window", True),
        ("mu", True),
        ("seed", True),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused_by_its_name(setting: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as refused:
        CostAware(**{setting: value})
    assert str(refused.value).startswith(f"CostAware({setting}={value!r}): write ")


def test_the_sketch_has_the_size_and_the_seed_that_were_asked_for() -> None:
    sketch = CostAware(epsilon=0.05, delta=0.25, seed=7).sketch()
    assert (sketch.rows, sketch.columns) == (2, 55)
    assert sketch.matches(CostAware(epsilon=0.05, delta=0.25, seed=7).sketch())
    assert not sketch.matches(CostAware(epsilon=0.05, delta=0.25).sketch())


def test_a_sketch_of_the_usual_size_is_small() -> None:
    sketch = CostAware().sketch()
    assert (sketch.rows, sketch.columns) == (4, 544)
