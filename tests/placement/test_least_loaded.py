from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.placement.least_loaded import LeastLoaded, Turns, least_loaded, turns
from penstock.placement.placement import Border
from penstock.placement.round_robin import RoundRobin

loads = st.lists(st.floats(0, 1.3) | st.integers(0, 9).map(lambda n: n / 8), min_size=1, max_size=6)
steps = st.floats(0.01, 1.5) | st.sampled_from([0.125, 0.25, 0.1])


def tasks_by_spark(spark: SparkSession, placement: LeastLoaded, rows: int, tasks: int) -> list[int]:
    expression = placement.expression(Border(1, tasks))
    answer = spark.range(0, rows, 1, 1).selectExpr(f"CAST({expression} AS INT)").collect()
    return [row[0] for row in answer]


def algorithm_1(utilisations: list[float], step: float, rows: int) -> list[int]:
    """The pseudo-code as it stands, from the first replica on and with U >= 1."""
    u, chosen, turn = list(utilisations), [], 0
    for _ in range(rows):
        m = 0
        for j in range(len(u)):
            if u[j] < u[m]:
                m = j
        if u[m] >= 1:
            m, turn = turn, (turn + 1) % len(u)
        else:
            u[m] += step
        chosen.append(m)
    return chosen


@given(st.lists(st.integers(0, 80), min_size=1, max_size=6), st.integers(1, 90))
def test_it_is_algorithm_1(sixty_fourths: list[int], step: int) -> None:
    """In 64ths, which floating-point numbers add without error."""
    utilisations = [n / 64 for n in sixty_fourths]
    expected = algorithm_1(utilisations, step / 64, 150)
    assert list(islice(least_loaded(utilisations, step / 64), 150)) == expected


def unrolled(found: list[Turns], rows: int) -> list[int]:
    chosen = []
    for row in range(rows):
        now = [each for each in found if each.first_row <= row][-1]
        chosen.append(now.tasks[(row - now.first_row) % len(now.tasks)])
    return chosen


@given(loads, steps)
@example([0.5, 0.5, 0.25], 0.25)
@example([0.25, 0.5, 0.5], 0.25)
@example([0.1, 0.3, 0.2], 0.1)
@example([1.0, 1.2], 0.1)
def test_turns_are_the_same_without_going_from_row_to_row(
    utilisations: list[float], step: float
) -> None:
    found = turns(utilisations, step)
    assert unrolled(found, 300) == list(islice(least_loaded(utilisations, step), 300))
    starts = [each.first_row for each in found]
    assert starts == sorted(set(starts))


def test_equal_tasks_take_turns_from_the_first() -> None:
    for utilisations in ([0.0] * 3, [0.4] * 3, [1.5] * 3):
        assert turns(utilisations, 0.01) == [Turns(0, (0, 1, 2))]


def test_the_lowest_catches_up_then_they_take_turns() -> None:
    """A quarter missing at an eighth a row: two rows, and then they are level."""
    assert turns([0.5, 0.25], 0.125)[:2] == [Turns(0, (1,)), Turns(2, (0, 1))]


def test_full_tasks_get_nothing_until_all_are_full() -> None:
    chosen = list(islice(least_loaded([1.0, 0.5], 0.1), 9))
    assert chosen == [1] * 5 + [0, 1, 0, 1]


def test_a_row_without_cost_is_dealt_in_turn() -> None:
    assert turns([0.5, 0.0], 0.0) == [Turns(0, (0, 1))]


def test_tiny_steps_take_no_time() -> None:
    assert turns([0.5, 0.0], 2.0**-30)[1] == Turns(2**29, (0, 1))


def test_tiny_steps_give_no_number_that_spark_cannot_hold(spark: SparkSession) -> None:
    placement = LeastLoaded(1.0, (0.5, 0.0, 0.2), 1e-300)
    assert tasks_by_spark(spark, placement, 3, 3) == [1, 1, 1]
    assert turns(placement.utilisations, 1e-300) == [Turns(0, (1,)), Turns(2**33, (0, 1, 2))]


