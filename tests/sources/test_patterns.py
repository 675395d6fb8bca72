from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.sources import Pattern, Ramp, Sine, Spikes, Steady, Steps
from penstock.sources.patterns import trace_of_pattern

rates = st.floats(0, 5_000).map(lambda rate: round(rate, 3))
hundredths = st.integers(50, 5_000)
lengths = hundredths.map(lambda length: length / 100)
patterns: st.SearchStrategy[Pattern] = st.one_of(
    rates.map(Steady),
    st.lists(st.tuples(lengths, rates), min_size=1, max_size=5).map(Steps),
    st.builds(Ramp, rates, rates),
    st.builds(
        lambda mean, part, period: Sine(mean, mean * part, period), rates, st.floats(0, 1), lengths
    ),
    st.builds(
        lambda base, peak, widths: Spikes(base, peak, max(widths) / 100, min(widths) / 100),
        rates,
        rates,
        st.tuples(hundredths, hundredths),
    ),
)


def rate_at(pattern: Any, second: np.ndarray, duration: int) -> np.ndarray:
    """Say each pattern's rate again, straight from its description."""
    match pattern:
        case Steady(rate):
            return np.full_like(second, rate)
        case Steps(steps):
            ends = np.cumsum([length for length, _ in steps])
            step = np.minimum(np.searchsorted(ends, second, side="right"), len(steps) - 1)
            return np.array([rate for _, rate in steps])[step]
        case Ramp(start, end):
            return start + (end - start) * second / duration
        case Sine(mean, amplitude, period):
            return mean + amplitude * np.sin(2 * np.pi * second / period)
        case Spikes(base, peak, every, width):
            return np.where(second % every >= every - width, peak, base)
    raise AssertionError(pattern)


@given(patterns, st.integers(1, 60))
def test_counts_follow_the_rate_and_lose_nothing(pattern: Any, duration: int) -> None:
    assume(pattern.rows_until(np.array([float(duration)]), duration)[0] >= 1)
    counts = trace_of_pattern(pattern, duration).counts
    # Rates jump at whole hundredths of a second, so between the middles of these pieces.
    pieces = 2_000
    middle = (np.arange(duration * pieces) + 0.5) / pieces
    rows_until = rate_at(pattern, middle, duration).cumsum()[pieces - 1 :: pieces] / pieces
    ahead = np.cumsum(counts) - rows_until
    assert ahead.max() < 0.01
    assert ahead.min() > -1.01
    assert min(counts) >= 0


@given(rates.filter(lambda rate: rate > 1), st.integers(1, 500))
def test_a_steady_total_is_exact(rate: float, duration: int) -> None:
    thousandths = round(rate * 1_000)
    assert trace_of_pattern(Steady(rate), duration).rows == thousandths * duration // 1_000


def test_whole_periods_of_a_sine_come_out_at_the_mean() -> None:
    trace = trace_of_pattern(Sine(mean=100, amplitude=100, period_seconds=30), 120)
    assert trace.rows == 12_000
    assert max(trace.counts) - min(trace.counts) > 190


def test_spikes_have_their_height_and_width() -> None:
    counts = trace_of_pattern(Spikes(10, 500, every_seconds=60, width_seconds=5), 120).counts
    assert counts == ((10,) * 55 + (500,) * 5) * 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Steady(-1), "Steady: a rate of -1"),
        (lambda: Steady(float("nan")), "Steady: a rate of nan"),
        (lambda: Steps([]), "no steps"),
        (lambda: Steps([(0, 5)]), "length of a step"),
        (lambda: Steps([(1, -5)]), "a rate of -5"),
        (lambda: Ramp(1, -1), "Ramp: a rate of -1"),
        (lambda: Sine(10, 11, 5), "never negative"),
        (lambda: Sine(10, 5, 0), "period_seconds is 0"),
        (lambda: Spikes(1, 9, 5, 6), "overlap"),
        (lambda: Spikes(1, 9, 0, 0), "every_seconds is 0"),
        (lambda: trace_of_pattern(Steady(1), 0), "duration_seconds is 0"),
        (lambda: trace_of_pattern(Steady(1), 1.5), "whole number of seconds"),  # type: ignore[arg-type]
        (lambda: trace_of_pattern([1, 2], 5), "is not a pattern"),  # type: ignore[arg-type]
        (lambda: trace_of_pattern(Steady(0), 5), "all counts of the trace are 0"),
    ],
)
def test_wrong_patterns_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()
