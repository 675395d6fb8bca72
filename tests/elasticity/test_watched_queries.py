"""Several queries on one pool of slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, SourceObservation
from penstock.elasticity.query_progress import QueryProgress
from penstock.elasticity.static import Static
from penstock.elasticity.watched_queries import Pool, WatchedQueries
from penstock.errors import ConfigurationError


def report(run: str, start: float = 0.0, seconds: float = 1.0, rows: int = 10) -> QueryProgress:
    sources = (SourceObservation("source", rows),)
    return QueryProgress(f"id of {run}", run, run, 0, start, seconds, sources)


def unknown() -> tuple[bool, float | None]:
    return False, None


def watching(pool: Pool, **slots: int) -> WatchedQueries:
    queries = WatchedQueries(Static())
    for run, count in slots.items():
        queries.begin(report(run), pool, unknown).decision = Decision(count, "as told")
    return queries


def test_what_all_queries_want_is_added_up() -> None:
    assert watching(Pool(4), a=3, b=5).planned(Pool(4)) == 8
    assert watching(Pool(4), a=3, b=5).planned(Pool(4, most_slots=6)) == 6


def test_without_queries_one_slot_is_enough() -> None:
    assert WatchedQueries(Static()).planned(Pool(9)) == 1


def test_a_query_that_ends_leaves_its_slots() -> None:
    queries = watching(Pool(8), a=3, b=5)
    ended = queries.end("b")
    assert ended is not None
    assert ended.progress.title == "b"
    assert (queries.planned(Pool(8)), queries.share("a", 8)) == (3, 8)
    assert queries.end("b") is None


def test_slots_are_shared_by_what_each_wants() -> None:
    queries = watching(Pool(8), a=2, b=6)
    assert (queries.share("a", 8), queries.share("b", 8)) == (2, 6)
    assert (queries.share("a", 4), queries.share("b", 4)) == (1, 3)
    assert (queries.share("a", 16), queries.share("b", 16)) == (4, 12)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(1, 60))
def test_shares_add_up_to_the_slots(wanted: list[int], slots: int) -> None:
    queries = watching(Pool(slots), **{f"q{n}": each for n, each in enumerate(wanted)})
    shares = [queries.share(f"q{n}", slots) for n in range(len(wanted))]
    assert min(shares) >= 1
    if slots >= sum(wanted):
        assert sum(shares) == slots


def test_policies_that_keep_what_they_have_keep_the_pool() -> None:
    pool = Pool(8, most_slots=100)
    queries = WatchedQueries(Static())
    for run in ("a", "b", "c"):
        queries.begin(report(run), pool, unknown)
    for _ in range(5):
        for run in ("a", "b", "c"):
            query = queries.by_run[run]
            query.decision = query.policy.decide(queries.see(report(run), pool))
        assert queries.planned(pool) <= 10  # 8, and one for each that came when none was left


def test_every_query_has_a_policy_of_its_own() -> None:
    policy = AutoScalePlus()
    queries = WatchedQueries(policy)
    pool = Pool(4, most_slots=20)
    first = queries.begin(report("a"), pool, unknown)
    second = queries.begin(report("b"), pool, unknown)
    fresh = second.policy.save()  # type: ignore[attr-defined]
    for start in range(20):
        first.policy.decide(queries.see(report("a", start=10.0 * start, rows=900), pool))
    assert second.policy.save() == fresh  # type: ignore[attr-defined]
    assert first.policy.save() != fresh  # type: ignore[attr-defined]
    assert policy.save() == AutoScalePlus().save()


@dataclass(frozen=True)
class NoDecision:
    tasks: dict[str, int] = field(default_factory=dict)


@pytest.mark.parametrize("answer", [None, 4, NoDecision()])
def test_a_policy_that_begins_with_no_decision_is_not_taken_up(answer: Any) -> None:
    class Odd:
        def decide(self, observation: Observation) -> Decision:
            return answer  # type: ignore[no-any-return]

    queries = WatchedQueries(Odd())
    with pytest.raises(ConfigurationError, match=f"returned an? {type(answer).__name__}"):
        queries.begin(report("a"), Pool(4), unknown)
    assert (dict(queries.by_run), queries.planned(Pool(4))) == ({}, 1)


def test_a_policy_may_not_have_what_others_want() -> None:
    pool = Pool(8, most_slots=10)
    queries = watching(pool, a=3, b=5)
    assert queries.see(report("a"), pool).most_slots == 5
    assert watching(pool, a=3, b=50).see(report("a"), pool).slots == 1


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [(lambda: (True, 7.0), 7.0), (lambda: (True, None), None), (unknown, 10.0)],
)
def test_a_trigger_is_asked_for_first_and_guessed_only_then(
    trigger: Callable[[], tuple[bool, float | None]], expected: float | None
) -> None:
    queries = WatchedQueries(Static())
    queries.begin(report("a"), Pool(4), trigger)
    seen: Observation | None = None
    for number in range(6):
        seen = queries.see(report("a", start=10.0 * number), Pool(4))
    assert seen is not None
    assert seen.trigger_seconds == expected
