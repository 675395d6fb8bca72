from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np
import pytest

from penstock.errors import ConfigurationError
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.laws import Constant
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.planner import CapacityPlan, as_dict, plan_capacity
from penstock.simulation.planner.candidates import POLICIES, Candidate, Room
from penstock.simulation.planner.plan import Tried
from penstock.simulation.planner.search import _Search, ladder
from penstock.simulation.planner.trials import AS_RECORDED, Setting, Trial, run_trial
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.sources.trace import Trace, trace_of_counts

FIXED, PER_ROW = 0.2, 0.005
MECHANISM = MicroBatch(
    most_slots=24,
    costs=BatchCosts(FIXED, task_seconds=0.0, imbalance=1.0),
    executor_seconds=2.0,
)
TOPOLOGY = SimulatedTopology(
    "one",
    (SimulatedSource("rows"),),
    (SimulatedOperator("score", {"rows": 1.0}, Constant(PER_ROW)),),
)


def plan(trace: Trace, target: float, availability: float = 0.99, **more: object) -> CapacityPlan:
    options: dict[str, object] = {"policies": ("static",), "resamples": 4, **more}
    return plan_capacity(
        trace,
        TOPOLOGY,
        target_latency_seconds=target,
        availability=availability,
        mechanism=MECHANISM,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("target", [1.2, 2.0, 4.0])
def test_a_constant_load_takes_as_many_slots_as_can_be_reckoned(target: float) -> None:
    rate, availability = 1_000, 0.99
    found = plan(trace_of_counts([rate] * 20), target, availability)

    # Batches end to end take T = F + rate x T x c / n; latencies are spread over T to 2 T.
    longest = target / (1 + availability)
    slots = ceil(rate * PER_ROW / (1 - FIXED / longest))
    assert found.best.candidate.most == slots
    assert found.best.slot_hours == pytest.approx(slots * 20 / 3_600)
    assert found.best.held == found.best.days == 4
    assert found.sure


def test_a_tighter_target_is_never_cheaper() -> None:
    trace = trace_of_counts([300, 900, 1_500, 600, 200] * 4)
    hours = [plan(trace, target).best.slot_hours for target in (1.0, 2.0, 5.0)]
    asked = [plan(trace, 2.0, share).best.slot_hours for share in (0.9999, 0.8)]

    assert hours == sorted(hours, reverse=True)
    assert asked == sorted(asked, reverse=True)
    assert hours[0] > hours[-1]


def test_the_same_seed_plans_the_same_and_says_it_as_json() -> None:
    trace = trace_of_counts([300, 900, 1_500, 600, 200] * 4)
    first, second = plan(trace, 2.0, seed=7), plan(trace, 2.0, seed=7)

    assert first == second
    told = json.loads(json.dumps(as_dict(first)))
    assert told["best"]["policy"] == f"static:{first.best.candidate.most}"
    assert told["sentence"] == first.sentence
    assert "of 4 resampled days" in first.sentence


@pytest.mark.slow
def test_a_policy_that_follows_is_cheaper_where_the_load_swings() -> None:
    up = np.linspace(200, 1_500, 25)
    trace = trace_of_counts([200] * 20 + [*up, *up[::-1]] + [200] * 20)
    # Days that only begin at another time: the load never jumps.
    found = plan(
        trace,
        5.0,
        0.95,
        policies=("static", "replica-pool"),
        resamples=3,
        confidence=0.6,
        block_seconds=trace.duration_seconds,
    )
    static = plan(trace, 5.0, 0.95, resamples=3, block_seconds=trace.duration_seconds)

    assert found.best.candidate.policy == "replica-pool"
    assert found.best.slot_hours_between.middle < static.best.slot_hours_between.middle


def test_being_surer_costs_more() -> None:
    # One burst leaves more than half of the rows in time with few slots, and several do not.
    trace = trace_of_counts([300] * 60 + [1_200] * 10 + [300] * 50)
    bold = plan(trace, 1.5, 0.5, resamples=8, confidence=0.1, block_seconds=10.0)
    sure = plan(trace, 1.5, 0.5, resamples=8, confidence=1.0, block_seconds=10.0)

    assert 1 <= bold.best.held < 8
    assert sure.best.held == 8
    assert sure.best.slot_hours_between.middle > bold.best.slot_hours_between.middle


def test_a_rung_of_the_ladder_costs_more_and_has_more_to_spare() -> None:
    def trial(slots: int, slow_seconds: float) -> Trial:
        return Trial(Candidate("static", slots, slots, None), -1, 1.0, float(slots), slow_seconds)

    cheap, wasteful, safe = trial(4, 2.0), trial(6, 2.5), trial(9, 1.0)

    assert ladder([safe, wasteful, cheap, trial(4, 2.2)]) == [cheap, safe]


def on_other_days(*found: Trial, surprised: str) -> list[Tried]:
    """Let candidates that kept the target meet 25 days, on which one policy never keeps it."""

    def run(asked: Sequence[tuple[Candidate, int]]) -> Iterator[Trial]:
        for candidate, day in asked:
            yield Trial(candidate, day, float(candidate.policy != surprised), 1.0, 1.0)

    room = Room(2.0, mean_slots=2.0, peak_slots=4.0, least=1, most=8, executor_seconds=2.0)
    search = _Search(run, room, 0.99, 0.9, 25, lambda what, share: None)
    return search.on_other_days(found)


def test_fixed_slots_are_found_where_a_policy_that_follows_is_surprised() -> None:
    # On the trace itself the policy has less latency and costs less.
    follows = Trial(Candidate("replica-pool", 1, 8, None, 0.9, 5.0), AS_RECORDED, 1.0, 1.0, 1.0)
    fixed = Trial(Candidate("static", 6, 6, None), AS_RECORDED, 1.0, 2.0, 1.5)

    tried = on_other_days(follows, fixed, surprised="replica-pool")

    assert {each.candidate.policy: each.held for each in tried} == {"static": 25, "replica-pool": 0}


def test_who_failed_too_often_meets_no_more_days() -> None:
    fixed = Trial(Candidate("static", 6, 6, None), AS_RECORDED, 1.0, 2.0, 1.5)

    (failed,) = on_other_days(fixed, surprised="static")
    (held,) = on_other_days(fixed, surprised="")

    # Three failures of 25 days are one too many, and days come ten at a time.
    assert (failed.held, failed.days) == (0, 10)
    assert (held.held, held.days) == (25, 25)


def test_progress_tells_shares_that_grow_to_one() -> None:
    shares: list[float] = []
    plan(trace_of_counts([500] * 10), 2.0, progress=lambda what, share: shares.append(share))

    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1


@pytest.mark.slow
def test_several_processes_find_the_same() -> None:
    trace = trace_of_counts([300, 900, 1_500, 600, 200] * 4)

    assert plan(trace, 2.0, workers=2) == plan(trace, 2.0, workers=1)


def test_a_target_below_the_fixed_cost_is_refused_with_what_can_be_reached() -> None:
    with pytest.raises(ConfigurationError, match=r"0\.2 s with no rows.*reached is 0\.398 s"):
        plan(trace_of_counts([500] * 10), 0.39)


def test_a_load_that_all_slots_can_not_do_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"keep 30 slots busy on average.*can be 24"):
        plan(trace_of_counts([6_000] * 10), 5.0)


