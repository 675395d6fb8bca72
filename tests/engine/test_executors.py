from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.executors import (
    Executor,
    ExecutorBounds,
    ExecutorLedger,
    Overdue,
    SlotCounts,
    executors_for,
)
from penstock.errors import ConfigurationError


def some(*names: str, slots: int = 1, **more: int) -> dict[str, Executor]:
    return {name: Executor(name, "host", slots, **more) for name in names}


def ledger(*names: str, warm: bool = True, most: int = 8) -> ExecutorLedger:
    books = ExecutorLedger(ExecutorBounds(least=1, most=most, slots_each=1))
    books.plan(max(1, len(names)))
    books.see(some(*names))
    if warm:
        books.count_as_warm(names)
    return books


@given(st.integers(1, 1_000), st.integers(1, 64))
def test_executors_are_enough_and_not_one_too_many(slots: int, each: int) -> None:
    n = executors_for(slots, each)
    assert (n - 1) * each < slots <= n * each


@given(st.integers(1, 100), st.integers(0, 100), st.integers(1, 64))
def test_whole_executors_stay_within_the_slots_of_the_user(
    least: int, more: int, each: int
) -> None:
    most = least + more
    fits = [n for n in range(1, most + 1) if least <= n * each <= most]
    if not fits:
        with pytest.raises(ConfigurationError, match=f"an executor has {each} slots"):
            ExecutorBounds.within(least, most, each)
        return
    bounds = ExecutorBounds.within(least, most, each)
    assert (bounds.least, bounds.most, bounds.most_slots) == (fits[0], fits[-1], fits[-1] * each)


def test_bounds_within_one_executor_are_refused_with_two_ways_out() -> None:
    with pytest.raises(ConfigurationError) as refused:
        ExecutorBounds.within(5, 7, slots_each=4)
    assert "ExecutorSlots(min=4, max=7) or ExecutorSlots(min=5, max=8)" in str(refused.value)


def test_a_new_executor_counts_when_it_is_warm_and_not_before() -> None:
    books = ledger("0")
    books.plan(3)
    assert books.see(some("0", "1", "2")).came == ("1", "2")
    assert books.available_slots == 1
    assert [executor.id for executor in books.cold] == ["1", "2"]
    books.count_as_warm(["2"])
    assert books.available_slots == 2
    assert books.counts == SlotCounts(planned=3, requested=0, observed=3, warm=2)


def test_a_smaller_plan_takes_slots_away_at_once_and_a_larger_one_gives_them_back() -> None:
    books = ledger("0", "1", "2", "3")
    books.plan(2)
    assert books.available_slots == 2
    assert books.leaving == {"2", "3"}  # the youngest go
    assert books.counts.observed == 4
    books.plan(3)
    assert (books.available_slots, books.leaving) == (3, {"3"})
    books.plan(9)
    assert (books.available_slots, books.leaving) == (4, frozenset())
    assert books.planned == 8


def test_one_that_was_released_does_not_come_back() -> None:
    books = ledger("0", "1", "2")
    books.plan(1)
    books.has_released(["2"])
    books.plan(3)
    assert books.staying == {"0", "1"}
    assert books.missing == 1
    change = books.see(some("0", "1"))
    assert (change.went, change.lost) == (("2",), ())
    assert books.released == frozenset()


def test_one_that_ends_unasked_is_lost_and_missed() -> None:
    books = ledger("0", "1", "2")
    change = books.see(some("0", "2"))
    assert (change.went, change.lost) == ((), ("1",))
    assert (books.available_slots, books.missing) == (2, 1)


def test_one_that_ends_while_leaving_is_not_missed() -> None:
    books = ledger("0", "1", "2")
    books.plan(1)
    books.has_released(["2"])
    change = books.see(some("0"))
    assert (change.went, change.ended, change.lost) == (("2",), ("1",), ())
    assert books.missing == 0


