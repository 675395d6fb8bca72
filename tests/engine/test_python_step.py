from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from penstock.engine.failures import as_query_error
from penstock.engine.python_step import (
    ERROR_MARK,
    FAILED,
    BatchesCall,
    PythonStep,
    RowFailed,
    RowsCall,
    Tally,
)
from penstock.errors import OperatorError, QueryError

NUMBERS = pa.schema([pa.field("x", pa.int64(), nullable=False)])


def batch(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"x": pa.array(values, pa.int64())})


def run(
    *calls: Any, batches: list[pa.RecordBatch], sets_aside: bool = True
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Tally]]:
    """Return good rows, failures and tallies of a step."""
    told: dict[str, Tally] = {}
    step = PythonStep("step", calls, sets_aside, lambda _, tallies: told.update(tallies))
    rows = [row for out in step(batches) for row in out.to_pylist()]
    if not sets_aside:
        return rows, [], told
    good = [{k: v for k, v in row.items() if k != FAILED} for row in rows if row[FAILED] is None]
    return good, [row[FAILED] for row in rows if row[FAILED] is not None], told


def test_one_none_and_several_rows_may_come_out() -> None:
    def fan(row: dict[str, Any]) -> Any:
        return {0: None, 1: {"x": 1}}.get(row["x"], [{"x": 2}, {"x": 2}])

    rows, failures, told = run(
        RowsCall("fan", fan, NUMBERS, "dead_letter"), batches=[batch(0, 1, 2)]
    )
    assert rows == [{"x": 1}, {"x": 2}, {"x": 2}]
    assert failures == []
    assert (told["fan"].rows_in, told["fan"].rows_out) == (3, 3)


def test_a_raising_function_a_wrong_type_and_a_null_each_fail_their_own_row() -> None:
    def fragile(row: dict[str, Any]) -> Any:
        if row["x"] == 1:
            raise KeyError("lost")
        return {2: {"x": "two"}, 3: {"x": None}, 4: 4, 5: {}}.get(row["x"], row)

    call = RowsCall("fragile", fragile, NUMBERS, "dead_letter")
    rows, failures, told = run(call, batches=[batch(0, 1, 2, 3, 4, 5, 6)])
    assert rows == [{"x": 0}, {"x": 6}]
    by_row = {json.loads(f["row"])["x"]: f for f in failures}
    assert {row: f["error"] for row, f in by_row.items()} == {
        1: "KeyError",
        2: "WrongValue",
        3: "WrongValue",
        4: "WrongValue",
        5: "WrongValue",
    }
    assert "column 'x' is int64, the function returned a str" in by_row[2]["message"]
    assert "may not be null" in by_row[3]["message"]
    assert "return a dict, a list of dicts, or None" in by_row[4]["message"]
    assert "no value for column 'x'" in by_row[5]["message"]
    assert all(f["operator"] == "fragile" for f in failures)
    assert "in fragile" in by_row[1]["traceback"]
    assert told["fragile"].failures == {"KeyError": 1, "WrongValue": 4}


def test_a_row_with_one_bad_result_among_several_fails_whole_and_once() -> None:
    def pair(row: dict[str, Any]) -> Any:
        return [{"x": row["x"]}, {"x": "bad" if row["x"] == 1 else 0}]

    call = RowsCall("pair", pair, NUMBERS, "dead_letter")
    rows, failures, _ = run(call, batches=[batch(1, 2)])
    assert rows == [{"x": 2}, {"x": 0}]
    assert [json.loads(f["row"]) for f in failures] == [{"x": 1}]


def test_a_dead_letter_holds_the_row_as_it_came_even_if_the_function_changed_it() -> None:
    def spoil(row: dict[str, Any]) -> Any:
        row["x"] = "spoiled"
        raise ValueError("no")

    _, failures, _ = run(RowsCall("spoil", spoil, NUMBERS, "dead_letter"), batches=[batch(9)])
    assert json.loads(failures[0]["row"]) == {"x": 9}


def test_a_chain_runs_in_one_pass_and_tallies_each_operator() -> None:
    double = RowsCall("double", lambda row: {"x": row["x"] * 2}, NUMBERS, "dead_letter")
    odd = BatchesCall("halve", lambda b: b.slice(0, b.num_rows // 2), NUMBERS, "dead_letter")
    rows, _, told = run(double, odd, batches=[batch(1, 2, 3, 4), batch(5, 6)])
    assert rows == [{"x": 2}, {"x": 4}, {"x": 10}]
    assert [(t.rows_in, t.rows_out) for t in told.values()] == [(6, 6), (6, 3)]
    assert all(tally.busy_nanos > 0 for tally in told.values())


def test_a_batch_function_that_fails_sets_all_rows_of_its_batch_aside() -> None:
    def picky(b: pa.RecordBatch) -> pa.RecordBatch:
        if b.column(0)[0].as_py() == 1:
            raise RuntimeError("picky")
        return b

    call = BatchesCall("picky", picky, NUMBERS, "dead_letter")
    rows, failures, _ = run(call, batches=[batch(1, 2), batch(3)])
    assert rows == [{"x": 3}]
    assert [json.loads(f["row"])["x"] for f in failures] == [1, 2]


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (pa.RecordBatch.from_pydict({"y": [1]}), "no value for column 'x'"),
        (pa.RecordBatch.from_pydict({"x": ["a"]}), "column 'x' is int64"),
        (pa.RecordBatch.from_pydict({"x": pa.array([None], pa.int64())}), "may not be null"),
        ([1], "return a pyarrow.RecordBatch"),
    ],
)
def test_what_a_batch_function_returns_is_checked(result: Any, problem: str) -> None:
    call = BatchesCall("b", lambda _: result, NUMBERS, "dead_letter")
    _, failures, _ = run(call, batches=[batch(1)])
    assert problem in failures[0]["message"]


