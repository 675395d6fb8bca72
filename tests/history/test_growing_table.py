"""Tables that grow: beside plain lists, whatever comes."""

from __future__ import annotations

from itertools import pairwise
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.history.growing_table import GrowingTable, Merge

COLUMNS = {"at": Merge.LAST, "sum": Merge.SUM, "mean": Merge.MEAN, "max": Merge.MAX,
           "last": Merge.LAST}  # fmt: skip
NUMBERS = st.integers(-1_000, 1_000).map(float)
ROWS = st.lists(st.tuples(st.integers(0, 5).map(float), NUMBERS), max_size=60)


def filled(steps: list[tuple[float, float]], most_rows: int) -> tuple[GrowingTable, list[float]]:
    table, at, times = GrowingTable(COLUMNS, most_rows), 0.0, []
    for step, value in steps:
        at += step
        times.append(at)
        table.append((at, value, value, value, value))
    return table, times


@given(ROWS, st.integers(4, 20))
def test_thinning_keeps_sums_means_and_the_greatest(
    steps: list[tuple[float, float]], most_rows: int
) -> None:
    table, times = filled(steps, most_rows)
    values = [value for _, value in steps]
    counts = table.column("count")
    assert len(table) <= most_rows
    assert counts.sum() == len(values)
    assert table.column("sum").sum() == sum(values)
    assert table.column("mean") @ counts == pytest.approx(sum(values))
    if values:
        assert table.column("max").max() == max(values)
        assert table.last()["last"] == values[-1]
        assert table.last()["at"] == times[-1]


@given(ROWS, st.integers(4, 20))
def test_each_row_stands_for_those_since_the_row_before(
    steps: list[tuple[float, float]], most_rows: int
) -> None:
    table, times = filled(steps, most_rows)
    values, first = [value for _, value in steps], 0
    for number, count in enumerate(table.column("count").astype(int)):
        its = values[first : first + count]
        assert table.column("at")[number] == times[first + count - 1]
        assert table.column("sum")[number] == sum(its)
        assert table.column("mean")[number] == pytest.approx(sum(its) / count)
        assert table.column("max")[number] == max(its)
        assert table.column("last")[number] == its[-1]
        first += count


@given(ROWS, st.integers(4, 20))
def test_the_newest_rows_are_never_thinned(
    steps: list[tuple[float, float]], most_rows: int
) -> None:
    table, _ = filled(steps, most_rows)
    newest = min(len(steps), most_rows // 2)
    assert set(table.column("count")[len(table) - newest :]) <= {1.0}
    kept = table.column("sum")[len(table) - newest :].tolist()
    assert kept == [value for _, value in steps][len(steps) - newest :]


@given(ROWS, st.integers(4, 60), st.integers(1, 12), st.floats(-5, 400), st.floats(0, 400))
def test_buckets_add_up_to_what_lies_between(
    steps: list[tuple[float, float]], most_rows: int, most: int, since: float, span: float
) -> None:
    table, _ = filled(steps, most_rows)
    until = since + span
    there = table.between(since, until)
    assert ((there["at"] > since) & (there["at"] <= until)).all()
    found = table.buckets(since, until, most)
    assert len(found) <= max(most, 0)
    assert found["sum"].sum() == there["sum"].sum()
    assert found["count"].sum() == there["count"].sum()
    assert found["mean"] @ found["count"] == pytest.approx(there["mean"] @ there["count"])
    assert all(a <= b for a, b in pairwise(found["at"]))
    if len(there["at"]):
        assert found["max"].max() == there["max"].max()
        assert found["last"][-1] == there["last"][-1]


@given(st.lists(st.floats(allow_infinity=False), min_size=1, max_size=40), st.integers(4, 9))
def test_times_go_on_from_left_to_right_whatever_clocks_say(
    times: list[float], most_rows: int
) -> None:
    table = GrowingTable({"at": Merge.LAST, "rows": Merge.SUM}, most_rows)
    for at in times:
        table.append((at, 1.0))
    found = table.column("at")
    assert all(a <= b for a, b in pairwise(found))
    assert not np.isnan(found).any()
    assert table.column("rows").sum() == len(times)


@given(st.lists(st.sampled_from([nan, 1.0, 3.0]), min_size=1, max_size=40), st.integers(4, 9))
def test_what_nobody_knows_counts_for_nothing(values: list[float], most_rows: int) -> None:
    columns = {"at": Merge.LAST, "sum": Merge.SUM, "max": Merge.MAX, "mean": Merge.MEAN}
    table = GrowingTable(columns, most_rows)
    for at, value in enumerate(values):
        table.append((float(at), value, value, value))
    known = [value for value in values if not isnan(value)]
    assert np.nansum(table.column("sum")) == sum(known)
    (one,) = zip(*(table.buckets(-inf, inf, 1)[c] for c in ("sum", "max")), strict=True)
    if known:
        assert one == (sum(known), max(known))
    else:
        assert all(isnan(each) for each in one)


def test_an_empty_table_answers() -> None:
    table = GrowingTable(COLUMNS)
    assert len(table) == 0
    assert table.column("at").tolist() == []
    assert len(table.buckets(-inf, inf, 10)) == 0
    assert isnan(table.last()["at"])
    assert table.first_time_after(0.0) is None


def test_the_first_time_after_a_moment() -> None:
    table, _ = filled([(1.0, 0.0), (1.0, 0.0), (2.0, 0.0)], 10)
    assert [table.first_time_after(at) for at in (0.0, 1.0, 3.9, 4.0)] == [1.0, 2.0, 4.0, None]


def test_a_table_can_grow_while_somebody_holds_what_it_gave() -> None:
    table, _ = filled([(1.0, 1.0)] * 5, 10)
    held = [table.column("sum"), *table.between(-inf, inf).values()]
    table.append((9.0, 2.0, 2.0, 2.0, 2.0))
    assert [len(each) for each in held] == [5] * len(held)
