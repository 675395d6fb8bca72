"""Merging skylines in a task, and counting what they dominate, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.aggregate_steps import STATE, Limits
from penstock.engine.dominance_counting import COUNTS, FIRST, CountStep, SumStep
from penstock.engine.preference_steps import PaneStep, WindowStep
from penstock.engine.preference_tree import FEW, MOST_MERGED, InWords, tree_widths
from penstock.engine.python_step import ERROR_MARK, RowFailed
from penstock.engine.task_states import TaskStates
from penstock.errors import PenstockError
from penstock.preference.preference import Preference
from penstock.preference.query import PreferenceQuery

QUERY = PreferenceQuery(Preference(minimize=("x",), maximize=("y",)))
ROW = pa.schema([("key", pa.string()), ("x", pa.int64()), ("y", pa.float64())])
KEYED = pa.schema([("pane", pa.int32()), ("_key", pa.string()), *ROW])
Line = tuple[str | None, int, float]

lines = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 5), st.integers(0, 5).map(float)),
    max_size=25,
)


def rows_of(rows: list[Line]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"pane": 0, "_key": key, "key": key, "x": x, "y": y} for key, x, y in rows], KEYED
    )


def partials(parts: list[list[Line]]) -> list[pa.RecordBatch]:
    local = PaneStep(QUERY, ROW, 2, "skyline")
    return [batch for part in parts for batch in local([rows_of(part)])]


def dominates(one: Line, other: Line) -> bool:
    same, as_good = one[0] == other[0], one[1] <= other[1] and one[2] >= other[2]
    return same and as_good and one != other


def merged(states: list[pa.RecordBatch], *, finishes: bool) -> list[pa.RecordBatch]:
    return list(TaskStates(WindowStep(QUERY, ROW, 2, finishes))(states))


@given(st.lists(lines, max_size=5), st.integers(0, 5))
def test_a_tree_of_merges_finds_the_rows_that_none_dominates(
    parts: list[list[Line]], split: int
) -> None:
    states = partials(parts)
    halves = [merged(half, finishes=False) for half in (states[:split], states[split:])]
    found = [
        (row["key"], row["x"], row["y"])
        for batch in merged([each for half in halves for each in half], finishes=True)
        for row in batch.to_pylist()
    ]
    rows = [row for part in parts for row in part]
    expected = [row for row in rows if not any(dominates(other, row) for other in rows)]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_states_are_unpacked_for_a_few_keys_at_a_time() -> None:
    parts: list[list[Line]] = [[(f"k{n % 5}", n, float(n)) for n in range(40)] for _ in range(3)]
    states = partials(parts)
    at_once = TaskStates(WindowStep(QUERY, ROW, 2, finishes=True), bytes_at_once=1)
    [whole] = merged(states, finishes=True)
    pieces = list(at_once(states))
    assert len(pieces) == 5
    assert pa.Table.from_batches(pieces).to_pylist() == whole.to_pylist()


def copied(states: list[pa.RecordBatch], turned: bool, is_first: bool) -> Iterator[pa.RecordBatch]:
    """Make the copy of a skyline that a counting task gets, with its rows in another order."""
    for batch in states:
        texts = []
        for state in batch.column(STATE):
            rows = pa.ipc.read_record_batch(state.as_buffer(), ROW)
            order = list(range(rows.num_rows))
            texts.append(
                rows.take(pa.array(order[::-1] if turned else order)).serialize().to_pybytes()
            )
        columns = [*batch.columns[:2], pa.array(texts, pa.binary())]
        columns += [pa.array([is_first] * len(texts)), pa.nulls(len(texts), pa.int64())]
        columns += [pa.nulls(len(texts), pa.float64())]
        yield pa.RecordBatch.from_arrays(columns, names=["pane", "_key", STATE, FIRST, "x", "y"])


def compared(rows: list[Line]) -> pa.RecordBatch:
    batch = rows_of(rows)
    columns = [
        *batch.columns[:2],
        pa.nulls(len(rows), pa.binary()),
        pa.array([False] * len(rows), pa.bool_()),
    ]
    columns += [batch.column("x"), batch.column("y")]
    return pa.RecordBatch.from_arrays(columns, names=["pane", "_key", STATE, FIRST, "x", "y"])


@given(st.lists(lines, min_size=1, max_size=4), st.integers(1, 7))
def test_counts_of_copies_add_up_whatever_the_order_of_their_rows(
    parts: list[list[Line]], at_once: int
) -> None:
    best = merged(partials(parts), finishes=False)
    count = CountStep(QUERY, ROW, 2, Limits(rows=at_once))
    counted = [
        batch
        for task, part in enumerate(parts)
        for batch in count([*copied(best, task % 2 == 1, task == 0), compared(part)])
    ]
    assert sum(batch.column(STATE).null_count for batch in counted) == sum(
        batch.num_rows for batch in counted[1:]
    )
    found = [
        (row["key"], row["x"], row["y"], row[COUNTS])
        for batch in SumStep(QUERY, ROW, 2)(counted)
        for row in batch.to_pylist()
    ]
    rows = [row for part in parts for row in part]
    expected = [
        (*row, sum(dominates(row, other) for other in rows))
        for row in rows
        if not any(dominates(other, row) for other in rows)
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_rows_that_were_not_there_before_are_told() -> None:
    best = merged(partials([[("a", 1, 1.0)]]), finishes=False)
    count = CountStep(QUERY, ROW, 2, Limits())
    with pytest.raises(PenstockError, match="cache it, before rows are counted"):
        list(count([*copied(best, False, True), compared([("b", 1, 1.0)])]))


@given(st.integers(1, 100_000))
def test_every_level_merges_a_few_and_the_last_has_one_task(partitions: int) -> None:
    widths = tree_widths(partitions)
    assert widths[-1] == 1
    for before, width in zip((partitions, *widths[:-1]), widths, strict=True):
        assert width < before or partitions == 1
        assert before <= max(MOST_MERGED, FEW) * width


def test_a_row_that_can_not_be_compared_is_told_in_words() -> None:
    def failing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        told = {"operator": "skyline", "message": "column 'x' is bad.", "row": '{"x": 1}'}
        raise RowFailed(ERROR_MARK + json.dumps(told))

    step = InWords(failing)([rows_of([("a", 1, 1.0)])])
    assert next(step).num_rows == 1
    with pytest.raises(PenstockError, match=r"'skyline': column 'x' is bad\. Such a row is"):
        next(step)
