from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StringType, StructType

import preference_oracle as oracle
from penstock.cli.complaints import sentence
from penstock.engine.aggregate_steps import STATE, Limits
from penstock.engine.failures import as_query_error
from penstock.engine.preference_aggregation import PreferenceAggregation
from penstock.engine.preference_steps import (
    PART,
    POINTS,
    MeasuredStage,
    PaneStep,
    WindowStep,
)
from penstock.engine.python_step import RowFailed, Tally
from penstock.engine.task_states import TaskStates
from penstock.errors import TopologyError
from penstock.preference.preference import Preference
from penstock.preference.query import PreferenceQuery

MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)
ROWS = pa.schema(
    [
        ("price", pa.float64()),
        ("name", pa.string()),
        ("rating", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
KEYED = pa.schema([("_penstock_pane", pa.int64()), ("_penstock_key_0", pa.string()), *ROWS])
BETTER: Any = {"minimize": ["price"], "maximize": ["rating"]}
QUERY = PreferenceQuery(Preference(("price",), ("rating",), "last"))

rows = st.fixed_dictionaries(
    {
        "_penstock_pane": st.integers(0, 2),
        "_penstock_key_0": st.sampled_from(["a", "b", None]),
        "price": st.sampled_from([0.0, -0.0, 1.5, 2.0, 7.25, float("inf"), float("nan"), None]),
        "name": st.text("xyé", max_size=3),
        "rating": st.one_of(st.none(), st.integers(-3, 3), st.just(2**62)),
        "at": st.just(MOMENT),
    }
)


def groups_of(listed: Sequence[dict[str, Any]]) -> dict[Any, list[dict[str, Any]]]:
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in listed:
        found.setdefault((row["_penstock_pane"], row["_penstock_key_0"]), []).append(row)
    return found


def expected(listed: Sequence[dict[str, Any]]) -> dict[Any, list[str]]:
    return {
        key: shown([{name: row[name] for name in ROWS.names} for row in best])
        for key, several in groups_of(listed).items()
        if (best := oracle.skyline(several, **BETTER))
    }


def shown(listed: Sequence[dict[str, Any]]) -> list[str]:
    """Rows as text, in which NaN equals itself, and a time is one in any zone."""
    return sorted(repr({**row, "at": row["at"].isoformat()}) for row in listed)


def in_batches(listed: Sequence[dict[str, Any]], size: int) -> Iterator[pa.RecordBatch]:
    """Rows as they come from Spark: in the session's zone."""
    zoned = KEYED.set(KEYED.get_field_index("at"), pa.field("at", pa.timestamp("us", "Asia/Tokyo")))
    for first in range(0, len(listed), size):
        yield pa.RecordBatch.from_pylist(listed[first : first + size], schema=zoned)


def lists_of(partials: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """What Spark makes of partials on their way to be merged: a list for each key."""
    table = pa.Table.from_batches(partials)
    lists = table.group_by(["_penstock_pane", "_penstock_key_0"]).aggregate([(STATE, "list")])
    (batch,) = lists.combine_chunks().to_batches()
    return batch


@settings(max_examples=60)
@given(st.lists(rows, min_size=1, max_size=40), st.integers(1, 7), st.sampled_from([1, 9, 10_000]))
def test_partials_and_their_merges_are_the_skylines_of_all_rows(
    listed: list[dict[str, Any]], size: int, held_bytes: int
) -> None:
    limits = Limits(rows=size, state_bytes=held_bytes)
    panes = PaneStep(QUERY, ROWS, 2, "best", limits=limits)
    partials = [
        batch for half in (listed[::2], listed[1::2]) for batch in panes(in_batches(half, 3))
    ]
    for batch in partials:
        sizes = batch.column(POINTS).to_pylist()
        states = batch.column(STATE).to_pylist()
        assert sizes == [pa.ipc.read_record_batch(each, ROWS).num_rows for each in states]
        assert min(sizes) > 0
    finish = WindowStep(QUERY, ROWS, 2, finishes=True)
    merge = WindowStep(QUERY, ROWS, 2)
    at_once = pa.Table.from_batches(finish([lists_of(partials)]))
    in_two = pa.Table.from_batches(finish([lists_of(list(merge([lists_of(partials)])))]))
    for found in (at_once, in_two):
        ours = groups_of(found.to_pylist())
        stripped = {
            key: shown([{name: row[name] for name in ROWS.names} for row in several])
            for key, several in ours.items()
        }
        assert stripped == expected(listed)


def some(prices: Sequence[float | None], pane: int = 0) -> list[dict[str, Any]]:
    return [
        {"_penstock_pane": pane, "_penstock_key_0": "a", "price": p, "name": "", "rating": 0}
        for p in prices
    ]


def test_a_task_tells_what_it_saw_of_each_pane() -> None:
    told: list[tuple[str, dict[str, Tally]]] = []
    stage = MeasuredStage(
        "best_partials", "panes", lambda step, tallies: told.append((step, tallies))
    )
    step = PaneStep(QUERY, ROWS, 2, "best", limits=Limits(rows=3), measured=stage)
    list(step(in_batches(some([3, 1, 2, 1]) + some([5, 5], pane=7), 2)))
    ((name, tallies),) = told
    tally = tallies["best_partials"]
    assert name == "best_partials panes"
    assert (tally.rows_in, tally.rows_out) == (6, 4)
    seen = [(each.pane, each.part, each.rows, each.points) for each in tally.panes]
    assert seen == [(0, 0, 4, 2), (7, 0, 2, 2)]
    assert tally.busy_nanos > 0
    assert tally.cpu_nanos is not None


def test_a_task_without_rows_makes_no_partial_and_tells_so() -> None:
    told: list[Tally] = []
    stage = MeasuredStage("best", "panes", lambda _, tallies: told.extend(tallies.values()))
    assert list(PaneStep(QUERY, ROWS, 2, "best", measured=stage)([])) == []
    assert list(PaneStep(QUERY, ROWS, 2, "best", measured=stage)(in_batches([], 1))) == []
    assert [(tally.rows_in, tally.panes) for tally in told] == [(0, ()), (0, ())]


def test_a_row_without_a_number_is_shown_with_the_names_of_the_user() -> None:
    refusing = PreferenceQuery(Preference(("price",), ("rating",)))
    step = PaneStep(refusing, ROWS, 2, "best", {"_penstock_key_0": "team"}, Limits(rows=100))
    listed = [{**row, "name": str(n)} for n, row in enumerate(some([1, 2, None, 3, None]))]
    with pytest.raises(RowFailed) as failed:
        list(step(in_batches(listed, 2)))
    text = str(failed.value)
    assert '\\"team\\": \\"a\\"' in text
    assert '\\"name\\": \\"2\\"' in text  # the first of them
    assert "column 'price' has no number in 2 of 5 rows" in text
    assert "_penstock" not in text
    told = sentence(as_query_error(failed.value))
    assert "missing='last' to rank them behind all others, on the row {" in told
    assert told.endswith("}.")
    assert "on_error" not in told  # there is none


def test_a_preference_that_is_none_is_told_where_windows_are_formed_too() -> None:
    other_way_round = Preference.checked("best", "price", dominates=lambda a, b: a[0] != b[0])
    query = PreferenceQuery(other_way_round)
    (one,) = PaneStep(query, ROWS, 2, "best")(in_batches(some([1]), 9))
    (other,) = PaneStep(query, ROWS, 2, "best")(in_batches(some([2]), 9))
    with pytest.raises(RowFailed) as failed:
        list(TaskStates(WindowStep(query, ROWS, 2, operator="best"))([one, other]))
    told = sentence(as_query_error(failed.value))
    assert told.startswith("operator 'best' failed with DominanceError: dominates contradicts")
    assert told.endswith("never round in a circle.")


@pytest.mark.parametrize(
    ("better", "keys", "said"),
    [
        ({"minimize": ["cost"]}, (), "'cost' is no column"),
        ({"minimize": ["name"]}, (), "column 'name' is string"),
        ({"maximize": ["n"]}, ("n",), "grouped by 'n'"),
    ],
)
def test_what_cannot_be_compared_is_refused(better: Any, keys: Any, said: str) -> None:
    columns = StructType().add("name", StringType()).add("n", LongType())
    query = PreferenceQuery(Preference.checked("best", **better))
    with pytest.raises(TopologyError, match=said):
        PreferenceAggregation.resolve("best", query, columns, keys)


@pytest.mark.parametrize("k_column", ["", 7])
def test_a_column_for_k_has_a_name(k_column: Any) -> None:
    columns = StructType().add("n", LongType())
    query = PreferenceQuery(Preference.checked("best", minimize="n"), 3)
    with pytest.raises(TopologyError, match="k_column is"):
        PreferenceAggregation.resolve("best", query, columns, (), k_column)
    named = PreferenceAggregation.resolve("best", query, columns, (), "k")
    assert named.schema.names == ["n", "k"]


def test_states_of_other_columns_are_told_apart() -> None:
    query = PreferenceQuery(Preference.checked("best", minimize="n"))
    one = PreferenceAggregation.resolve("best", query, StructType().add("n", LongType()))
    more = StructType().add("n", LongType()).add("name", StringType())
    other = PreferenceAggregation.resolve("best", query, more)
    assert one.state == other.state
    assert one.state_text != other.state_text


def test_parts_are_numbered_by_task() -> None:
    (batch,) = PaneStep(QUERY, ROWS, 2, "best")(in_batches(some([1, 2]), 9))
    assert batch.column(PART).to_pylist() == [0]
