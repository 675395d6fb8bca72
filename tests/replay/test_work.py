"""What rows and batches cost, found again from batches made of known costs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.replay.work import work_of
from replay.loads import batch, recording


@given(fixed=st.floats(0.2, 5), per_row=st.floats(0.0001, 0.1), slots=st.integers(1, 16))
def test_known_costs_are_found(fixed: float, per_row: float, slots: int) -> None:
    sizes = [100, 900, 400, 250, 700, 50, 620]
    found = work_of(
        recording(*[batch(60 * n, fixed + r * per_row / slots, r) for n, r in enumerate(sizes)]),
        slots,
    )
    assert found.fixed_seconds == pytest.approx(fixed, rel=1e-6, abs=1e-6)
    assert found.slot_seconds_per_row == pytest.approx(per_row, rel=1e-6)
    assert found.error == pytest.approx(0, abs=1e-6)


def test_batches_that_say_their_slots_are_believed() -> None:
    batches = [
        batch(60 * n, 1 + r * 0.01 / slots, r, slots=slots)
        for n, (r, slots) in enumerate([(100, 1), (900, 1), (900, 4), (400, 2), (300, 8)])
    ]
    found = work_of(recording(*batches), slots_then=99)
    assert found.slot_seconds_per_row == pytest.approx(0.01)


def test_wild_batches_bend_nothing() -> None:
    chance = random.Random(1)
    sizes = [chance.randrange(100, 2_000) for _ in range(300)]
    batches = [
        batch(60 * n, (1 + r * 0.01 / 4) * chance.uniform(0.95, 1.05), r)
        for n, r in enumerate(sizes)
    ]
    batches[0] = batch(0, 300.0, 10)
    batches[50] = batch(3_000, 500.0, 150)
    found = work_of(recording(*batches), 4)
    assert found.fixed_seconds == pytest.approx(1, rel=0.1)
    assert found.slot_seconds_per_row == pytest.approx(0.01, rel=0.05)
    assert 0.01 < found.error < 0.05


def test_where_all_batches_are_alike_bookkeeping_is_the_fixed_part() -> None:
    found = work_of(recording(*[batch(10 * n, 5.0, 1_000, busy=4.0) for n in range(9)]), 2)
    assert (found.fixed_seconds, found.slot_seconds_per_row) == (1.0, 0.008)


def test_batches_are_never_quicker_than_spark_is() -> None:
    found = work_of(recording(*[batch(10 * n, 0.01 * (n + 1), 100 * (n + 1)) for n in range(9)]), 1)
    assert found.fixed_seconds == pytest.approx(0.02)
    many = work_of(recording(*[batch(10 * n, n + 1.0, 100 * (n + 1)) for n in range(9)]), 1)
    assert many.fixed_seconds == pytest.approx(0.1)


def test_time_that_does_not_depend_on_rows_is_all_fixed() -> None:
    found = work_of(recording(*[batch(10 * n, 2.0, 100 * (n + 1)) for n in range(9)]), 4)
    assert (found.fixed_seconds, found.slot_seconds_per_row) == (2.0, 0.0)


def test_a_log_without_rows() -> None:
    found = work_of(recording(*[batch(10 * n, 0.3, 0) for n in range(9)]), 4)
    assert (found.fixed_seconds, found.slot_seconds_per_row) == (0.3, 0.0)


def test_a_few_large_batches_among_many_alike_tell_the_slope() -> None:
    sizes = [500] * 5_000 + [2_000, 3_000, 2_500] + [500] * 5_000
    batches = [batch(60 * n, 1 + r * 0.01 / 4, r, busy=0.1) for n, r in enumerate(sizes)]
    found = work_of(recording(*batches), 4)
    assert found.slot_seconds_per_row == pytest.approx(0.01)
    assert found.fixed_seconds == pytest.approx(1.0)


def test_batches_that_get_quicker_with_more_rows_cost_nothing_by_row() -> None:
    found = work_of(recording(*[batch(10 * n, 3.0 - n / 10, 100 * (n + 1)) for n in range(9)]), 4)
    assert found.slot_seconds_per_row == 0.0
    assert 2.0 < found.fixed_seconds < 3.0
