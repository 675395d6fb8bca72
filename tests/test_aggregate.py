"""The steps of a user's aggregate as Spark's workers run them, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.aggregate import Aggregate
from penstock.engine.aggregate_calls import AggregateCalls, unpacked
from penstock.engine.aggregate_steps import STATE, ComputeStep, ConsolidateStep, FinishStep, Limits
from penstock.engine.failures import as_query_error
from penstock.engine.python_step import RowFailed
from penstock.errors import OperatorError

RESULT = pa.schema([pa.field("n", pa.int64(), nullable=False), ("values", pa.list_(pa.int32()))])


class Bag(Aggregate):
    """All values as they are, and how often ``compute`` was called: one row of state for a call."""

    state = pa.schema(
        [("values", pa.list_(pa.int32())), pa.field("on", pa.bool_(), nullable=False)]
    )
    result = "n bigint NOT NULL, values array<int>"

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> Any:
        own = self.of(batch["v"].to_pylist())
        return own if state is None else pa.concat_batches([state, own])

    def consolidate(self, states: list[pa.RecordBatch]) -> Any:
        assert len(states) > 1
        return pa.concat_batches(states)

    def finish(self, state: pa.RecordBatch) -> Any:
        values = [value for row in state["values"].to_pylist() for value in row]
        return {"n": state.num_rows, "values": values}

    def of(self, values: list[int | None]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"values": [values], "on": [True]}, self.state)


ROWS = pa.schema([("k", pa.string()), ("_penstock_pane", pa.int64()), ("v", pa.int32())])
rows = st.tuples(
    st.sampled_from(["a", "b", "", None]), st.integers(0, 1), st.none() | st.integers(0, 9)
)


def batch(*values: tuple[str | None, int, int | None]) -> pa.RecordBatch:
    columns = zip(*values, strict=True) if values else ([], [], [])
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, ROWS, strict=True)],
        schema=ROWS,
    )


def calls(aggregate: Aggregate) -> AggregateCalls:
    return AggregateCalls("reduce", aggregate, aggregate.state, RESULT)


def listed(partials: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Bring the states of each key together, as Spark does with an exchange."""
    lists: dict[Any, list[Any]] = {}
    for row in (row for partial in partials for row in partial.to_pylist()):
        lists.setdefault((row["k"], row["_penstock_pane"]), []).append(row[STATE])
    keys, panes = zip(*lists, strict=True) if lists else ((), ())
    states = pa.list_(pa.list_(pa.struct(list(Bag.state))))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(keys, pa.string()),
            pa.array(panes, pa.int64()),
            pa.array(list(lists.values()), states),
        ],
        names=["k", "_penstock_pane", STATE],
    )


@given(tasks=st.lists(st.lists(st.lists(rows, max_size=8), max_size=4), max_size=3), data=st.data())
def test_the_results_are_the_same_however_rows_are_cut(tasks: Any, data: st.DataObject) -> None:
    limits = Limits(
        rows=data.draw(st.sampled_from([1, 10])),
        row_bytes=data.draw(st.sampled_from([1, 10_000])),
        groups=data.draw(st.integers(0, 3)),
        state_bytes=data.draw(st.sampled_from([0, 60, 10_000])),
    )
    compute = ComputeStep(calls(Bag()), 2, (2,), limits)
    partials = [partial for task in tasks for partial in compute([batch(*rows) for rows in task])]
    merged = list(ConsolidateStep(calls(Bag()), 2)([listed(partials)]))
    assert len({tuple(each.schema.types) for each in merged}) <= 1
    found = [row for out in FinishStep(calls(Bag()), 2)(merged) for row in out.to_pylist()]

    cut = [rows for task in tasks for rows in task]
    expected: dict[Any, Counter[Any]] = {}
    for key, pane, value in (row for rows in cut for row in rows):
        expected.setdefault((key, pane), Counter())[value] += 1
    assert {(row["k"], row["_penstock_pane"]): Counter(row["values"]) for row in found} == expected
    # Once for each key in each Arrow batch, with the state so far or anew where it was given out;
    # or less often, where batches were put together.
    pieces = Counter((key, pane) for rows in cut for key, pane in {row[:2] for row in rows})
    calls_of = Counter({(row["k"], row["_penstock_pane"]): row["n"] for row in found})
    assert calls_of <= pieces
    if limits.rows == 1 or limits.row_bytes == 1:
        assert calls_of == pieces