def test_the_cold_the_empty_and_the_idle_leave_first() -> None:
    books = ExecutorLedger(ExecutorBounds(least=1, most=8, slots_each=1))
    books.plan(5)
    there = some("4", running_tasks=1) | some("1", cached_blocks=2) | some("0", "2", "3")
    books.see(there)
    books.count_as_warm(["0", "1", "2", "4"])
    order = []
    for plan in (4, 3, 2, 1):
        before = books.leaving
        books.plan(plan)
        order += sorted(books.leaving - before)
    assert order == ["3", "2", "0", "4"]


def test_what_comes_when_it_is_no_longer_wanted_leaves_and_never_counts() -> None:
    books = ledger("0")
    books.plan(3)
    books.plan(1)
    books.see(some("0", "1", "2"))
    assert (books.leaving, books.available_slots, books.cold) == ({"1", "2"}, 1, ())


def test_those_that_are_ready_are_the_first_to_be_kept_after_all() -> None:
    books = ledger("0", "1", "2", warm=False)
    books.count_as_warm(["2"])
    books.plan(1)
    assert books.staying == {"2"}
    books.count_as_warm(["1"])  # it became ready while it was leaving
    books.plan(2)
    assert books.staying == {"1", "2"}


def test_one_that_was_lost_is_cold_when_it_comes_again() -> None:
    books = ledger("0", "1")
    books.see(some("0"))
    books.see(some("0", "1"))
    assert [executor.id for executor in books.cold] == ["1"]


def test_numbers_order_executors_and_names_do_where_there_are_none() -> None:
    books = ledger("9", "10", "exec-b", "exec-a")
    change = books.see({})
    assert change.lost == ("9", "10", "exec-a", "exec-b")


def test_there_is_always_a_slot_to_plan_with() -> None:
    books = ledger()
    assert books.available_slots == 1
    assert books.counts.warm == 0


def test_slots_are_those_an_executor_has() -> None:
    books = ExecutorLedger(ExecutorBounds(least=1, most=3, slots_each=4))
    books.plan(9)
    assert books.planned == 3
    books.see(some("0", "1", slots=4))
    books.count_as_warm("01")
    assert books.counts == SlotCounts(planned=12, requested=0, observed=8, warm=8)


steps = st.one_of(
    st.tuples(st.just("plan"), st.integers(1, 20)),
    st.tuples(st.just("see"), st.sets(st.integers(0, 12).map(str))),
    st.tuples(st.just("warm"), st.sets(st.integers(0, 12).map(str))),
    st.tuples(st.just("release"), st.just(0)),
)


@given(st.lists(steps, max_size=30))
def test_the_books_hold_whatever_happens(history: list[tuple[str, object]]) -> None:
    books = ExecutorLedger(ExecutorBounds(least=2, most=6, slots_each=1))
    for what, how in history:
        if what == "plan" and isinstance(how, int):
            books.plan(how)
        elif what == "see" and isinstance(how, set):
            books.see(some(*how))
        elif what == "warm" and isinstance(how, set):
            books.count_as_warm(how)
        else:
            books.has_released(books.leaving)
        assert 2 <= books.planned <= 6
        assert len(books.staying) <= books.planned
        assert not books.leaving & books.released
        assert books.leaving | books.released | books.staying == set(books.observed)
        # None leaves while one is missing.
        assert not (books.missing and books.leaving)
        assert 1 <= books.available_slots <= max(1, len(books.staying))
        assert books.missing == max(0, books.planned - len(books.staying))


def test_patience_begins_anew_with_another_plan() -> None:
    overdue = Overdue(patience_seconds=10)
    assert overdue.seconds(4, 2, now=0) is None
    assert overdue.seconds(5, 2, now=9) is None
    assert overdue.seconds(5, 2, now=18) is None
    assert overdue.seconds(5, 3, now=19) == 10
    assert overdue.seconds(5, 5, now=25) is None
    assert overdue.seconds(5, 4, now=40) is None  # one was lost just now
    assert overdue.seconds(5, 4, now=50) == 10
