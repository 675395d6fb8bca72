"""Fuzzy rules: the paper's example, the authors' own decisions, and the policy on a stream."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticity import fuzzy_reference
from elasticity.fluid import Fluid, changes
from elasticity.fuzzy_transitions import TRANSITIONS
from penstock.elasticity.fuzzy import Fuzzy
from penstock.elasticity.fuzzy_rules import (
    Parallelism,
    changed,
    factors,
    next_parallelism,
    speed,
    splitting,
)
from penstock.errors import ConfigurationError

LOG = Path(
    os.environ.get("PENSTOCK_DATA", Path(__file__).parents[3] / "shared/data"),
    "controller/ppq_transitions.csv",
)


@pytest.mark.parametrize(
    ("rho", "fast", "acceptable", "slow"),
    [
        (0.0, 1.0, 0.0, 0.0),
        (0.5, 1.0, 0.0, 0.0),
        (0.6, 0.75, 0.25, 0.0),
        (0.9, 0.0, 1.0, 0.0),
        (1.1, 0.0, 0.5, 0.5),
        (1.3, 0.0, 0.0, 1.0),
        (50.0, 0.0, 0.0, 1.0),
    ],
)
def test_words_for_a_utilisation(rho: float, fast: float, acceptable: float, slow: float) -> None:
    expected = {"fast": fast, "acceptable": acceptable, "slow": slow}
    assert speed(rho) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("sigma", "moderate", "intensive"),
    [(1.0, 1.0, 0.0), (2.0, 1.0, 0.0), (3.0, 2 / 3, 2 / 3), (5.0, 0.0, 1.0), (80.0, 0.0, 1.0)],
)
def test_words_for_splitting(sigma: float, moderate: float, intensive: float) -> None:
    assert splitting(sigma, 59) == pytest.approx({"moderate": moderate, "intensive": intensive})


@pytest.mark.parametrize(
    ("rho_1", "sigma", "rho_2", "expected"),
    [
        (0.6, 1, 0.6, (0.625, 0.625)),
        (1.1, 3, 0.7, (1.25, 0.875)),
        (0.3, 1, 0.3, (0.5, 0.5)),
        (0.9, 1, 0.9, (1.0, 1.0)),
        (0.9, 9, 0.9, (1.25, 1.0)),
        (2.0, 1, 2.0, (1.25, 1.5)),
        (2.0, 1, 0.3, (1.5, 0.75)),
    ],
)
def test_what_the_rules_give(
    rho_1: float, sigma: float, rho_2: float, expected: tuple[float, float]
) -> None:
    assert factors(rho_1, sigma, rho_2) == pytest.approx(expected)


@given(*[st.floats(0, 1e6)] * 3)
def test_nothing_changes_by_more_than_half(rho_1: float, sigma: float, rho_2: float) -> None:
    assert all(0.5 <= factor <= 1.5 for factor in factors(rho_1, sigma, rho_2))


@pytest.mark.parametrize(
    ("degree", "factor", "then"),
    [
        (1, 1.2499, 1), (1, 1.25, 2), (1, 0.5, 1),
        (2, 0.562, 1), (2, 0.563, 2), (2, 1.2499, 2), (2, 1.25, 3),
        (3, 0.792, 2), (3, 0.793, 3), (3, 1.1699, 3), (3, 1.17, 4), (3, 1.5, 5),
        (10, 1.24, 12), (10, 0.56, 6),
    ],
)  # fmt: skip
def test_few_workers_round_by_rules_of_their_own(degree: int, factor: float, then: int) -> None:
    assert changed(degree, factor) == then


def test_a_sum_that_is_too_large_shrinks_in_proportion() -> None:
    assert next_parallelism(Parallelism(20, 20), 2.0, 1, 2.0, most=50) == Parallelism(23, 27)
    assert next_parallelism(Parallelism(20, 20), 2.0, 1, 2.0, most=80) == Parallelism(25, 30)


@given(
    st.integers(1, 58), st.integers(1, 58), *[st.floats(0, 100)] * 3, st.integers(2, 59)
)  # fmt: skip
def test_no_stage_has_none_and_both_fit(
    first: int, second: int, rho_1: float, sigma: float, rho_2: float, most: int
) -> None:
    first, second = min(first, most - 1), min(second, max(1, most - first))
    then = next_parallelism(Parallelism(first, second), rho_1, sigma, rho_2, most)
    assert then.first >= 1
    assert then.second >= 1
    assert then.first + then.second <= most


@pytest.mark.parametrize("row", TRANSITIONS)
def test_some_of_the_authors_own_decisions(
    row: tuple[float, float, float, int, int, int, int],
) -> None:
    rho_1, sigma, rho_2, first, second, *then = row
    now = Parallelism(first, second)
    assert next_parallelism(now, rho_1, sigma, rho_2, most=59) == Parallelism(*then)


@pytest.mark.skipif(not LOG.exists(), reason="the authors' log is not here")
def test_the_authors_own_decisions() -> None:
    with LOG.open() as file:
        logged = list(csv.DictReader(file))
    as_logged = 0
    for row in logged:
        now = Parallelism(int(row["plq_workers"]), int(row["wlq_workers"]))
        then = Parallelism(int(row["next_plq_workers"]), int(row["next_wlq_workers"]))
        inputs = [float(row[name]) for name in ("rho_plq", "splitting", "rho_wlq")]
        given = next_parallelism(now, *inputs, most=59)
        as_logged += given == then
        # The others are ties, which floating point decides: one worker up or down.
        assert abs(given.first - then.first) <= 1
        assert abs(given.second - then.second) <= 1
    assert len(logged) == 8_967
    assert as_logged / len(logged) >= 0.988


inputs = st.floats(0, 3) | st.sampled_from([0.5, 0.6, 0.9, 1.1, 1.3, 12.0])
splittings = st.floats(1, 12) | st.sampled_from([1.0, 2.0, 3.0, 3.5, 5.0])


@given(inputs, splittings, inputs, st.integers(1, 29), st.integers(1, 29))
def test_any_decision_is_as_described(
    rho_1: float, sigma: float, rho_2: float, first: int, second: int
) -> None:
    """Where threads are enough for both: those of 59, as in the log."""
    change_1, change_2 = fuzzy_reference.outputs(rho_1, sigma, rho_2, most=59)
    assert factors(rho_1, sigma, rho_2, most=59) == pytest.approx((change_1, change_2), abs=1e-9)
    ones, others = (
        fuzzy_reference.workers(now, change)
        for now, change in ((first, change_1), (second, change_2))
    )
    then = next_parallelism(Parallelism(first, second), rho_1, sigma, rho_2, most=200)
    assert then.first in ones
    assert then.second in others


@pytest.mark.skipif(not LOG.exists(), reason="the authors' log is not here")
def test_the_description_explains_the_authors_log() -> None:
    """Every logged decision up to ties, where threads were enough: the oracle is the right one."""
    explained = 0
    with LOG.open() as file:
        for row in csv.DictReader(file):
            now = [int(row["plq_workers"]), int(row["wlq_workers"])]
            then = [int(row["next_plq_workers"]), int(row["next_wlq_workers"])]
            told = [float(row[name]) for name in ("rho_plq", "splitting", "rho_wlq")]
            changes = fuzzy_reference.outputs(*told, most=59)
            may = [fuzzy_reference.workers(*each) for each in zip(now, changes, strict=True)]
            if max(may[0]) + max(may[1]) > 59 or max(may[0]) + now[1] > 59:
                continue
            # Inputs are logged with six digits, so that a tie may have gone either way.
            close = [
                abs(count * change - round(count * change * 2) / 2) < 1e-3 * count
                for count, change in zip(now, changes, strict=True)
            ]
            assert all(
                n in m or (near and min(abs(n - each) for each in m) == 1)
                for n, m, near in zip(then, may, close, strict=True)
            )
            explained += 1
    assert explained > 4_000


def burst(second: float) -> float:
    return 800.0 if 60 <= second < 180 else 50.0


class TestPolicy:
    def test_it_follows_a_burst_up_and_down(self) -> None:
        planned = changes(Fluid().run(Fuzzy(interval="5 seconds"), burst, 300.0))
        assert planned[0] == 2
        assert max(planned) >= 8  # 800 rows/s keep 8 slots busy
        assert planned[-1] == 1

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Fuzzy(interval=1, first=("parse",), second=("score",)),
            lambda: Fuzzy(interval=1, second="score"),
            lambda: Fuzzy(interval=1, first=("clicks", "parse")),
        ],
    )
    def test_stages_can_be_named(self, make: Callable[[], Fuzzy]) -> None:
        # 400 rows/s: parse 0.8 slots, score 3.2, of 4 each.
        steps = Fluid(fixed_seconds=0.0).run(make(), lambda second: 400.0, 20.0, slots=8)
        said = [step.decision.reason for step in steps]
        stages = r"the stages use 0\.2\d* and 0\.8\d* of their 4 and 4"
        assert any(re.match(stages, reason) for reason in said)

    def test_by_default_the_topology_is_cut_in_half(self) -> None:
        # The source, whose rows cost nothing, is no stage: the halves are parse and score.
        fluid = Fluid(fixed_seconds=0.0)
        default = fluid.run(Fuzzy(interval=1), lambda second: 400.0, 20.0, slots=8)
        named = fluid.run(Fuzzy(interval=1, second="score"), lambda second: 400.0, 20.0, slots=8)
        assert [step.decision for step in default] == [step.decision for step in named]

    def test_fixed_costs_leave_the_stages_less_time(self) -> None:
        """A batch takes 0.75 s of its 1 s with no rows, and the work is 2 slots': 8 are needed."""
        policy = Fuzzy(interval="5 seconds")
        steps = Fluid(fixed_seconds=0.75).run(policy, lambda second: 200.0, 200.0)
        assert 8 <= steps[-1].decision.slots <= 10
        assert steps[-1].seen.batch_seconds <= 1.0

    @pytest.mark.parametrize("value", [0, -1, "2"])
    def test_splitting_is_a_number(self, value: Any) -> None:
        with pytest.raises(ConfigurationError, match="Fuzzy\\(splitting="):
            Fuzzy(splitting=value)
