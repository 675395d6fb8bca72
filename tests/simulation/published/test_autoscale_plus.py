"""AutoScale+ as published, against numbers worked out by hand from its equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.errors import ConfigurationError
from penstock.simulation.published.autoscale_plus import PublishedAutoScalePlus

ROW_SECONDS = 0.01


def operator(
    name: str,
    rows: int,
    *,
    tasks: int,
    out: int | None = None,
    inputs: tuple[str, ...] = (),
    waiting: int = 0,
    received: int | None = None,
) -> OperatorObservation:
    """Observe an operator that reads one other, and receives what it takes in unless said."""
    return OperatorObservation(
        name,
        rows,
        rows if out is None else out,
        rows * ROW_SECONDS,
        tasks,
        0.0,
        0.0,
        inputs=inputs,
        waiting_rows=waiting,
        received_rows=(rows if received is None else received,),
    )


def second(
    at: int, operators: Sequence[OperatorObservation], rows: int = 0, cores: int | None = None
) -> Observation:
    return Observation(
        at, float(at), 1.0, None, 1, tuple(operators), (SourceObservation("in", rows),), cores=cores
    )


def alone(
    law: PublishedAutoScalePlus,
    rates: Sequence[int],
    tasks: int,
    *,
    start: int = 0,
    waiting: int = 0,
    cores: int | None = None,
) -> Mapping[str, int]:
    """Ask a law about one operator, second by second; a queue is there all the time."""
    plan: Mapping[str, int] = {}
    for at, rows in enumerate(rates, start=start + 1):
        one = operator("score", rows, tasks=tasks, inputs=("in",), waiting=waiting)
        plan = law.plan(second(at, [one], rows, cores))
    return plan


def test_a_steady_input_takes_what_equations_12_and_13_say() -> None:
    # 280 rows/s x 10 s / (10 s / 0.01 s) = 2.8 executors; 2.8 / (1 - 0.3) = 4 exactly.
    assert alone(PublishedAutoScalePlus(), [280] * 10, tasks=1) == {"score": 4}
    # With a tenth of a row more it is above 4, rounded up.
    assert alone(PublishedAutoScalePlus(), [280] * 9 + [281], tasks=1) == {"score": 5}


def test_a_trend_is_followed_into_the_next_iteration() -> None:
    # 110, 120 ... 200 rows/s: the next ten are 210 ... 300, 2550 rows, 2.55 executors: above 2.
    # 2.55 / 0.7 = 3.64, rounded up.
    growing = [110 + 10 * each for each in range(10)]
    assert alone(PublishedAutoScalePlus(), growing, tasks=2) == {"score": 4}
    # The same rows without their trend, 155 a second on average, keep 2 executors.
    assert alone(PublishedAutoScalePlus(), [155] * 10, tasks=2) == {"score": 2}


def test_growth_by_a_factor_is_forecast_as_such() -> None:
    # Ten times a factor 1.1 are 2.594: 1594 rows become 1594 x 2.594 = 4134, 4.13 / 0.7 = 5.9.
    growing = [round(100 * 1.1**each) for each in range(10)]
    assert alone(PublishedAutoScalePlus(), growing, tasks=1) == {"score": 6}


def test_a_fall_is_never_forecast_below_nothing() -> None:
    # A line through 14,500 ... 5,500 goes on with 4,500 ... 500, 12,500 rows, and then below 0.
    falling = [14_500 - 1_000 * each for each in range(10)]
    assert alone(PublishedAutoScalePlus(), falling, tasks=100) == {"score": 18}


@pytest.mark.parametrize(
    ("rate", "wanted"),
    [(1000, 10), (1001, 15), (800, 10), (799, 10), (699, 10), (690, 10), (620, 9)],
)
def test_within_the_working_interval_nothing_changes(rate: int, wanted: int) -> None:
    """10 executors do 1,000 rows a second; the interval goes down to 800.

    Below it equation 12 decides, and with the margin that is fewer than 10 from 630 on down.
    """
    assert alone(PublishedAutoScalePlus(), [rate] * 10, tasks=10) == {"score": wanted}


def test_beta_and_margin_move_the_interval() -> None:
    sparing = PublishedAutoScalePlus(beta=1.0, margin=0.0)
    assert alone(sparing, [990] * 10, tasks=10) == {"score": 10}
    assert alone(sparing, [890] * 10, tasks=10, start=10) == {"score": 9}
    patient = PublishedAutoScalePlus(beta=0.2, margin=0.0)
    assert alone(patient, [210] * 10, tasks=10) == {"score": 10}
    assert alone(patient, [190] * 10, tasks=10, start=10) == {"score": 2}


def test_rows_that_wait_are_to_be_done_in_the_next_iteration() -> None:
    # 155 rows/s are 1550 rows; 1,000 more that wait all the time make 2.55 executors: 4 with 0.7.
    law = PublishedAutoScalePlus()
    assert alone(law, [155] * 10, tasks=2, waiting=1_000) == {"score": 4}


def test_rows_that_enter_the_queue_count_as_received() -> None:
    """An operator at its limit takes 100 rows a second of 200; the others join its queue."""
    law = PublishedAutoScalePlus(combine="min")
    plan: Mapping[str, int] = {}
    for at in range(1, 11):
        one = operator("score", 100, tasks=1, inputs=("in",), waiting=100 * at, received=200)
        plan = law.plan(second(at, [one], 200))
    # 2,000 rows come, 1,000 wait: 3 executors, 4.3 with the margin.
    assert plan == {"score": 5}


def test_what_comes_in_reaches_every_operator_below() -> None:
    """First grows from 20 rows a second to 200; the others had the mean of it all the time."""
    law = PublishedAutoScalePlus()
    for at in range(1, 11):
        first = operator("first", 20 * at, tasks=4, inputs=("in",))
        then = operator("then", 110, tasks=4, out=55, inputs=("first",))
        last = operator("last", 55, tasks=1, inputs=("then",))
        plan = law.plan(second(at, [last, then, first], 20 * at))
    # 220 ... 400 are 3,100 rows: 3.1 within 4. Half of them reach the last: 1.55 / 0.7 = 2.2.
    assert plan == {"last": 3, "then": 4, "first": 4}


def test_combine_says_which_of_two_estimates_counts() -> None:
    """Parse grows; score still gets 110 rows a second of it."""
    cautious, sparing = PublishedAutoScalePlus(), PublishedAutoScalePlus(combine="min")
    plans = []
    for law in (cautious, sparing):
        for at in range(1, 11):
            rate = 20 * at
            parse = operator("parse", rate, tasks=4, inputs=("in",))
            score = operator("score", 110, tasks=1, inputs=("parse",))
            plan = law.plan(second(at, [parse, score], rate))
        plans.append(plan["score"])
    # parse: 20 ... 200 become 220 ... 400, 3100 rows, all of which score takes: 3.1 / 0.7 = 4.4.
    # score's own history is 110 a second: 1.1 / 0.7 = 1.6.
    assert plans == [5, 2]


def test_a_parent_that_splits_its_output_gives_each_child_its_share() -> None:
    law = PublishedAutoScalePlus()
    for at in range(1, 11):
        rate = 100 + 100 * at  # 200 ... 1,100 become 1,200 ... 2,100: 16,500 rows
        split = operator("split", rate, tasks=20, inputs=("in",))
        some = operator("some", rate // 5, tasks=1, inputs=("split",))
        most = operator("most", rate - rate // 5, tasks=1, inputs=("split",))
        plan = law.plan(second(at, [split, some, most], rate))
    # A fifth, 3,300 rows, take 4.71 with the margin; the others, 13,200, take 18.86.
    assert plan == {"split": 20, "some": 5, "most": 19}


def test_nothing_measured_while_the_system_settles_is_used() -> None:
    law = PublishedAutoScalePlus(settling_seconds=5)
    assert alone(law, [280] * 10, tasks=1) == {"score": 4}
    # For 5 seconds the restart makes all figures odd: nothing of it counts ...
    assert alone(law, [5_000] * 5, tasks=4, start=10) == {"score": 4}
    # ... nor makes an iteration shorter: ten seconds after it the next decision comes.
    assert alone(law, [10] * 9, tasks=4, start=15) == {"score": 4}
    assert alone(law, [10], tasks=4, start=24) == {"score": 1}


def test_samples_before_a_settling_time_do_not_join_those_after_it() -> None:
    without = PublishedAutoScalePlus(settling_seconds=0)
    assert alone(without, [280] * 10, tasks=1) == {"score": 4}
    assert alone(without, [5_000] * 10, tasks=4, start=10) == {"score": 72}


def test_executors_that_share_cores_can_do_less() -> None:
    """Four executors on two cores, all busy: each can use half a core, so 2.2 need 4.4."""
    own, shared = PublishedAutoScalePlus(), PublishedAutoScalePlus(reserved_cpu=0.5)
    # Each executor is busy 55 % of the time: more than half a core, and nobody has any left.
    assert alone(own, [220] * 10, tasks=4) == {"score": 4}
    assert alone(shared, [220] * 10, tasks=4, cores=2) == {"score": 7}


def test_the_cluster_has_only_so_many_executors() -> None:
    law = PublishedAutoScalePlus(most=6)
    for at in range(1, 11):
        first = operator("first", 1_000, tasks=1, out=300, inputs=("in",))
        then = operator("then", 300, tasks=1, inputs=("first",))
        plan = law.plan(second(at, [first, then], 1_000))
    assert plan == {"first": 3, "then": 3}
    assert alone(PublishedAutoScalePlus(most=6), [100_000] * 10, tasks=1) == {"score": 6}


def test_what_no_row_has_told_of_stays_as_it_is() -> None:
    law = PublishedAutoScalePlus()
    assert alone(law, [0] * 10, tasks=3) == {"score": 3}
    assert alone(law, [100] * 10, tasks=3, start=10) == {"score": 2}
    # Once known, a row's cost is remembered, and nothing at all takes one executor.
    assert alone(law, [0] * 20, tasks=2, start=20) == {"score": 1}


def test_an_iteration_may_be_a_single_sample() -> None:
    law = PublishedAutoScalePlus(iteration_seconds=10)
    score = OperatorObservation("score", 2_800, 2_800, 28.0, 1, 0.0, 0.0, inputs=("in",))
    seen = Observation(0, 10.0, 10.0, None, 1, (score,), (SourceObservation("in", 2_800),))
    assert law.plan(seen) == {"score": 4}


@pytest.mark.parametrize(
    "settings",
    [{"beta": 0.0}, {"margin": 1.0}, {"combine": "mean"}, {"most": 0}, {"iteration_seconds": 0}],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="PublishedAutoScalePlus"):
        PublishedAutoScalePlus(**settings)  # type: ignore[arg-type]
