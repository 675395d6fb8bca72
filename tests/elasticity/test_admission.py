from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.admission import Admission, AdmissionControl
from penstock.elasticity.batch_cost import BatchCost
from penstock.elasticity.shed_rows import ShedRows
from penstock.errors import ConfigurationError


def fluid(
    control: AdmissionControl,
    seconds_of: Callable[[int, int], float],
    batches: int,
    arriving: int = 10**9,
) -> list[tuple[int, float]]:
    """Feed a controller with batches that cost what ``seconds_of(batch, rows)`` says.

    ``arriving`` rows come for each batch; what the limit leaves waits.
    """
    waiting, seen = 0, []
    for batch in range(batches):
        waiting += arriving
        limit = control.limit
        rows = min(waiting, 1_000 if limit is None else limit)
        waiting -= rows
        taken = seconds_of(batch, rows)
        control.after_batch(rows, taken, waiting)
        seen.append((rows, taken))
    return seen


def test_the_rule_step_by_step() -> None:
    control = AdmissionControl(Admission(kp=0.5, ki=0.2), goal_seconds=8.0)
    assert control.limit is None
    # The first batch is all that is known: 100 rows a second.
    assert control.after_batch(1_000, 10.0).rows == round((100 - 0.2 * 100 * 2 / 8) * 8)  # 760
    assert control.limit == 760
    # Full again, in half of the goal: 190 a second were processed, 95 let in; 2 s owed are paid.
    assert control.after_batch(760, 4.0).rows == round((95 - 0.5 * (95 - 190)) * 8)  # 1140
    # An idle batch changes nothing, and one that was not full can't lower the limit.
    assert control.after_batch(0, 0.1).rows == 1_140
    assert control.after_batch(10, 0.5).rows == 1_140


@given(
    rows_a_second=st.floats(50, 1e6),
    fixed=st.floats(0, 0.45),
    target=st.floats(0.2, 1),
    first=st.integers(1, 10**6),
)
def test_batches_come_to_take_the_target_and_stay_there(
    rows_a_second: float, fixed: float, target: float, first: int
) -> None:
    goal = Admission(target=target).goal_seconds(10.0)
    control = AdmissionControl(Admission(target=target), goal)
    control.after_batch(first, fixed * goal + first / rows_a_second)
    seen = fluid(control, lambda _, rows: fixed * goal + rows / rows_a_second, 60)
    settled = [taken / goal for _, taken in seen[30:]]
    assert all(0.85 < share < 1.1 for share in settled), settled
    sizes = [rows for rows, _ in seen[30:]]
    assert max(sizes) - min(sizes) <= 0.02 * max(sizes) + 2, "it goes up and down"


@given(
    batches=st.lists(
        st.tuples(st.integers(0, 10**12), st.floats(0, 1e6), st.none() | st.integers(0, 10**9)),
        max_size=30,
    ),
    low=st.integers(1, 1_000),
    span=st.integers(0, 10**9),
    kp=st.floats(0, 1),
    ki=st.floats(0, 1),
)
def test_the_limit_is_within_its_bounds_whatever_is_measured(
    batches: list[tuple[int, float, int | None]], low: int, span: int, kp: float, ki: float
) -> None:
    settings = Admission(min_rows=low, max_rows=low + span, kp=kp, ki=ki)
    control = AdmissionControl(settings, 1.0)
    twin = AdmissionControl(settings, 1.0)
    for rows, taken, waiting in batches:
        limit = control.after_batch(rows, taken, waiting)
        assert limit is None or low <= limit.rows <= low + span
        # A twin that lives by what was saved, as after a restart, decides the same.
        assert twin.after_batch(rows, taken, waiting) == limit
        twin = AdmissionControl(settings, 1.0)
        twin.load(json.loads(json.dumps(control.save(), allow_nan=False)))


def test_a_cost_ten_times_as_high_is_followed_within_five_batches() -> None:
    control = AdmissionControl(Admission(), 8.0)
    seen = fluid(control, lambda batch, rows: rows / (10_000 if batch < 20 else 1_000), 30)
    assert seen[19][1] == pytest.approx(8.0, rel=0.02)
    assert seen[20][1] > 40.0, "the batch that was already taken can't be helped"
    assert all(taken < 8.5 for _, taken in seen[25:])
    assert all(taken > 5.0 for _, taken in seen[25:])


