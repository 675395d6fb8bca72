"""Failures and kills that are asked for and could never come: a test would prove nothing."""

from __future__ import annotations

import math

import pytest

from penstock.errors import ConfigurationError
from penstock.testing import fail_at, kill_at


def test_a_micro_batch_that_never_comes_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"fail_at\(batch=-1\) never happens"):
        fail_at("sinks", batch=-1)
    with pytest.raises(ConfigurationError, match=r"kill_at\(batch=-1\) never happens"):
        kill_at("sinks", batch=-1)


@pytest.mark.parametrize("after_seconds", [-1.0, math.nan, math.inf])
def test_a_death_that_nobody_can_wait_for_is_refused(after_seconds: float) -> None:
    with pytest.raises(ConfigurationError, match=r"after_seconds=.* can't work"):
        kill_at("sinks", after_seconds=after_seconds)
