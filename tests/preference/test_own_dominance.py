"""A user's own preference: compiled, shipped, checked to be an order, and exact."""

from __future__ import annotations

import datetime
import decimal
import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numba import njit
from numpy.typing import NDArray
from pyspark import cloudpickle

from penstock.errors import TopologyError
from penstock.preference.own_dominance import (
    DominanceError,
    compiled_dominance,
    dominance_counts,
    insert,
    merge,
    skylines,
    to_numbers,
)
from penstock.preference.points import PointError
from penstock.preference.preference import Preference

Numbers = NDArray[np.float64]

points = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.integers(0, 4)
)


def nearer(one: Any, other: Any) -> bool:
    """Prefer by a margin in the first column, or what is no worse in it and better in the rest."""
    if one[0] <= other[0] - 2:
        return True
    return one[0] <= other[0] and one[1] <= other[1] and one[2] > other[2]


@pytest.fixture(scope="module")
def dominates() -> Any:
    return compiled_dominance("best", nearer, 3)


def by_definition(rows: Numbers) -> list[int]:
    return [at for at, row in enumerate(rows) if not any(nearer(other, row) for other in rows)]


@given(points, st.integers(0, 30))
def test_rows_are_those_to_which_none_is_preferred(dominates: Any, rows: Numbers, at: int) -> None:
    at = min(at, len(rows))
    found = skylines(rows, np.array([0, at]), dominates)
    expected = by_definition(rows[:at]) + [at + each for each in by_definition(rows[at:])]
    assert found.tolist() == expected


@given(points, st.integers(0, 30))
def test_two_skylines_merge_to_that_of_all_rows(dominates: Any, rows: Numbers, at: int) -> None:
    first, second = rows[:at], rows[at:]
    one, other = (part[by_definition(part)] for part in (first, second))
    stay, join = merge(one, other, dominates)
    merged = np.concatenate([one[stay], other[join]])
    assert sorted(merged.tolist()) == sorted(rows[by_definition(rows)].tolist())


@given(points)
def test_rows_inserted_one_by_one_make_the_skyline(dominates: Any, rows: Numbers) -> None:
    kept = rows[:0]
    for row in rows:
        joins, stay = insert(kept, row, dominates)
        kept = np.concatenate([kept[stay], [row]]) if joins else kept[stay]
    assert kept.tolist() == rows[by_definition(rows)].tolist()


@given(points)
def test_counts_are_of_all_rows_that_one_is_preferred_to(dominates: Any, rows: Numbers) -> None:
    expected = [sum(nearer(row, other) for other in rows) for row in rows[:5]]
    assert dominance_counts(rows, rows[:5], dominates).tolist() == expected


def test_a_pickled_preference_is_compiled_once_in_a_process(dominates: Any) -> None:
    shipped = cloudpickle.dumps(dominates)
    one, two = pickle.loads(shipped), pickle.loads(shipped)
    assert one is two
    rows = np.array([[0.0, 0, 0], [9, 9, 9]])
    assert skylines(rows, np.array([0]), one).tolist() == [0]


def test_a_function_that_is_compiled_already_is_taken_as_it_is() -> None:
    own = njit(nearer)
    assert compiled_dominance("best", own, 3) is own


LIMITS = {"price": 3}


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda a, b: os.getenv("HOME") is None, "can't be compiled: Unknown attribute 'getenv'"),
        (lambda a, b: [a[0]], r"returns list\(float64\).*, not True or False"),
        (lambda a, b: None, "returns none, not True or False"),
        (lambda a: True, "can't be compiled"),
        (lambda a, b: not_there(a), "can't be compiled: NameError: name 'not_there'"),  # type: ignore[name-defined] # noqa: F821
        (lambda a, b: LIMITS["price"] > a[0] + b[0], "can't be compiled"),
        (lambda a, b: a[3] < b[3], "reads a number that is not there: index 3 is out of bounds"),
        (dict, "can't be compiled"),
    ],
)
def test_a_function_that_can_not_be_used_is_refused_in_a_sentence(
    function: Any, problem: str
) -> None:
    with pytest.raises(TopologyError, match=f"operator 'best': dominates {problem}") as error:
        compiled_dominance("best", function, 3)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda a, b: a[0] <= b[0], r"\[1, 3\] is preferred to itself"),
        (lambda a, b: a[0] != b[0], r"\[1, 3\] is preferred to \[2, 1\], and \[2, 1\] to \[1, 3\]"),
        (
            lambda a, b: (b[0] - a[0]) % 3 == 1,
            r"\[1, 3\] is preferred to \[2, 1\] and \[2, 1\] to \[3, 2\], but \[1, 3\] not to",
        ),
    ],
)
def test_a_function_that_is_no_order_is_shown_the_rows_at_fault(function: Any, found: str) -> None:
    dominates = compiled_dominance("best", function, 2)
    rows = np.array([[1.0, 3], [2, 1], [3, 2]])
    with pytest.raises(DominanceError, match=found):
        skylines(rows, np.array([0]), dominates)


def test_an_index_beyond_the_row_fails_rather_than_reads_what_is_there() -> None:
    dominates = compiled_dominance("best", lambda a, b: a[0] > 5 and a[7] < b[7], 2)
    with pytest.raises(IndexError):
        skylines(np.array([[6.0, 1], [7, 2]]), np.array([0]), dominates)


def test_numbers_are_those_of_the_rows() -> None:
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    columns = [
        pa.array([1, 2], pa.int64()),
        pa.array([True, False]),
        pa.array([moment, None], pa.timestamp("us", "UTC")),
        pa.array([datetime.date(1970, 1, 3)] * 2),
        pa.array([decimal.Decimal("1.25")] * 2),
        pa.array([np.nan, -0.5], pa.float32()),
    ]
    prefer = Preference(("i", "b", "t"), ("d", "m", "f"), "last")
    assert to_numbers(columns, prefer).tolist() == [
        [1, 1, 1e6, 2, 1.25, -np.inf],
        [2, 0, np.inf, 2, 1.25, -0.5],
    ]
    with pytest.raises(PointError, match="column 't' has no number in 1 of 2 rows"):
        to_numbers(columns, Preference(prefer.minimize, prefer.maximize))
    with pytest.raises(PointError, match="column 's' is of type string"):
        to_numbers([pa.array(["1"])], Preference(("s",)))


def test_a_worker_need_not_be_able_to_import_the_file_of_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job_of_today.py").write_text("def cheaper(a, b):\n    return a[0] < b[0]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    job: Any = importlib.import_module("job_of_today")
    try:
        sent = pickle.dumps(compiled_dominance("best", job.cheaper, 1))
    finally:
        del sys.modules["job_of_today"]
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)([1.0], [2.0]))"
    worker = subprocess.run(
        [sys.executable, "-c", code], input=sent, capture_output=True, check=True
    )
    assert worker.stdout == b"True\n"