def test_utilisation_is_equation_5() -> None:
    placement = LeastLoaded(interval_seconds=2.0).after(rows=[100, 50], execution_seconds=0.01)
    assert placement.utilisations == (0.5, 0.25)
    assert placement == replace(placement, execution_seconds=0.01)
    assert placement.interval_seconds == 2.0


@pytest.mark.parametrize(
    ("utilisations", "seconds"),
    [
        ((0.6, 0.2, 0.4), 0.05),
        ((0.9, 0.9, 0.1), 0.1),
        ((0.0, 1.5, 0.3), 0.01),
        ((0.5, 0.25), 0.125),
    ],
)
def test_spark_deals_rows_as_algorithm_1_does(
    spark: SparkSession, utilisations: tuple[float, ...], seconds: float
) -> None:
    placement = LeastLoaded(1.0, utilisations, seconds)
    chosen = tasks_by_spark(spark, placement, 400, len(utilisations))
    assert chosen == list(islice(least_loaded(utilisations, seconds), 400))


def test_several_partitions_level_the_tasks_together(spark: SparkSession) -> None:
    """200 rows from four partitions: as much as one task is behind the other."""
    placement = LeastLoaded(1.0, (0.9, 0.1), 0.004)
    expression = placement.expression(Border(4, 2))
    answer = spark.range(0, 200, 1, 4).selectExpr(f"CAST({expression} AS INT)").collect()
    assert Counter(row[0] for row in answer) == {1: 200}
    answer = spark.range(0, 240, 1, 4).selectExpr(f"CAST({expression} AS INT)").collect()
    more = Counter(row[0] for row in answer)
    assert abs(more[0] - 20) <= 4
    assert more.total() == 240


def test_partitions_begin_their_turns_at_different_tasks(spark: SparkSession) -> None:
    placement = LeastLoaded(1.0, (0.0, 0.0, 0.0, 0.0, 0.5), 0.01)
    expression = placement.expression(Border(4, 5))
    answer = spark.range(0, 4, 1, 4).selectExpr(f"CAST({expression} AS INT)").collect()
    assert [row[0] for row in answer] == [0, 1, 2, 3]


@pytest.mark.parametrize("utilisations", [(), (0.3, 0.3, 0.3)])
def test_where_nothing_is_to_be_levelled_it_is_round_robin(utilisations: tuple[float, ...]) -> None:
    placement = LeastLoaded(1.0, utilisations, 0.01)
    for border in (Border(2, 3), Border(3, 3), Border(None, 3), Border(2, 3, ordered=False)):
        assert placement.expression(border) == RoundRobin().expression(border)
        assert placement.fits(border) == RoundRobin().fits(border)


def test_rows_move_where_a_task_is_behind() -> None:
    assert not LeastLoaded(1.0, (0.5, 0.1), 0.01).fits(Border(2, 2))


def test_rows_whose_order_may_change_are_left_to_spark() -> None:
    assert LeastLoaded(1.0, (0.5, 0.1), 0.01).expression(Border(2, 2, ordered=False)) is None


def test_new_tasks_had_nothing_to_do_and_tasks_that_are_gone_do_not_count(
    spark: SparkSession,
) -> None:
    placement = LeastLoaded(1.0, (0.5, 0.25), 0.25)
    assert tasks_by_spark(spark, placement, 4, 3) == [2, 1, 2, 0]
    assert placement.expression(Border(1, 1)) == RoundRobin().expression(Border(1, 1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"interval_seconds": 0.0},
        {"interval_seconds": float("nan")},
        {"utilisations": (0.5, -0.1)},
        {"utilisations": (float("nan"),)},
        {"execution_seconds": float("inf")},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="Give"):
        LeastLoaded(**wrong)
