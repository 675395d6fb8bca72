from __future__ import annotations

from typing import Any

import pytest

from penstock.elasticity.backlog import Backlog
from penstock.elasticity.intake import Intake
from penstock.errors import ConfigurationError


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"max_rows": 0}, "no number of rows"),
        ({"max_rows": True}, "no number of rows"),
        ({"max_rows": 1.5}, "no number of rows"),
        ({"max_rows": 5, "shed": " "}, "says not what to shed"),
        ({"max_rows": 5, "shed": None}, "says not what to shed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Backlog(**settings)


def test_what_the_choice_needs() -> None:
    kinds = {s: Backlog(1, s) for s in ("oldest", "newest", "random", "-amount")}
    assert [s for s, each in kinds.items() if each.is_by_time] == ["oldest", "newest"]
    assert [s for s, each in kinds.items() if each.is_priority] == ["-amount"]


def test_nothing_is_shed_unless_asked_for() -> None:
    assert not Intake().sheds
    assert Intake(deadline_micros=1).sheds
    assert Intake(backlog=Backlog(1)).sheds