def test_time_owed_is_made_up_for_and_does_not_wind_up() -> None:
    control = AdmissionControl(Admission(), 8.0)
    fluid(control, lambda batch, rows: 800.0, 50)  # stuck: whatever is taken, it takes for ever
    assert control.save()["owed_seconds"] <= control.goal_seconds
    control = AdmissionControl(Admission(), 8.0)
    fluid(control, lambda _, rows: rows / 1_000, 10)
    fluid(control, lambda _, rows: 100 + rows / 1_000, 1)
    seen = fluid(control, lambda _, rows: rows / 1_000, 8)
    assert seen[-1][1] == pytest.approx(8.0, rel=0.1)


def test_after_an_idle_time_a_burst_is_let_in_as_before() -> None:
    control = AdmissionControl(Admission(), 8.0)
    fluid(control, lambda _, rows: 0.2 + rows / 1_000, 20)
    before = control.limit
    for _ in range(200):
        control.after_batch(0, 0.2)
    for _ in range(200):
        control.after_batch(3, 0.21)
    assert control.limit == pytest.approx(before, rel=0.01)


def test_from_a_trickle_to_a_flood_takes_a_few_batches() -> None:
    control = AdmissionControl(Admission(), 8.0)
    for _ in range(10):
        control.after_batch(1, 0.2)
    seen = fluid(control, lambda _, rows: 0.2 + rows / 1_000, 6)
    assert seen[-1][1] == pytest.approx(8.0, rel=0.05)
    assert all(taken < 9.0 for _, taken in seen)


def test_where_the_fixed_cost_is_above_the_goal_rows_still_come_through() -> None:
    control = AdmissionControl(Admission(), goal_seconds=0.08)
    seen = fluid(control, lambda _, rows: 0.3 + rows / 10_000, 40)
    assert seen[-1][1] == pytest.approx(0.6, rel=0.1)
    limit = control.after_batch(*seen[-1])
    assert "0.08 s can't be kept" in limit.reason


def test_one_batch_halves_the_limit_or_raises_it_tenfold_at_most() -> None:
    control = AdmissionControl(Admission(), 1.0)
    assert control.after_batch(1_000, 1.0).rows == 1_000
    assert control.after_batch(1_000, 0.001).rows == 10_000
    assert control.after_batch(10_000, 1_000.0).rows == 5_000
    assert AdmissionControl(Admission(), 1.0).after_batch(100, 20.0).rows == 50


def test_a_slow_start_and_a_fixed_cost_near_the_goal_starve_nobody() -> None:
    dice = random.Random(1)
    control = AdmissionControl(Admission(), 1.0)
    control.after_batch(100, 20.0)  # everything is cold
    seen = fluid(control, lambda _, rows: dice.uniform(0.5, 1.2) + rows / 10_000, 60)
    assert sum(rows for rows, _ in seen[20:]) / 40 > 1_000
    assert min(rows for rows, _ in seen) >= 3


def test_rows_that_were_shed_teach_nothing_of_what_rows_cost() -> None:
    control = AdmissionControl(Admission(), goal_seconds=8.0)
    assert control.after_batch(1_000, 8.0).rows == 1_000
    # Nine of ten rows are shed, and a second is enough: 100 rows a second, no 1,000.
    assert control.after_batch(100, 1.0, shed=ShedRows(too_many=900)).rows == 1_000
    assert control.after_batch(0, 0.5, shed=ShedRows(too_many=1_000)).rows == 1_000
    # Nor are they a fixed cost of batches.
    for rows in (10, 20) * 5:
        control.after_batch(rows, 5.0 + rows / 100, shed=ShedRows(too_many=10_000))
    assert control.goal_seconds == 8.0


def test_as_many_rows_more_are_read_as_were_too_old() -> None:
    control = AdmissionControl(Admission(max_rows=2_500), goal_seconds=8.0)
    assert control.after_batch(1_000, 8.0).rows == 1_000
    limit = control.after_batch(0, 0.5, shed=ShedRows(too_old=1_000, too_many=200))
    assert limit is not None
    assert limit.rows == 2_000
    assert limit.reason.endswith("; 1000 rows more, as so many were too old")
    assert control.after_batch(0, 0.5, shed=ShedRows(too_old=2_000)).rows == 2_500
    assert control.limit == 1_000  # of rows that are processed


