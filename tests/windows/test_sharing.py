"""Split or combine: what each costs, and when to switch."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.sharing import (
    BatchPartials,
    SharingCosts,
    SharingRule,
    SharingState,
    cost_combined,
    cost_split,
    expected_combined,
)

COSTS = SharingCosts(
    exchange_rows=1,
    write_rows=2,
    read_rows=1,
    handed_rows=0,
    stage_rows=1_000,
)
CROWDED = BatchPartials(rows=1_000_000, tasks=50, task_partials=50_000, reads=3)
SPREAD = BatchPartials(rows=50_000, tasks=50, task_partials=50_000, reads=3)


def test_costs_by_hand() -> None:
    measured = BatchPartials(1_000, 4, task_partials=400, combined_partials=100, reads=3)
    assert cost_split(measured, COSTS) == 400 * (2 + 3)
    assert cost_combined(measured, COSTS) == 400 + 1_000 + 100 * (2 + 3)


def test_rows_are_handed_over_to_an_aggregate_of_their_own_where_they_stay() -> None:
    costs = replace(COSTS, handed_rows=0.5)
    measured = BatchPartials(1_000, 4, task_partials=400, combined_partials=100, reads=3)
    assert cost_split(measured, costs) == 500 + 400 * (2 + 3)
    assert cost_combined(measured, costs) == cost_combined(measured, COSTS)


def test_many_reads_are_worth_an_exchange_and_few_are_not() -> None:
    """As measured: 300,000 rows of 30,000 keys in windows of five panes, or of one."""
    often = BatchPartials(300_000, 4, 137_711, combined_partials=86_795, reads=5)
    assert cost_combined(often, SharingCosts()) < cost_split(often, SharingCosts())
    once = replace(often, reads=1)
    assert cost_split(once, SharingCosts()) < cost_combined(once, SharingCosts())


def test_seen_from_split_the_keys_are_estimated_from_what_a_task_met() -> None:
    # 50 tasks met 1,000 keys each in 20,000 rows: there are no more keys than these.
    assert expected_combined(CROWDED) == pytest.approx(1_000, rel=1e-3)
    # Each row had a key of its own: there is nothing to bring together.
    assert expected_combined(SPREAD) == 50_000


def test_what_is_known_of_the_keys_bounds_the_estimate() -> None:
    assert expected_combined(BatchPartials(50_000, 50, 50_000, pane_keys=700)) == 700
    assert expected_combined(BatchPartials(50_000, 50, 50_000, pane_keys=70_000)) == 50_000


@given(st.integers(1, 40), st.integers(5, 2_000), st.integers(1, 200), st.integers(0, 9))
def test_the_estimate_is_close_for_keys_drawn_evenly(
    tasks: int, keys: int, rows_per_task: int, seed: int
) -> None:
    chance = random.Random(seed)
    met = [{chance.randrange(keys) for _ in range(rows_per_task)} for _ in range(tasks)]
    batch = BatchPartials(tasks * rows_per_task, tasks, sum(len(some) for some in met))
    estimate, truth = expected_combined(batch), len(set.union(*met))
    assert max(len(some) for some in met) * 0.5 <= estimate <= batch.task_partials
    if batch.rows - batch.task_partials > 100:  # enough rows met a key again to tell
        assert estimate == pytest.approx(truth, rel=0.35)


def test_switches_after_three_periods_in_a_row() -> None:
    rule, state = SharingRule(period=2, votes=3, costs=COSTS), SharingState()
    told = []
    for _ in range(8):
        state, decision = rule.observe(state, CROWDED)
        told.append(None if decision is None else (decision.mode, decision.is_switch))
    stay, switch = ("split", False), ("combined", True)
    assert told == [None, stay, None, stay, None, switch, None, ("combined", False)]


def test_switches_back_when_exchanging_no_longer_pays() -> None:
    rule, state = SharingRule(period=1, votes=2, costs=COSTS), SharingState("combined")
    measured = BatchPartials(50_000, 50, 50_000, combined_partials=49_000, reads=1)
    for _ in range(2):
        state, decision = rule.observe(state, measured)
    assert decision is not None
    assert (decision.mode, decision.is_switch, state.mode) == ("split", True, "split")


@pytest.mark.parametrize("restarts", [False, True])
def test_skewed_keys_do_not_make_it_go_back_and_forth(restarts: bool) -> None:
    # Seen from split, combining would leave 4,500 of 48,000 partials; in truth it leaves 40,000.
    split = BatchPartials(rows=80_000, tasks=16, task_partials=48_000, reads=2)
    combined = BatchPartials(80_000, 16, 48_000, combined_partials=40_000, reads=2)
    assert cost_combined(split, COSTS) < 0.8 * cost_split(split, COSTS)
    assert cost_split(split, COSTS) < 0.95 * cost_combined(combined, COSTS)
    rule, state, switches = (
        SharingRule(period=2, votes=2, margin=0.05, costs=COSTS),
        SharingState(),
        [],
    )
    for _ in range(200):
        batch = split if state.mode == "split" else combined
        state, decision = rule.observe(state, batch)
        if restarts:
            state = SharingState.from_json(json.loads(json.dumps(state.to_json())))
        if decision is not None and decision.is_switch:
            switches.append(decision.mode)
    assert switches == ["combined", "split"]  # tried once, measured, and never again


def test_one_period_to_the_contrary_starts_the_count_again() -> None:
    rule, state = SharingRule(period=1, votes=2, costs=COSTS), SharingState()
    for batch in (CROWDED, SPREAD, CROWDED):
        state, _ = rule.observe(state, batch)
    assert state.mode == "split"
    assert state.votes == 1


def test_a_difference_within_the_margin_is_no_reason() -> None:
    even = BatchPartials(
        rows=10_000, tasks=2, task_partials=5_000, combined_partials=3_400, reads=3
    )
    assert cost_combined(even, COSTS) < cost_split(even, COSTS)
    rule, state = SharingRule(period=1, votes=1, margin=0.2, costs=COSTS), SharingState()
    assert rule.observe(state, even)[0].mode == "split"
    eager = SharingRule(period=1, votes=1, margin=0.0, costs=COSTS)
    assert eager.observe(state, even)[0].mode == "combined"


def test_batches_without_rows_say_nothing() -> None:
    rule, state = SharingRule(period=2, votes=2, costs=COSTS), SharingState(votes=1)
    empty = BatchPartials(rows=0, tasks=1, task_partials=0)
    for _ in range(2):
        state, decision = rule.observe(state, empty)
        assert decision is None
    assert state == SharingState(votes=1)
    state, _ = rule.observe(state, empty)
    state, decision = rule.observe(state, CROWDED)
    assert decision is not None
    assert decision.cost_split == cost_split(CROWDED, COSTS)  # the mean of batches with rows
    assert state.mode == "combined"


def test_says_why() -> None:
    rule, state = SharingRule(period=1, votes=2, costs=COSTS), SharingState()
    state, first = rule.observe(state, CROWDED)
    _, second = rule.observe(state, CROWDED)
    _, spread = rule.observe(SharingState(), SPREAD)
    assert first is not None
    assert second is not None
    assert spread is not None
    costs = "combined would cost 56,000 rows a batch, split costs 250,000"
    assert first.reason == f"stay split for now: {costs}, 1 of 2 periods in a row"
    assert second.reason == f"switch to combined: {costs}, 2 periods in a row"
    assert spread.reason == (
        "stay split: combined would cost 301,000 rows a batch, split costs 250,000; "
        "a switch needs 10% less"
    )


batches = st.builds(
    lambda rows, tasks, share, reads: BatchPartials(rows, tasks, int(rows * share), None, reads),
    st.integers(0, 10**7),
    st.integers(1, 64),
    st.floats(0, 1),
    st.floats(0, 50),
)


@given(st.lists(batches, max_size=30), st.integers(0, 30))
def test_goes_on_alike_after_a_restart(seen: list[BatchPartials], stop: int) -> None:
    rule = SharingRule(period=3, votes=2)
    whole, broken = SharingState(), SharingState()
    for at, batch in enumerate(seen):
        if at == stop:
            broken = SharingState.from_json(json.loads(json.dumps(broken.to_json())))
        whole, told = rule.observe(whole, batch)
        broken, told_again = rule.observe(broken, batch)
        assert told == told_again
    assert whole == broken


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"mode": "both"}, ValueError),
        ({"votes": 1.5}, TypeError),
        ({"batches": True}, TypeError),
        ({"batches_with_rows": -1}, ValueError),
        ({"sum_split": "9"}, TypeError),
        ({"sum_combined": float("nan")}, ValueError),
        ({"learned": -0.5}, ValueError),
        ({"learned": "1"}, TypeError),
    ],
)
def test_a_wrong_record_is_refused(wrong: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        SharingState.from_json({**SharingState().to_json(), **wrong})


def test_a_record_without_a_field_is_refused() -> None:
    with pytest.raises(KeyError):
        SharingState.from_json({"mode": "split"})


@pytest.mark.parametrize("wrong", [{"period": 0}, {"votes": 0}, {"margin": 1.0}, {"margin": -0.1}])
def test_an_impossible_rule_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="period"):
        SharingRule(**wrong)  # type: ignore[arg-type]


def test_an_impossible_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="tasks"):
        BatchPartials(rows=1, tasks=0, task_partials=0)
