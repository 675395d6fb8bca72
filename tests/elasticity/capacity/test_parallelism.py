"""The papers' equations, with the papers' numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.capacity import (
    capacity,
    ideal_capacity,
    ideal_parallelism,
    least_parallelism,
    parallelism,
    replica_utilisation,
    replicas,
    reserved_capacity,
    saved_resources,
    working_interval,
)
from penstock.errors import ConfigurationError


def test_fig_3_of_psps() -> None:
    """Three operators get as many events; only what an event takes differs."""
    assert [replicas(100, seconds, 1.0) for seconds in (0.02, 0.01, 0.04)] == [2, 1, 4]


@pytest.mark.parametrize(
    ("rows", "milliseconds", "expected"), [(100, 16.6, 2), (91, 25, 3), (83, 100, 9), (0, 25, 1)]
)
def test_replicas_of_table_ii(rows: int, milliseconds: float, expected: int) -> None:
    assert replicas(rows, milliseconds / 1_000, 1.0) == expected


@pytest.mark.parametrize(("used", "over", "saved"), [(4, 32, 0.875), (16, 32, 0.5), (4, 12, 0.667)])
def test_saved_resources(used: int, over: int, saved: float) -> None:
    assert saved_resources(used, over) == pytest.approx(saved, abs=5e-4)


def test_utilisation_of_a_replica() -> None:
    assert replica_utilisation(40, 0.025, 1.0) == pytest.approx(1.0)


def test_capacity_is_what_the_usable_cpu_leaves_of_the_ideal_one() -> None:
    assert ideal_capacity(10, 0.02) == 500
    assert capacity(10, 0.02, usable_cpu=0.25) == 125


def test_the_margin_is_taken_off_the_reserved_capacity() -> None:
    """As a plain factor a margin of 0.3 would more than triple what is provided."""
    assert reserved_capacity(10, 0.02, reserved_cpu=0.5, margin=0.3) == pytest.approx(175)
    assert reserved_capacity(10, 0.02) == ideal_capacity(10, 0.02)


def test_parallelism_is_the_fewest_tasks_that_suffice() -> None:
    assert [parallelism(rows, 500) for rows in (499, 500, 501, 1_000, 1_001)] == [1, 1, 2, 2, 3]
    assert ideal_parallelism(1_250, 500) == 2.5


def test_rounding_errors_cost_no_task() -> None:
    assert parallelism(0.1 + 0.2, 0.1) == 3


def test_no_capacity_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no number of tasks takes 10 rows"):
        parallelism(10, 0)


@pytest.mark.parametrize(
    ("ideal", "beta", "side"),
    [(5.01, 0.8, 1), (5.0, 0.8, 0), (4.0, 0.8, 0), (3.9, 0.8, -1), (0.6, 0.1, 0), (0.4, 0.1, -1)],
)
def test_the_working_interval_reaches_from_beta_k_to_k(
    ideal: float, beta: float, side: int
) -> None:
    assert working_interval(ideal, current=5, beta=beta) == side


def test_the_working_interval_grows_with_the_degree() -> None:
    assert 10 - least_parallelism(10) > 5 - least_parallelism(5)


@given(st.floats(0, 1e9), st.floats(1e-3, 1e9))
def test_parallelism_suffices_and_one_less_does_not(rows: float, per_slot: float) -> None:
    tasks = parallelism(rows, per_slot)
    assert rows <= tasks * per_slot * (1 + 1e-6)
    assert tasks == 1 or rows > (tasks - 1) * per_slot * (1 - 1e-6)
