from __future__ import annotations

import pytest

from penstock.engine.batch_clock import BatchClock
from penstock.preference.utilisation import BatchTime


class Times:
    """A clock that shows one time after the other."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = iter(seconds)

    def __call__(self) -> float:
        return next(self._seconds)


# begin  asked   end  pause  begin  asked
#   0 ---- 3 ---- 4 .......... 10 --- 12
def test_a_batch_has_its_own_time_and_the_pause_before_it() -> None:
    clock = BatchClock(None, Times(0, 3, 4, 10, 12))
    clock.begin()
    assert clock.time(slots=2) == BatchTime(3, 3, 2)
    clock.end()
    clock.begin()
    assert clock.time(slots=2) == BatchTime(6 + 3, 3, 2)  # 2 s, and 1 s to the end as before


@pytest.mark.parametrize("asked", [3, 30])
def test_with_a_trigger_it_has_that(asked: float) -> None:
    clock = BatchClock(5.0, Times(0, asked))
    clock.begin()
    assert clock.time(slots=1) == BatchTime(5.0, asked, 1)
