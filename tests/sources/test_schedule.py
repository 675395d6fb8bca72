from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.schedule import Schedule
from penstock.sources.trace import Trace

steps = st.tuples(st.integers(1, 5_000), st.integers(0, 40))
traces = (
    st.lists(steps, min_size=1, max_size=12)
    .filter(lambda pairs: any(count for _, count in pairs))
    .map(lambda pairs: Trace(*(tuple(column) for column in zip(*pairs, strict=True))))
)


def due_times(trace: Trace, passes: int = 1) -> list[int]:
    """Write out when each row is due, one after another, in exact fractions."""
    times: list[int] = []
    start = 0
    for _ in range(passes):
        for length, count in zip(trace.step_micros, trace.counts, strict=True):
            times += [start + int(Fraction(length * row, count)) for row in range(count)]
            start += length
    return times


@given(traces, st.integers(1, 3))
def test_due_times_are_spread_evenly_over_each_step(trace: Trace, passes: int) -> None:
    schedule = Schedule(trace, loop=True)
    rows = np.arange(trace.rows * passes)
    assert schedule.due_micros(rows).tolist() == due_times(trace, passes)
    assert rows.tolist() == list(range(trace.rows * passes))  # the caller's array is left alone


@given(traces, st.data())
def test_rows_due_counts_the_due_times_before_a_moment(trace: Trace, data: st.DataObject) -> None:
    elapsed = data.draw(st.integers(-10, 3 * sum(trace.step_micros) - 1))
    times = due_times(trace, passes=3)
    looped = sum(time < elapsed for time in times)
    assert Schedule(trace, loop=True).rows_due(elapsed) == looped
    assert Schedule(trace).rows_due(elapsed) == min(looped, trace.rows)


@given(traces)
def test_at_the_end_of_each_step_exactly_its_rows_have_come(trace: Trace) -> None:
    schedule = Schedule(trace)
    ends, totals = np.cumsum(trace.step_micros), np.cumsum(trace.counts)
    assert [schedule.rows_due(int(end)) for end in ends] == totals.tolist()


@given(traces, st.integers(0, 10**6))
def test_rows_due_and_due_micros_are_inverse(trace: Trace, row: int) -> None:
    schedule = Schedule(trace, loop=True)
    due = int(schedule.due_micros(np.array([row]))[0])
    assert schedule.rows_due(due) <= row < schedule.rows_due(due + 1)


@given(traces, st.lists(st.integers(0, 10**9), min_size=2, max_size=30), st.booleans())
def test_rows_due_never_falls(trace: Trace, moments: list[int], loop: bool) -> None:
    schedule = Schedule(trace, loop)
    due = [schedule.rows_due(moment) for moment in sorted(moments)]
    assert due == sorted(due)


@given(traces, st.integers(0, 2_000), st.booleans())
def test_the_end_of_a_pass_is_reached_once_and_stays(trace: Trace, row: int, loop: bool) -> None:
    schedule = Schedule(trace, loop)
    end = schedule.end_of_pass(row)
    assert schedule.end_of_pass(end) == end
    assert end % trace.rows == 0
    if loop:
        assert max(row, 1) <= end < max(row, 1) + trace.rows
    else:
        assert end == trace.rows


def test_long_steps_with_many_rows_stay_exact() -> None:
    """A day in one step with a hundred million rows is near the limit of 64 bits."""
    trace = Trace(step_micros=(86_400_000_000,), counts=(100_000_000,))
    last = Schedule(trace).due_micros(np.array([99_999_999]))
    assert last.tolist() == [86_400_000_000 * 99_999_999 // 100_000_000]


def test_a_trace_is_over_only_at_its_end_and_never_in_a_loop() -> None:
    trace = Trace(step_micros=(1_000, 500), counts=(1, 0))
    assert not Schedule(trace).is_over(1_499)
    assert Schedule(trace).is_over(1_500)
    assert not Schedule(trace, loop=True).is_over(10**12)
