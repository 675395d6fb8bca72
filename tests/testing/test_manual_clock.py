from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from penstock.errors import ConfigurationError
from penstock.testing import ManualClock


def test_it_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    assert clock() == clock() == 1_767_225_600.0
    assert clock.advance("1 minute 30 seconds") == 1_767_225_690.0
    assert clock.advance(timedelta(milliseconds=500)) == clock() == 1_767_225_690.5
    assert clock.set(10) == clock() == 10.0


def test_it_only_advances_forward() -> None:
    clock = ManualClock(5)
    with pytest.raises(ConfigurationError, match="-1 is not a length of time"):
        clock.advance(-1)
    assert clock() == 5.0


def test_no_step_of_any_thread_is_lost() -> None:
    clock = ManualClock()
    threads = [
        threading.Thread(target=lambda: [clock.advance(1) for _ in range(2_000)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clock() == 8_000.0