def test_rows_of_a_key_stay_in_order_and_states_grow_in_a_task() -> None:
    first = batch(("a", 0, 1), ("b", 0, 2), ("a", 0, 3), (None, 0, 4))
    step = ComputeStep(calls(Bag()), 2, (2,), Limits(rows=1))
    (partial,) = step([first, batch(), batch(("a", 0, 5), ("a", 1, 6))])
    assert [
        (row["k"], row["_penstock_pane"], [state["values"] for state in row[STATE]])
        for row in partial.to_pylist()
    ] == [
        ("a", 0, [[1, 3], [5]]),
        ("b", 0, [[2]]),
        (None, 0, [[4]]),
        ("a", 1, [[6]]),
    ]


def test_small_batches_are_put_together_before_compute_is_called() -> None:
    cut = [batch((None, 0, value)) for value in range(5)]
    (partial,) = ComputeStep(calls(Bag()), 2, (2,), Limits(rows=2))(cut)
    (row,) = partial.to_pylist()
    assert [state["values"] for state in row[STATE]] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("limits", [Limits(1, groups=2), Limits(1, state_bytes=40)])
def test_states_are_given_out_when_there_are_too_many(limits: Limits) -> None:
    cut = [batch(*[(key, 0, 1) for key in keys]) for keys in ("ab", "abc", "a")]
    partials = list(ComputeStep(calls(Bag()), 2, (2,), limits)(cut))
    assert [partial["k"].to_pylist() for partial in partials] == [["a", "b", "c"], ["a"]]


def test_held_keys_do_not_keep_whole_batches_in_memory() -> None:
    big = batch(*[("a" * 1_000, 0, 1)] * 1_000)
    (partial,) = ComputeStep(calls(Bag()), 2, (2,))([big])
    assert partial["k"].get_total_buffer_size() < 10_000


class Wrong(Bag):
    """Returns something wrong from one method, for the key 'bad' alone: its values are 666."""

    def __init__(self, method: str, wrong: Callable[[], Any]) -> None:
        self.method, self.wrong = method, wrong

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> Any:
        right = super().compute(state, batch)
        return self._or_wrong("compute", batch["v"].to_pylist(), right)

    def consolidate(self, states: list[pa.RecordBatch]) -> Any:
        right = super().consolidate(states)
        return self._or_wrong("consolidate", right["values"][0].as_py(), right)

    def finish(self, state: pa.RecordBatch) -> Any:
        right = super().finish(state)
        return self._or_wrong("finish", right["values"], right)

    def _or_wrong(self, method: str, values: list[int], right: Any) -> Any:
        return self.wrong() if (method, values[0]) == (self.method, 666) else right


def divide() -> Any:
    return 1 / 0


def leave() -> Any:
    raise SystemExit(3)


def state(**columns: Any) -> Callable[[], pa.RecordBatch]:
    return lambda: pa.RecordBatch.from_pydict(columns)


STATES = ["compute", "consolidate"]
WRONG = [
    (["compute", "consolidate", "finish"], divide, "ZeroDivisionError", "division by zero"),
    (["compute"], leave, "SystemExit", "3"),
    (STATES, dict, "WrongValue", "returned a dict; return a pyarrow.RecordBatch"),
    (STATES, lambda: None, "WrongValue", "returned a NoneType; return a pyarrow.RecordBatch"),
    (STATES, state(on=[True]), "WrongValue", "no value for column 'values'"),
    (
        STATES,
        state(values=[[1.5]], on=[True]),
        "WrongValue",
        "column 'values' is list<item: int32>, the function returned list<item: double>",
    ),
    (
        STATES,
        state(values=[[1 << 40]], on=[True]),
        "WrongValue",
        "column 'values' is list<item: int32>: Integer value 1099511627776 not in range",
    ),
    (
        STATES,
        state(values=[[1]], on=[True], more=[1]),
        "WrongValue",
        "column 'more' is not one of the declared state",
    ),
    (
        STATES,
        state(values=pa.array([[1]], pa.list_(pa.int32())), on=pa.nulls(1, pa.bool_())),
        "WrongValue",
        "column 'on' may not be null",
    ),
    (
        STATES,
        lambda: pa.RecordBatch.from_arrays(
            [pa.array([[1]], pa.list_(pa.int32())), pa.nulls(1, pa.bool_())], schema=Bag.state
        ),
        "WrongValue",
        "column 'on' may not be null",
    ),
    (["finish"], lambda: {"n": 1}, "WrongValue", "no value for column 'values'"),
    (
        ["finish"],
        lambda: [{"n": 1, "values": []}, {"n": 1.5, "values": []}],
        "WrongValue",
        "column 'n' is int64, the function returned a float",
    ),
    (["finish"], lambda: 5, "WrongValue", "returned a int; return a dict, a list of dicts"),
    (["finish"], lambda: [5], "WrongValue", "returned a list; return a dict, a list of dicts"),
    (["finish"], state(n=[1]), "WrongValue", "no value for column 'values'"),
    (
        ["finish"],
        state(n=["1"], values=[[1]]),
        "WrongValue",
        "column 'n' is int64, the function returned string",
    ),
]


