"""Key groups in few words are the same groups."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from penstock.placement.group_ranges import in_ranges

GROUPS = st.lists(st.integers(0, 300))


def read(text: str) -> list[int]:
    found: list[int] = []
    for piece in filter(None, text.split(", ")):
        first, last, step = re.fullmatch(r"(\d+)(?:–(\d+))?(?: by (\d+))?", piece).groups()  # type: ignore[union-attr]
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return found


@given(GROUPS)
def test_they_say_which_groups_there_are(groups: list[int]) -> None:
    assert read(in_ranges(groups, most=1_000)) == sorted(set(groups))


@given(GROUPS, st.integers(1, 5))
def test_they_are_never_long_and_say_how_many_are_left_out(groups: list[int], most: int) -> None:
    text, _, left = in_ranges(groups, most).partition(" and ")
    told = read(text)
    assert text.count(", ") < most
    assert told == sorted(set(groups))[: len(told)]
    assert left == (f"{len(set(groups)) - len(told)} more" if len(told) < len(set(groups)) else "")


@given(st.integers(1, 40), st.integers(3, 400))
def test_groups_that_are_dealt_in_turn_are_one_range(tasks: int, groups: int) -> None:
    for task in range(min(tasks, groups)):
        own = list(range(task, groups, tasks))
        assert in_ranges(own).count(", ") <= (1 if len(own) < 3 else 0)
