"""What is kept of preference queries."""

from __future__ import annotations

from penstock.history.preference_seen import MOST_GROUPS, PreferenceSeen
from penstock.journal.window_events import SkylineSeen


def skyline(key: str, y: tuple[float, ...] = (2.0, 1.0), end: float = 60.0) -> SkylineSeen:
    return SkylineSeen(1, "best", 0.0, end, "price", "rating", (1.0, 2.0), y, 2, key)


def test_the_groups_of_the_newest_window_are_kept_each_once() -> None:
    seen = PreferenceSeen()
    for each in (skyline("a", end=30.0), skyline("a"), skyline("b"), skyline("a", (3.0, 1.0))):
        seen.seen(0.0, each)
    assert seen.operators["best"].skyline == (skyline("b"), skyline("a", (3.0, 1.0)))


def test_no_more_groups_are_kept_than_can_be_drawn() -> None:
    seen = PreferenceSeen()
    for number in range(5_000):
        seen.seen(0.0, skyline(f"{number}"))
    kept = seen.operators["best"].skyline
    assert [each.key for each in kept] == [f"{n}" for n in range(MOST_GROUPS)]


def test_points_without_their_other_half_are_not_drawn() -> None:
    seen = PreferenceSeen()
    seen.seen(0.0, skyline("a", (2.0,)))
    assert not seen.operators
