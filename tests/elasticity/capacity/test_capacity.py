"""From what batches took to the slots that rows will take."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from math import isfinite, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticity.strategies import observations
from penstock.elasticity.capacity import Capacity
from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.errors import ConfigurationError

MS = 1e-3


def operator(
    name: str = "look_up",
    rows: int = 1_000,
    row_seconds: float = 10 * MS,
    tasks: int = 5,
    skew: float = 1.0,
    cpu_share: float | None = None,
) -> OperatorObservation:
    busy = rows * row_seconds
    return OperatorObservation(
        name=name,
        rows_in=rows,
        rows_out=rows,
        busy_seconds=busy,
        tasks=tasks,
        slowest_task_seconds=busy / tasks * skew,
        mean_task_seconds=busy / tasks,
        cpu_seconds=None if cpu_share is None else busy * cpu_share,
    )


def batch(
    *operators: OperatorObservation,
    fixed: float = 0.2,
    slots: int = 5,
    cores: int | None = None,
) -> Observation:
    """A batch in which operators ran one after another, with so much overhead."""
    took = fixed + sum(each.slowest_task_seconds for each in operators)
    return Observation(1, 100.0, took, 10.0, slots=slots, operators=operators, cores=cores)


def learnt(observation: Observation, times: int = 10) -> Capacity:
    capacity = Capacity()
    for _ in range(times):
        capacity.observe(observation)
    return capacity


def test_demand_is_the_slots_with_which_a_batch_fits() -> None:
    capacity = learnt(batch(operator()))
    demand = capacity.demand({"look_up": 4_000}, interval_seconds=10.0)
    assert demand.work_seconds == pytest.approx(40.0)
    assert demand.fixed_seconds + demand.work_seconds / demand.slots == pytest.approx(8.0)
    assert not demand.bound_by_fixed


def test_stages_share_slots_in_time_so_their_works_add_up() -> None:
    capacity = learnt(batch(operator("parse", row_seconds=2 * MS), operator("look_up")))
    demand = capacity.demand({"parse": 1_000, "look_up": 1_000}, interval_seconds=10.0)
    assert demand.work_seconds == pytest.approx(12.0)
    assert demand.by_operator["parse"] == pytest.approx(demand.slots / 6)
    assert sum(demand.by_operator.values()) == pytest.approx(demand.slots)


def test_fixed_costs_raise_the_demand_of_small_loads() -> None:
    dear, cheap = learnt(batch(operator(), fixed=1.0)), learnt(batch(operator(), fixed=0.05))
    rows, interval = {"look_up": 300.0}, 2.0
    assert dear.demand(rows, interval).slots > 1.8 * cheap.demand(rows, interval).slots


def test_where_fixed_costs_alone_fill_the_interval_it_says_so() -> None:
    capacity = learnt(batch(operator(), fixed=3.0))
    demand = capacity.demand({"look_up": 400}, interval_seconds=2.0)
    assert demand.bound_by_fixed
    assert demand.slots == pytest.approx(4.0 / 2.0 / 0.8)


def test_a_fixed_cost_beyond_the_utilisation_but_within_the_interval_still_fits() -> None:
    """2 s of work with 1.7 s of fixed cost in 2 s, of which 1.6 may be used: 0.3 s are left."""
    capacity = learnt(batch(operator(), fixed=1.7), times=40)
    demand = capacity.demand({"look_up": 200}, interval_seconds=2.0)
    assert 1.6 < demand.fixed_seconds < 2.0
    assert not demand.bound_by_fixed
    assert demand.slots == pytest.approx(2.0 / max(2.0 - demand.fixed_seconds, 0.25 * 1.6))


def test_a_higher_fixed_cost_never_takes_fewer_slots_until_nothing_fits() -> None:
    demands = []
    for fixed in range(20, 200, 2):
        capacity = learnt(batch(operator(tasks=1), fixed=fixed / 100), times=40)
        demands.append(capacity.demand({"look_up": 200}, interval_seconds=2.0))
    fits = [each.slots for each in demands if not each.bound_by_fixed]
    assert len(fits) > 80
    assert all(-1e-9 <= after - before < 0.6 for before, after in pairwise(fits))


def test_the_tasks_of_huge_loads_do_not_make_demand_endless() -> None:
    """Starting 1,400 tasks would fill the interval; a quarter is left for the work at least."""
    capacity = learnt(batch(operator()))
    demand = capacity.demand({"look_up": 1e6}, interval_seconds=2.0)
    assert demand.fixed_seconds > 2.0
    assert not demand.bound_by_fixed
    assert demand.slots == pytest.approx(1e4 / (0.25 * 1.6))


def test_uneven_tasks_must_fit_in_the_whole_interval() -> None:
    even, uneven = learnt(batch(operator())), learnt(batch(operator(skew=3.0)))
    assert even.imbalance == pytest.approx(1.0)
    assert uneven.imbalance == pytest.approx(3.0)
    demand = uneven.demand({"look_up": 4_000}, interval_seconds=10.0)
    assert demand.slots > 2 * even.demand({"look_up": 4_000}, interval_seconds=10.0).slots
    assert demand.fixed_seconds + 3.0 * demand.work_seconds / demand.slots == pytest.approx(10.0)


def test_nothing_to_do_takes_no_slots() -> None:
    demand = learnt(batch(operator())).demand({"look_up": 0.0}, interval_seconds=10.0)
    assert (demand.slots, demand.work_seconds) == (0.0, 0.0)


def test_waiting_tasks_are_not_held_back_by_few_cores() -> None:
    """Sixteen tasks on two cores that wait most of their time: each row takes what it took."""
    waiting = learnt(batch(operator(tasks=16, cpu_share=0.02), slots=16, cores=2))
    assert waiting.seconds_per_row("look_up") == pytest.approx(10 * MS)
    assert not waiting.demand({"look_up": 10_000}, interval_seconds=10.0).bound_by_cores


def test_computing_tasks_get_no_more_of_a_core_than_the_others_leave() -> None:
    """Eight tasks on each core that want 0.3 of it get an eighth each (equation 7)."""
    crowded = learnt(batch(operator(tasks=16, cpu_share=0.3), slots=16, cores=2))
    assert crowded.seconds_per_row("look_up") == pytest.approx(10 * MS * 0.3 / 0.125)


def shared(estimated: bool, slots: int, cores: int | None = 2) -> float | None:
    """An operator seen at 8 s of busy time and 0.2 s of CPU for 1,000 rows."""
    filtering = replace(operator(row_seconds=8 * MS, cpu_share=0.025), estimated=estimated)
    return learnt(batch(filtering, slots=slots, cores=cores)).seconds_per_row("look_up")


def test_an_estimate_that_counts_waiting_for_cores_is_not_believed() -> None:
    assert shared(estimated=True, slots=16) == pytest.approx(0.2 * MS)
    assert shared(estimated=False, slots=16) == pytest.approx(8 * MS)
    assert shared(estimated=True, slots=2) == pytest.approx(8 * MS)
    assert shared(estimated=True, slots=16, cores=None) == pytest.approx(8 * MS)


def test_a_batch_whose_slots_are_gone_since_is_learnt_from() -> None:
    lost = learnt(batch(operator(cpu_share=0.9), slots=0, cores=4))
    assert lost.seconds_per_row("look_up") == pytest.approx(10 * MS)


def test_more_cpu_than_the_cores_have_is_said() -> None:
    computing = learnt(batch(operator(tasks=2, cpu_share=1.0), slots=2, cores=2))
    assert not computing.demand({"look_up": 1_000}, interval_seconds=10.0).bound_by_cores
    assert computing.demand({"look_up": 2_000}, interval_seconds=10.0).bound_by_cores


@pytest.mark.parametrize(("rows", "tasks"), [(0, 1), (1, 1), (8, 4), (18, 6), (10_000, 12)])
def test_tasks_are_few_where_work_does_not_pay_for_starting_them(rows: int, tasks: int) -> None:
    """The sum of starting n tasks and doing the work n times as fast is least at the root."""
    capacity = learnt(batch(operator()), times=1)
    assert capacity.task_seconds == pytest.approx(0.005, rel=0.02)
    assert sqrt(18 * 10 * MS / 0.005) == pytest.approx(6)
    assert capacity.tasks({"look_up": rows}, slots=12) == {"look_up": tasks}


def test_an_operator_never_seen_gets_all_slots_and_counts_no_work() -> None:
    capacity = Capacity()
    assert capacity.seconds_per_row("new") is None
    assert capacity.tasks({"new": 5}, slots=7) == {"new": 7}
    assert capacity.demand({"new": 5}, interval_seconds=10.0).slots == 0.0


def test_what_happened_before_the_first_batch_is_no_batch() -> None:
    capacity = Capacity()
    capacity.observe(Observation(-1, 0.0, 0.0, None, slots=2))
    assert capacity.save() == Capacity().save()


@pytest.mark.parametrize(("interval", "utilisation"), [(0, 0.8), (-1, 0.8), (10, 0), (10, 1.2)])
def test_impossible_intervals_are_refused(interval: float, utilisation: float) -> None:
    with pytest.raises(ConfigurationError, match="Give an interval over 0 seconds"):
        Capacity().demand({}, interval, utilisation=utilisation)


names = ("parse", "enrich", "score")
loads = st.dictionaries(st.sampled_from((*names, "new")), st.floats(0, 1e9))


@settings(max_examples=40)
@given(st.lists(observations(), max_size=5), loads, st.floats(0.1, 600), st.integers(1, 128))
def test_for_whatever_was_seen_demand_is_finite_and_tasks_are_possible(
    seen: list[Observation], rows: dict[str, float], interval: float, slots: int
) -> None:
    capacity = Capacity()
    for each in seen:
        capacity.observe(each)
    demand = capacity.demand(rows, interval)
    numbers = [demand.slots, demand.work_seconds, demand.fixed_seconds]
    assert all(isfinite(number) and number >= 0 for number in numbers)
    assert sum(demand.by_operator.values()) == pytest.approx(demand.slots)
    assert all(1 <= tasks <= slots for tasks in capacity.tasks(rows, slots).values())
    assert 1.0 <= capacity.imbalance <= 10.0


@settings(max_examples=40)
@given(st.lists(observations(), max_size=5), loads, st.floats(1, 10))
def test_more_rows_never_take_fewer_slots(
    seen: list[Observation], rows: dict[str, float], factor: float
) -> None:
    capacity = Capacity()
    for each in seen:
        capacity.observe(each)
    more = {name: factor * count for name, count in rows.items()}
    some = capacity.demand(rows, 10.0).slots
    assert capacity.demand(more, 10.0).slots >= some * (1 - 1e-9)


@settings(max_examples=40)
@given(st.lists(observations(), max_size=4), st.lists(observations(), max_size=4))
def test_what_was_saved_goes_on_as_before(
    before: list[Observation], after: list[Observation]
) -> None:
    capacity, restored = Capacity(), Capacity()
    for each in before:
        capacity.observe(each)
    restored.load(json.loads(json.dumps(capacity.save(), allow_nan=False)))
    for each in after:
        capacity.observe(each)
        restored.observe(each)
    assert restored.save() == capacity.save()


@pytest.mark.parametrize("state", [{}, {"costs": 3}, Capacity().save() | {"fixed": [1.0]}])
def test_a_state_of_another_kind_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no saved capacity"):
        Capacity().load(state)
