"""What a batch costs besides its work."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.capacity import FixedCost

dice = np.random.default_rng(5)


def overhead(tasks: int) -> float:
    return 0.4 + 0.01 * tasks + float(dice.normal(0, 0.02))


def learnt(*tasks: int) -> FixedCost:
    fixed = FixedCost()
    for each in tasks:
        fixed.observe(each, overhead(each))
    return fixed


def test_before_any_batch_it_is_what_spark_usually_takes() -> None:
    assert (FixedCost().batch_seconds, FixedCost().task_seconds) == (0.15, 0.005)


def test_batches_of_different_tasks_tell_both_apart() -> None:
    fixed = learnt(*dice.integers(2, 32, 60).tolist())
    assert fixed.batch_seconds == pytest.approx(0.4, rel=0.1)
    assert fixed.task_seconds == pytest.approx(0.01, rel=0.2)


def test_where_they_cannot_be_told_apart_tasks_are_taken_as_known() -> None:
    fixed = learnt(*[8] * 60)
    assert fixed.batch_seconds + 8 * fixed.task_seconds == pytest.approx(0.48, rel=0.05)
    assert fixed.task_seconds == pytest.approx(0.005, abs=0.003)


def test_what_was_learnt_of_tasks_is_kept_while_nothing_tells() -> None:
    fixed = learnt(*dice.integers(2, 32, 60).tolist(), *[8] * 60)
    assert fixed.task_seconds == pytest.approx(0.01, rel=0.2)


def test_one_slow_batch_is_not_believed_and_two_are() -> None:
    fixed = learnt(*[8] * 30)
    before = fixed.batch_seconds
    fixed.observe(8, 10.0)
    assert fixed.batch_seconds < 1.5 * before
    fixed.observe(8, 10.0)
    assert fixed.batch_seconds > 5.0


sums = st.lists(st.tuples(st.integers(0, 200), st.floats(-1e4, 1e4)))


@given(sums, sums)
def test_what_was_saved_goes_on_as_before(
    before: list[tuple[int, float]], after: list[tuple[int, float]]
) -> None:
    fixed = FixedCost()
    for each in before:
        fixed.observe(*each)
    restored = FixedCost.saved(json.loads(json.dumps(fixed.save(), allow_nan=False)))
    for each in after:
        fixed.observe(*each)
        restored.observe(*each)
    assert restored.save() == fixed.save()
    assert 0 <= fixed.batch_seconds <= 2e4
    assert 0 <= fixed.task_seconds <= 2e4
