"""The utilisation of stages: the paper's sum, and the time that a micro-batch leaves them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.preference.utilisation import (
    LEAST_TIME,
    BatchTime,
    StageLoad,
    uneven_utilisation,
    utilisations,
)


@pytest.mark.parametrize(
    ("rows", "served", "rho"),
    [
        ([25.0] * 4, 50.0, 0.5),
        ([70.0, 10.0, 10.0, 10.0], 50.0, 1.04),  # (4900 + 300) / (100 x 50)
        ([100.0, 0.0], 50.0, 2.0),
        ([0.0, 0.0], 50.0, 0.0),
        ([], 50.0, 0.0),
    ],
)
def test_a_stage_with_uneven_tasks_is_utilised_more(
    rows: list[float], served: float, rho: float
) -> None:
    assert uneven_utilisation(rows, served) == pytest.approx(rho)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=20), st.floats(1, 1e6))
def test_no_split_is_better_than_the_even_one(rows: list[int], served: float) -> None:
    """The bound of Proposition 1: lambda / (n mu)."""
    even = sum(rows) / (len(rows) * served)
    assert uneven_utilisation(rows, served) >= even * (1 - 1e-9)


class TestBatches:
    """Two slots; the rows of each stage cost the same."""

    def test_even_stages_that_fill_their_batch_are_fully_utilised(self) -> None:
        # |-- 0.2 s else --|-- panes 0.5 s --|-- windows 0.3 s --|
        panes = StageLoad((100, 100), (0.5, 0.5))
        windows = StageLoad((30, 30), (0.3, 0.3))
        rhos = utilisations([panes, windows], BatchTime(1.0, 1.0, slots=2))
        assert rhos == pytest.approx((1.0, 1.0))

    def test_what_else_a_batch_does_is_taken_from_their_time(self) -> None:
        panes = StageLoad((100, 100), (0.4, 0.4))
        alone = utilisations([panes], BatchTime(1.0, 0.4, slots=2))
        beside = utilisations([panes], BatchTime(1.0, 0.6, slots=2))  # 0.2 s of it elsewhere
        assert (*alone, *beside) == pytest.approx((0.4, 0.5))

    def test_all_rows_in_one_task_count_twice_of_two(self) -> None:
        even = utilisations([StageLoad((100, 100), (0.4, 0.4))], BatchTime(1.0, 0.4, slots=2))
        uneven = utilisations([StageLoad((200,), (0.8,))], BatchTime(1.0, 0.8, slots=2))
        assert uneven == pytest.approx((2 * even[0],))

    def test_the_uneven_stage_is_the_slower_one(self) -> None:
        panes = StageLoad((300, 100), (0.6, 0.2))
        windows = StageLoad((30, 30), (0.2, 0.2))
        first, second = utilisations([panes, windows], BatchTime(1.0, 0.8, slots=2))
        # left 1.0, of which two thirds for panes: mu = 2/3 x 400 / 0.8, rho = 1e5 / (400 mu)
        assert (first, second) == pytest.approx((0.75, 0.6))

    def test_more_tasks_than_slots_take_turns(self) -> None:
        assert StageLoad((1,) * 4, (0.1,) * 4).elapsed_seconds(2) == pytest.approx(0.2)

    def test_a_batch_that_is_late_for_other_reasons_leaves_the_stages_something(self) -> None:
        panes = StageLoad((100,), (0.1,))
        (rho,) = utilisations([panes], BatchTime(1.0, 5.0))
        assert rho == pytest.approx(0.1 / LEAST_TIME)

    def test_a_batch_without_rows_utilises_nothing(self) -> None:
        batch = BatchTime(1.0, 0.1)
        assert utilisations([StageLoad(), StageLoad()], batch) == (0.0, 0.0)
        assert utilisations([StageLoad((9,), (0.09,)), StageLoad()], batch)[1] == 0.0

    @given(st.floats(0.1, 10), st.floats(0, 20), st.integers(1, 8), st.floats(1.1, 5))
    def test_less_time_is_never_less_utilised(
        self, available: float, taken: float, slots: int, times: float
    ) -> None:
        stages = [StageLoad((80, 20), (0.08, 0.02)), StageLoad((7,), (0.01,))]
        short = utilisations(stages, BatchTime(available, taken, slots))
        long = utilisations(stages, BatchTime(available * times, taken, slots))
        assert all(one >= other for one, other in zip(short, long, strict=True))
