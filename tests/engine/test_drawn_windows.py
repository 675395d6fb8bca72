from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.engine.drawn_windows import drawn_of
from penstock.engine.python_step import Tally
from penstock.engine.skylines_seen import skylines_seen
from penstock.preference.preference import Preference

PREFERENCE = Preference(minimize=("price",), maximize=("rating",))
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def keys_of(windows: Any, **groups: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"_penstock_target": windows, **groups})


def rows_of(*points: tuple[Any, Any]) -> pa.RecordBatch:
    price, rating = zip(*points, strict=True)
    return pa.RecordBatch.from_pydict(
        {"name": ["x"] * len(price), "price": price, "rating": rating}
    )


def test_the_newest_window_alone_group_by_group() -> None:
    keys = keys_of([4, 9, 9], team=["red", "red", None], half=[1, 1, 2])
    rows = rows_of((1.0, 1.0), (3.0, 5.0), (2.0, 4.0), (7.0, 8.0))
    red, nobody = sorted(
        drawn_of(keys, rows, np.array([0, 1, 3, 4]), PREFERENCE), key=lambda each: each.x
    )
    assert (red.window, red.key, red.x, red.y, red.rows) == ((9,), "red, 1", (2, 3), (4, 5), 2)
    assert (nobody.key, nobody.x, nobody.y) == ("null, 2", (7,), (8,))


def test_windows_by_their_times_the_longest_first() -> None:
    def window(start: int, end: int) -> dict[str, datetime]:
        return {
            "start": datetime.fromtimestamp(start, UTC),
            "end": datetime.fromtimestamp(end, UTC),
        }

    names = ["short", "long", "long"]
    keys = keys_of([window(50, 60), window(0, 50), window(5, 55)], window_name=names)
    rows = rows_of((1, 1), (2, 2), (3, 3))
    (found,) = drawn_of(keys, rows, np.arange(4), PREFERENCE)
    assert (found.window, found.key, found.x) == ((50_000_000, 55_000_000), None, (3,))
    (seen,) = skylines_seen(5, "best", PREFERENCE, [Tally(drawn=(found,))], lambda number: (0, 0))
    assert (seen.window_start_seconds, seen.window_end_seconds) == (5.0, 55.0)


@pytest.mark.parametrize("columns", [("price",), ("price", "rating", "name")])
def test_only_two_columns_can_be_drawn(columns: tuple[str, ...]) -> None:
    rows = rows_of((1, 1))
    assert drawn_of(keys_of([1]), rows, np.arange(2), Preference(minimize=columns)) == ()


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (Decimal("2.50"), 2.5),
        (MOMENT, MOMENT.timestamp()),
        (date(2026, 1, 1), MOMENT.timestamp()),
        (True, 1.0),
        (1 << 60, float(1 << 60)),
        (None, None),
    ],
)
def test_anything_that_can_be_compared_becomes_a_number(value: Any, number: float | None) -> None:
    rows = rows_of((value, 1.0))
    (found,) = drawn_of(keys_of([1]), rows, np.arange(2), PREFERENCE)
    assert found.x == (number,) or (number is None and np.isnan(found.x[0]))
    assert (found.x_is_time, found.y_is_time) == (isinstance(value, date), False)
    (seen,) = skylines_seen(5, "best", PREFERENCE, [Tally(drawn=(found,))], lambda number: (0, 0))
    assert (seen.x_is_time, seen.y_is_time) == (found.x_is_time, found.y_is_time)


def test_keys_that_are_no_text_are_told_as_python_has_them() -> None:
    keys = keys_of([1], spot=[[1, 2]], raw=[b"\xff"])
    (found,) = drawn_of(keys, rows_of((1, 1)), np.arange(2), PREFERENCE)
    assert found.key == "[1, 2], b'\\xff'"


def test_the_journal_gets_the_newest_of_all_tasks() -> None:
    tasks = [
        Tally(drawn=drawn_of(keys_of([number], team=[team]), rows, np.arange(2), PREFERENCE))
        for number, team, rows in [
            (7, "red", rows_of((1, 2))),
            (8, "red", rows_of((3, 4))),
            (8, "blue", rows_of((5, 6))),
        ]
    ]
    seen = list(
        skylines_seen(5, "best", PREFERENCE, tasks, {8: (1_000_000, 2_500_000)}.__getitem__)
    )
    assert [(each.key, each.x, each.y) for each in seen] == [
        ("blue", (5.0,), (6.0,)),
        ("red", (3.0,), (4.0,)),
    ]
    first = seen[0]
    assert (first.batch_id, first.operator, first.rows) == (5, "best", 1)
    assert (first.window_start_seconds, first.window_end_seconds) == (1.0, 2.5)
    assert (first.x_column, first.y_column) == ("price", "rating")
    assert (first.x_is_maximized, first.y_is_maximized) == (False, True)


def test_no_window_is_no_event() -> None:
    assert list(skylines_seen(5, "best", PREFERENCE, [Tally()], lambda number: (0, 0))) == []