def results_of_two_tasks(own: AggregateCalls, cut: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    partials = [partial for _ in range(2) for partial in ComputeStep(own, 2, (2,))(cut)]
    return list(FinishStep(own, 2)(ConsolidateStep(own, 2)([listed(partials)])))


@pytest.mark.parametrize(
    ("method", "wrong", "error", "reason"),
    [(method, *rest) for methods, *rest in WRONG for method in methods],
)
def test_an_error_names_the_aggregate_the_method_and_the_key(
    method: str, wrong: Callable[[], Any], error: str, reason: str
) -> None:
    own = calls(Wrong(method, wrong))
    cut = [batch(("good", 7, 1), ("bad", 7, 666)), batch(("good", 7, 2))]
    with pytest.raises(RowFailed) as raised:
        results_of_two_tasks(own, cut)
    told = as_query_error(raised.value)
    assert isinstance(told, OperatorError)
    assert (told.operator, told.error, told.row) == ("reduce", error, '{"k": "bad"}')
    assert told.reason.startswith(f"in Wrong.{method}: {reason}")
    assert ("in divide" in told.user_traceback) == (wrong is divide)
    assert "aggregate_calls" not in told.user_traceback


def test_a_state_of_a_narrower_type_is_widened_and_what_fits_is_kept() -> None:
    wide = state(values=pa.array([[1], []], pa.large_list(pa.int64())), on=[True, False])
    own = calls(Wrong("compute", wide))
    (partial,) = ComputeStep(own, 2, (2,))([batch(("bad", 0, 666))])
    assert partial.to_pylist()[0][STATE] == wide().to_pylist()
    assert partial.schema.field(STATE).type.value_type == pa.struct(list(Bag.state))


def test_a_state_comes_back_from_spark_as_it_was_declared() -> None:
    declared = pa.schema(
        [
            pa.field("at", pa.timestamp("us", "UTC"), nullable=False),
            ("all", pa.list_(pa.struct([pa.field("at", pa.timestamp("us", "UTC"))]))),
        ]
    )
    there = pa.timestamp("us", "America/New_York")
    elements = pa.list_(pa.field("element", pa.struct([pa.field("at", there)])))
    column = pa.array(
        [[], [{"at": 5, "all": [{"at": 7}]}]],
        pa.list_(pa.struct([pa.field("at", there), pa.field("all", elements)])),
    )
    none, one = unpacked(column, declared)
    assert (none.num_rows, one.num_rows) == (0, 1)
    assert none.schema == one.schema == declared
    assert one["at"].cast(pa.int64()).to_pylist() == [5]


class Tables(Bag):
    """Results as a dict, as a table, and none."""

    def finish(self, state: pa.RecordBatch) -> Any:
        values = pc.list_flatten(state["values"])
        several = {"n": [1] * len(values), "values": [[value.as_py()] for value in values]}
        return {1: super().finish(state), 2: pa.RecordBatch.from_pydict(several)}.get(len(values))


def test_results_may_be_dicts_tables_or_nothing_side_by_side() -> None:
    rows = [("one", 0, 1), ("two", 0, 2), ("two", 0, 3), *[("three", 0, 4)] * 3]
    partials = list(ComputeStep(calls(Tables()), 2, (2,))([batch(*rows)]))
    found = [row for out in FinishStep(calls(Tables()), 2)(partials) for row in out.to_pylist()]
    assert [(row["k"], row["values"]) for row in found] == [
        ("one", [1]),
        ("two", [2]),
        ("two", [3]),
    ]