def test_a_target_that_a_peak_rules_out_is_refused_with_what_all_slots_reach() -> None:
    with pytest.raises(ConfigurationError, match=r"With all 24 slots.*Allow more slots"):
        plan(trace_of_counts([100] * 10 + [20_000] * 3 + [100] * 10), 1.0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"target": -1.0}, "latency of -1"),
        ({"target": 2.0, "availability": 1.5}, "availability=1.5 is no share"),
        ({"target": 2.0, "confidence": 0.0}, "confidence=0.0 is no share"),
        ({"target": 2.0, "resamples": 0}, "resamples=0"),
        ({"target": 2.0, "policies": ("magic",)}, "no policy 'magic'"),
    ],
)
def test_what_can_not_be_is_refused(more: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        plan(trace_of_counts([500] * 10), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_that_is_tried_can_be_built(policy: str) -> None:
    candidate = Candidate(policy, 2, 8, 1.0, 0.8, 5.0, 10.0)

    assert type(candidate.build()).__name__.lower() == policy.replace("-", "")


def bursty_day(seed: int, seconds: int = 240) -> Trace:
    """Draw a day of a known law: 10 s long stretches, each quiet or a burst, independently."""
    bursts = np.random.default_rng(seed).random(seconds // 10) < 0.1
    return trace_of_counts(np.repeat(np.where(bursts, 1_200, 300), 10).tolist())


@pytest.mark.slow
def test_how_sure_it_says_it_is_is_how_often_the_target_holds() -> None:
    """Of days of a known law, as many keep the target as the resamples of one of them say."""
    candidate = Candidate("static", 4, 4, 1.0)

    def in_time(day: Trace, number: int) -> float:
        setting = Setting(Load(day), TOPOLOGY, MECHANISM, 2.0, block_seconds=10.0, seed=1_000)
        return run_trial(setting, candidate, number).in_time

    fresh = np.array([in_time(bursty_day(seed), -1) for seed in range(150)])
    asked = float(np.quantile(fresh, 0.3))
    truly = float(np.mean(fresh >= asked))
    said = np.mean(
        [
            np.mean([in_time(bursty_day(1_000 + one), number) >= asked for number in range(15)])
            for one in range(20)
        ]
    )

    assert 0.6 < truly < 0.8
    assert said == pytest.approx(truly, abs=0.2)