def test_a_batch_function_may_return_a_narrower_type_that_fits() -> None:
    narrow = pa.RecordBatch.from_pydict({"x": pa.array([7], pa.int16())})
    rows, _, _ = run(BatchesCall("b", lambda _: narrow, NUMBERS, "fail"), batches=[batch(1)])
    assert rows == [{"x": 7}]


def test_on_error_fail_stops_with_operator_row_and_the_users_traceback() -> None:
    def divide(row: dict[str, Any]) -> dict[str, Any]:
        return {"x": 1 // row["x"]}

    call = RowsCall("divide", divide, NUMBERS, "fail")
    with pytest.raises(RowFailed) as raised:
        run(call, batches=[batch(1, 0)], sets_aside=False)
    error = as_query_error(Exception(f"Spark says: {raised.value}\nat some.java.Line"))
    assert isinstance(error, OperatorError)
    assert (error.operator, error.row, error.error) == ("divide", '{"x": 0}', "ZeroDivisionError")
    assert "1 // row" in error.user_traceback
    assert "on_error='dead_letter'" in str(error)


def test_a_damaged_or_absent_mark_leaves_what_spark_says() -> None:
    assert type(as_query_error(Exception("out of memory"))) is QueryError
    assert type(as_query_error(Exception(ERROR_MARK + "{oops"))) is QueryError
    assert type(as_query_error(Exception(ERROR_MARK + '{"row": 1}'))) is QueryError


def test_tallies_are_reported_when_the_reader_stops_early() -> None:
    told: dict[str, Tally] = {}
    call = RowsCall("same", lambda row: row, NUMBERS, "fail")
    step = PythonStep("s", (call,), False, lambda _, tallies: told.update(tallies))
    rows = step([batch(1), batch(2)])
    next(rows)
    rows.close()
    assert told["same"].rows_in == 1


def unreadable_batch() -> pa.RecordBatch:
    days = pa.array([0, 10_000_000, 1], pa.date32())
    return pa.RecordBatch.from_arrays([[1, 2, 3], days], names=["x", "day"])


def test_a_row_that_python_cannot_hold_is_set_aside_alone() -> None:
    call = RowsCall("read", lambda row: row, NUMBERS, "dead_letter")
    rows, failures, told = run(call, batches=[unreadable_batch()])
    assert rows == [{"x": 1}, {"x": 3}]
    (letter,) = failures
    assert (letter["operator"], letter["error"]) == ("read", "UnreadableValue")
    assert "column 'day' is date32" in letter["message"]
    assert json.loads(letter["row"]) == {"x": 2, "day": "29349-01-26"}
    assert told["read"].failures == {"UnreadableValue": 1}


def test_a_row_that_python_cannot_hold_stops_with_its_operator() -> None:
    call = RowsCall("read", lambda row: row, NUMBERS, "fail")
    with pytest.raises(RowFailed) as raised:
        run(call, batches=[unreadable_batch()], sets_aside=False)
    error = as_query_error(raised.value)
    assert isinstance(error, OperatorError)
    assert (error.operator, error.row) == ("read", '{"x": 2, "day": "29349-01-26"}')


def test_a_batch_function_that_fails_on_rows_python_cannot_hold_sets_all_aside() -> None:
    call = BatchesCall("b", lambda _: None, NUMBERS, "dead_letter")
    _, failures, _ = run(call, batches=[unreadable_batch()])
    assert [json.loads(f["row"])["x"] for f in failures] == [1, 2, 3]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "error", [Unspeakable(), ValueError("half \ud83d"), SystemExit(3), ValueError("x" * 600_000)]
)
@pytest.mark.parametrize("kind", [RowsCall, BatchesCall])
def test_any_error_of_a_function_is_set_aside_or_told(kind: Any, error: BaseException) -> None:
    def work(row: Any) -> Any:
        raise error

    name = type(error).__name__
    _, failures, _ = run(kind("work", work, NUMBERS, "dead_letter"), batches=[batch(1)])
    assert [(f["operator"], f["error"]) for f in failures] == [("work", name)]
    with pytest.raises(RowFailed) as raised:
        run(kind("work", work, NUMBERS, "fail"), batches=[batch(1)], sets_aside=False)
    told = as_query_error(raised.value)
    assert isinstance(told, OperatorError)
    assert (told.operator, told.row, told.error) == ("work", '{"x": 1}', name)
    assert len(str(told)) < 12_000


def test_an_interrupt_goes_through() -> None:
    def interrupted(row: dict[str, Any]) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(RowsCall("work", interrupted, NUMBERS, "dead_letter"), batches=[batch(1)])


def test_what_fails_outside_a_function_still_names_the_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr("penstock.engine.python_step.to_columns", broken)
    with pytest.raises(RowFailed) as raised:
        run(RowsCall("work", lambda row: row, NUMBERS, "dead_letter"), batches=[batch(1)])
    error = as_query_error(raised.value)
    assert isinstance(error, OperatorError)
    assert (error.operator, error.error, error.reason) == ("work", "MemoryError", "no room")


def test_a_batch_function_never_gets_an_empty_batch() -> None:
    seen: list[int] = []

    def look(b: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(b.num_rows)
        return b

    few = RowsCall("few", lambda row: row if row["x"] > 2 else None, NUMBERS, "fail")
    call = BatchesCall("look", look, NUMBERS, "fail")
    rows, _, _ = run(few, call, batches=[batch(1, 2), batch(3), batch()], sets_aside=False)
    assert rows == [{"x": 3}]
    assert seen == [1]
