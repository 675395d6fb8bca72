"""What rows cost, learnt from noisy busy times."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.capacity import RowCost

US, MS = 1e-6, 1e-3


class Batches:
    """Batches of an operator whose rows take 100 us and whose tasks take nothing to begin."""

    def __init__(self, row_seconds: float = 100 * US, start_seconds: float = 0.0) -> None:
        self.cost = RowCost()
        self.row_seconds, self.start_seconds = row_seconds, start_seconds
        self._dice = np.random.default_rng(4)

    def run(self, batches: int, rows: int, tasks: int = 4) -> float:
        """Return what a row is thought to cost after them, relative to what it costs."""
        for _ in range(batches):
            busy = rows * self.row_seconds * self._dice.lognormal(0, 0.1)
            self.cost.observe(rows, tasks, busy + tasks * self.start_seconds)
        return self.cost.seconds_per_row / self.row_seconds


def test_noise_is_averaged_out() -> None:
    assert Batches().run(30, rows=10_000) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("factor", [5.0, 0.2])
def test_a_jump_or_drop_is_followed_within_three_batches(factor: float) -> None:
    batches = Batches()
    batches.run(20, rows=10_000)
    batches.row_seconds *= factor
    assert batches.run(3, rows=10_000) == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("busy", [20.0, 0.01])
def test_one_odd_batch_is_not_believed(busy: float) -> None:
    batches = Batches()
    batches.run(20, rows=10_000)
    batches.cost.observe(10_000, 4, busy_seconds=busy)
    assert batches.cost.seconds_per_row == pytest.approx(100 * US, rel=0.35)


def test_a_quiet_time_does_not_make_rows_dear() -> None:
    """Of 42 ms that 20 rows take, 40 are for beginning: 2 ms a row would be 20 times too much."""
    batches = Batches(start_seconds=10 * MS)
    batches.run(10, rows=10_000)
    assert batches.run(100, rows=20) == pytest.approx(1.0, abs=0.25)
    assert batches.cost.start_seconds == pytest.approx(10 * MS, rel=0.2)


def test_a_load_after_a_quiet_start_is_understood_in_two_batches() -> None:
    batches = Batches(start_seconds=10 * MS)
    batches.run(10, rows=20)
    assert batches.run(2, rows=10_000) == pytest.approx(1.0, abs=0.3)


def test_waves_tell_rows_and_beginnings_apart() -> None:
    batches = Batches(start_seconds=20 * MS)
    for wave in range(60):
        batches.run(1, rows=5_000 + int(4_500 * np.sin(wave / 5)))
    assert batches.cost.seconds_per_row == pytest.approx(100 * US, rel=0.2)
    assert batches.cost.start_seconds == pytest.approx(20 * MS, rel=0.3)


def test_batches_without_rows_say_nothing() -> None:
    cost = RowCost()
    cost.observe(0, 4, busy_seconds=1.0)
    assert cost.seconds_per_row == 0.0
    cost.observe(100, 4, busy_seconds=1.0)
    cost.observe(0, 4, busy_seconds=9.0)
    assert cost.seconds_per_row == 0.01


def test_what_is_no_time_is_ignored() -> None:
    cost = RowCost()
    cost.observe(100, 4, busy_seconds=1.0)
    for odd in (float("nan"), float("inf"), -1.0):
        cost.observe(100, 4, busy_seconds=odd)
    assert (cost.seconds_per_row, cost.start_seconds) == (0.01, 0.0)


def test_the_share_of_cpu_is_of_time_not_of_batches() -> None:
    cost = RowCost()
    assert cost.cpu_share is None
    cost.observe(1_000, 4, busy_seconds=10.0, cpu_seconds=2.0)
    cost.observe(1, 4, busy_seconds=0.01, cpu_seconds=0.01)
    assert cost.cpu_share == pytest.approx(0.2, abs=0.01)


batches = st.lists(
    st.tuples(
        st.integers(0, 10**7),
        st.integers(0, 64),
        st.floats(0, 1e4),
        st.none() | st.floats(0, 1e4),
    )
)


@given(batches, batches)
def test_what_was_saved_goes_on_as_before(
    before: list[tuple[int, int, float, float | None]],
    after: list[tuple[int, int, float, float | None]],
) -> None:
    cost = RowCost()
    for each in before:
        cost.observe(*each)
    restored = RowCost.saved(json.loads(json.dumps(cost.save(), allow_nan=False)))
    for each in after:
        cost.observe(*each)
        restored.observe(*each)
    assert restored.save() == cost.save()
    assert 0 <= cost.seconds_per_row < 1e5
    assert 0 <= cost.start_seconds < 1e5
