from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from load_fit import power_law
from load_rate import TRIGGER_SECONDS, highest, judged

from penstock.elasticity.observation import Observation, SourceObservation
from penstock.journal import BatchFinished


@given(st.floats(-2, 2), st.floats(0.01, 100))
def test_a_power_law_is_found(slope: float, factor: float) -> None:
    sizes = [1, 2, 4, 8, 16]
    law = power_law(sizes, [factor * size**slope for size in sizes])
    assert law.slope == pytest.approx(slope, abs=1e-5)
    assert law.last_slope == pytest.approx(slope, abs=1e-5)
    assert law.error == pytest.approx(0, abs=1e-5)


def test_error_by_hand() -> None:
    # Logarithms to base 2: x = 0, 1, 2 and y = 0, 2, 1; slope 1/2, squares left 1.5, spread 2.
    law = power_law([1, 2, 4], [1, 4, 2])
    assert (law.slope, law.last_slope) == (0.5, -1.0)
    assert law.error == pytest.approx(np.sqrt(1.5 / 2))


@given(st.floats(20, 100_000), st.floats(50, 1_000))
def test_the_highest_rate_is_close_below_the_limit(limit: float, first: float) -> None:
    found = highest(lambda rate: rate <= limit, first, 1.1)
    if found is None:
        assert limit < first / 8
    else:
        assert limit / 1.1 < found <= limit


def finished(batch_id: int, rows: int, waiting: int) -> BatchFinished:
    source = SourceObservation("sensors", rows, waiting)
    return BatchFinished(Observation(batch_id, 0.0, 1.0, 2.0, slots=2, sources=(source,)))


def test_a_rate_is_held_while_rows_wait_no_longer_than_two_triggers() -> None:
    rows = 100 * TRIGGER_SECONDS
    steady = [finished(n, rows, 0) for n in range(8)]
    assert judged(100.0, steady).is_held
    slow_start = [finished(n, 50 * rows, 0) for n in range(4)] + steady[4:]
    assert judged(100.0, slow_start).is_held
    assert not judged(100.0, [*steady[:7], finished(7, rows, 2 * rows + 1)]).is_held
    assert not judged(100.0, [*steady[:7], finished(7, 2 * rows + 1, 0)]).is_held
    assert not judged(100.0, steady[:2]).is_held
