"""What is believed of what was measured, and when."""

from __future__ import annotations

import json

import pytest

from penstock.elasticity.forecast.samples import Samples


def steady(seconds: int = 20, rate: float = 100.0) -> Samples:
    samples = Samples(60.0)
    for second in range(seconds):
        samples.add(float(second), rate)
    return samples


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -1.0, 1e300])
def test_what_is_no_rate_is_no_sample(rate: float) -> None:
    samples = steady()
    assert samples.add(20.0, rate) == []
    assert samples.add(float("nan"), 100.0) == []
    assert len(samples) == 20


@pytest.mark.parametrize("wild", [10_000.0, 401.0, 24.0, 0.0])
def test_one_wild_sample_is_forgotten(wild: float) -> None:
    samples = steady()
    assert samples.add(20.0, wild) == []
    assert [each.rate for each in samples.add(21.0, 110.0)] == [110.0]
    assert samples.rates[-2:] == [100.0, 110.0]


@pytest.mark.parametrize("wild", [10_000.0, 0.0])
def test_two_in_a_row_are_believed(wild: float) -> None:
    samples = steady()
    assert samples.add(20.0, wild) == []
    assert [each.rate for each in samples.add(21.0, wild)] == [wild, wild]
    assert samples.times[-2:] == [20.0, 21.0]


def test_far_above_and_then_far_below_confirm_nothing() -> None:
    samples = steady()
    samples.add(20.0, 10_000.0)
    assert samples.add(21.0, 0.0) == []
    assert [each.rate for each in samples.add(22.0, 100.0)] == [100.0]


@pytest.mark.parametrize("rate", [390.0, 26.0])
def test_a_jump_within_a_factor_of_four_is_believed_at_once(rate: float) -> None:
    assert [each.rate for each in steady().add(20.0, rate)] == [rate]


def test_a_stream_that_wakes_up_is_believed_at_once() -> None:
    assert [each.rate for each in steady(rate=0.0).add(20.0, 5_000.0)] == [5_000.0]


def test_a_time_that_runs_back_is_ignored_once() -> None:
    samples = steady()
    assert samples.add(5.0, 100.0) == []
    assert [each.at_seconds for each in samples.add(20.0, 100.0)] == [20.0]


def test_a_clock_set_back_goes_on_from_there() -> None:
    samples = steady()
    samples.add(-3_600.0, 100.0)
    samples.add(-3_599.0, 110.0)
    samples.add(-3_598.0, 120.0)
    assert samples.rates[-2:] == [110.0, 120.0]
    assert samples.times[-3:] == pytest.approx([19.0, 20.0, 21.0])


def test_samples_at_one_time_are_averaged() -> None:
    samples = steady(2)
    for rate in (200.0, 300.0):
        assert samples.add(1.0, rate) == []
    assert samples.rates == [100.0, 200.0]


def test_frequent_samples_are_averaged_into_few() -> None:
    samples = Samples(60.0)
    for tenth in range(3_000):
        samples.add(tenth / 10, float(tenth))
    assert len(samples) <= 64
    assert samples.times[0] == pytest.approx(240.0, abs=4)
    assert samples.now == pytest.approx(2_990, abs=15)


def test_rare_samples_are_kept_beyond_the_window() -> None:
    samples = Samples(60.0)
    for number in range(20):
        samples.add(300.0 * number, 100.0)
    assert len(samples) == 8
    assert samples.step_seconds == pytest.approx(300.0)


def test_a_long_gap_begins_anew() -> None:
    samples = steady()
    samples.add(500.0, 200.0)
    assert (samples.times, samples.rates) == ([500.0], [200.0])
    assert samples.step_seconds < 3.0


def test_a_short_gap_does_not() -> None:
    samples = steady()
    (sample,) = samples.add(30.0, 200.0)
    assert sample.steps == pytest.approx(11.0)
    assert len(samples) == 21


def test_now_is_not_moved_by_one_sample() -> None:
    samples = steady()
    samples.add(20.0, 300.0)
    assert samples.now == 100.0
    samples.add(21.0, 300.0)
    assert samples.now == 300.0
    assert Samples(60.0).now == 0.0


def test_what_was_saved_goes_on_as_before() -> None:
    samples = steady()
    samples.add(20.0, 10_000.0)
    samples.add(3.0, 100.0)
    restored = Samples(60.0)
    restored.load(json.loads(json.dumps(samples.save())))
    for each in (samples, restored):
        each.add(4.0, 9_000.0)
    assert restored.save() == samples.save()
    assert restored.rates[-2:] == [10_000.0, 9_000.0]