def test_with_a_deadline_rows_that_are_in_time_get_through_whatever_comes() -> None:
    # 300 rows come in a batch's time, 100 can be processed, and those of 5 batches ago are too old.
    control = AdmissionControl(Admission(), goal_seconds=1.0)
    arrived: list[int] = []
    limit, processed, taken = 100, [], []
    for batch in range(200):
        arrived += [batch] * 300
        read, arrived = arrived[:limit], arrived[limit:]
        rows = sum(batch - came <= 5 for came in read)
        processed.append(rows)
        taken.append(0.01 + rows / 100)
        told = control.after_batch(
            rows, taken[-1], len(arrived), ShedRows(too_old=len(read) - rows)
        )
        limit = told.rows if told else limit
    assert sum(processed[50:]) / 150 > 80, "of the 100 that can be"
    assert max(taken[50:]) < 5


def test_what_a_bound_holds_back_has_not_to_come_back_later() -> None:
    control = AdmissionControl(Admission(kp=0.5, max_rows=100), 1.0)
    for _ in range(20):
        assert control.after_batch(100, 0.01).rows <= 100
    # Let in at 100 a second, processed at 40, and 1 s is owed.
    assert control.after_batch(100, 2.5).rows == round(100 - 0.5 * (100 - 40) - 0.2 * 40)


@pytest.mark.parametrize(
    ("batches", "fixed"),
    [
        # Three pairs tell, each by the line through its two batches; the lowest counts.
        ([(100, 0.6), (1_000, 1.5), (100, 0.7), (1_000, 1.5)], 0.5),
        ([(100, 0.6), (1_000, 1.5), (100, 0.6)], 0.0),
        # Batches of nearly one size tell nothing.
        ([(1_000, 1.0), (900, 0.99), (1_000, 1.0), (900, 0.99)], 0.0),
        # Nor does a larger one that was quicker: its rows were others.
        ([(100, 2.0), (1_000, 1.0), (100, 2.0), (1_000, 1.0)], 0.0),
        # What was learnt stays when batches are of one size.
        ([(100, 0.6), (1_000, 1.5), (100, 0.6), (1_000, 1.5), (1_000, 1.5)], 0.5),
    ],
)
def test_the_fixed_cost_of_a_batch(batches: list[tuple[int, float]], fixed: float) -> None:
    cost = BatchCost()
    for rows, taken in batches:
        cost.learn(rows, taken)
    assert cost.fixed_seconds == pytest.approx(fixed)


def test_noise_does_not_shake_the_limit_far() -> None:
    dice = random.Random(3)
    control = AdmissionControl(Admission(), 8.0)
    seen = fluid(control, lambda _, rows: 0.3 + rows / 1_000 * dice.uniform(0.9, 1.1), 300)
    times = [taken for _, taken in seen[20:]]
    assert 7.0 < sum(times) / len(times) < 8.1
    assert max(times) < 10.0
    assert min(times) > 5.5


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"target": 0}, "share of the trigger"),
        ({"target": 1.5}, "share of the trigger"),
        ({"target": float("nan")}, "share of the trigger"),
        ({"batch": "0 seconds"}, "is no time"),
        ({"kp": -1}, "no gain"),
        ({"ki": 2}, "no gain"),
        ({"min_rows": 0}, "no number of rows"),
        ({"max_rows": 1.5}, "no number of rows"),
        ({"min_rows": 10, "max_rows": 5}, "leaves no limit"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Admission(**settings)


def test_without_a_trigger_a_length_must_be_given() -> None:
    with pytest.raises(ConfigurationError, match=r"trigger='10 seconds'.*batch='5 seconds'"):
        Admission().goal_seconds(None)
    assert Admission(batch="5 seconds").goal_seconds(None) == 5.0


@pytest.mark.parametrize(
    "change",
    [
        {"rate": -1.0},
        {"rate": "fast"},
        {"owed_seconds": None},
        {"owed_seconds": float("inf")},
        {"cost": None},
        {"cost": {"last": [1]}},
        {"cost": {"last": [1], "votes": []}},
        {"cost": BatchCost().save() | {"votes": [float("nan")]}},
    ],
)
def test_a_state_of_another_kind_is_refused(change: dict[str, Any]) -> None:
    control = AdmissionControl(Admission(), 1.0)
    control.after_batch(100, 0.5)
    with pytest.raises(ValueError, match=r"rate|owed|cost"):
        AdmissionControl(Admission(), 1.0).load(control.save() | change)
