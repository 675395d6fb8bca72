from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import ConfigurationError
from penstock.simulation.planner.resampling import block_seconds_of, resampled
from penstock.sources.trace import MICROS, Trace, trace_of_counts


def test_a_day_is_as_long_as_the_trace_and_made_of_its_stretches() -> None:
    trace = trace_of_counts(list(range(1, 101)))

    day = resampled(trace, 10.0, seed=3)

    assert len(day.counts) == 100
    for start in range(0, 100, 10):
        stretch = np.array(day.counts[start : start + 10])
        # One after the other, and from the end on with the start.
        assert set(np.diff(stretch).tolist()) <= {1, -99}
    assert len(set(day.counts)) < 100


def test_the_same_seed_draws_the_same_day_and_another_one_another() -> None:
    trace = trace_of_counts(list(range(1, 101)))

    assert resampled(trace, 10.0, 1) == resampled(trace, 10.0, 1)
    assert resampled(trace, 10.0, 1) != resampled(trace, 10.0, 2)


def test_every_second_is_equally_likely() -> None:
    trace = trace_of_counts([0] * 49 + [100])

    drawn = [resampled(trace, 5.0, seed).rows for seed in range(2_000)]

    # A trace without any row can't be, so that it is one for the nothing in ten stretches.
    nothing = (1 - 1 / 10) ** 10
    assert np.mean(drawn) == pytest.approx(100 * (1 + nothing), rel=0.06)


def test_steps_keep_their_length() -> None:
    trace = Trace((MICROS, 3 * MICROS), (5, 7))

    assert set(zip(*_both(resampled(trace, 2.0, 0)), strict=True)) <= {
        (MICROS, 5),
        (3 * MICROS, 7),
    }


def _both(trace: Trace) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return trace.step_micros, trace.counts


@pytest.mark.parametrize("length", [0.0, -1.0, 61.0, float("nan")])
def test_stretches_that_can_not_be_are_refused(length: float) -> None:
    with pytest.raises(ConfigurationError, match="stretches of"):
        block_seconds_of(trace_of_counts([1] * 60), length)
