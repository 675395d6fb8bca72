"""Which rows are one key's, what a state can hold, and what happens when a function fails."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock as ps

Finish = Callable[..., ps.Query]
Batches = Callable[..., DataFrame]


@pytest.fixture
def batches(spark: SparkSession, tmp_path: Path) -> Batches:
    """Return a maker of a stream of the given batches of rows."""

    def make(schema: str, *given: list[tuple[Any, ...]], name: str = "given") -> DataFrame:
        for rows in given:
            df = spark.createDataFrame(rows, schema)
            df.coalesce(1).write.mode("append").parquet(str(tmp_path / name))
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(tmp_path / name))

    return make


def seen(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
    """Count the rows of a key over all batches, and tell the key as it came."""
    state.update(n=(state.value or {"n": 0})["n"] + len(rows))
    return {"key": json.dumps(list(key.values()), default=str), "n": state.value["n"]}


def last_counts(rows: list[Row]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.key] = max(row.n, counts.get(row.key, 0))
    return counts


def test_keys_are_those_of_sparks_group_by(batches: Batches, finish: Finish) -> None:
    nan = math.nan
    one = [(0.0, "a"), (-0.0, "a"), (nan, "a"), (None, "a"), (1.5, None), (None, None)]
    two = [(-0.0, "a"), (-nan, "a"), (None, None), (0.0, None), (1.5, "a"), (1.5, "")]
    schema = "x double, name string"
    sink = ps.sinks.memory()
    s = ps.Stream.read(batches(schema, one, two)).group_by("x", "name")
    finish(s.process(seen, state="n int", schema="key string, n int", groups=4).to(sink))
    assert last_counts(sink.rows()) == {
        '[0.0, "a"]': 3,
        '[NaN, "a"]': 2,
        '[null, "a"]': 1,
        "[1.5, null]": 1,
        "[null, null]": 2,
        "[0.0, null]": 1,
        '[1.5, "a"]': 1,
        '[1.5, ""]': 1,
    }


@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        ("float", "IF(id % 3 = 0, -0.0, IF(id % 3 = 1, 0.0, id % 4))"),
        ("decimal(20,3)", "id % 3"),
        ("struct<a:double,b:string>", "named_struct('a', IF(id % 2 = 0, -0.0, 0.0), 'b', 'x')"),
        ("array<int>", "array(id % 3, NULL)"),
        ("timestamp", "timestamp_seconds(id % 3)"),
        ("binary", "CAST(concat('b', id % 3) AS binary)"),
        ("boolean", "id % 2 = 0"),
        ("date", "date_from_unix_date(CAST(id % 3 AS int))"),
    ],
)
def test_keys_of_any_type_have_one_state_each(
    spark: SparkSession, finish: Finish, tmp_path: Path, kind: str, expression: str
) -> None:
    schema = f"k {kind}, id long"
    for batch in range(2):
        df = spark.range(batch * 12, batch * 12 + 12, 1, 2)
        df = df.selectExpr(f"CAST({expression} AS {kind}) AS k", "id")
        df.coalesce(1).write.mode("append").parquet(str(tmp_path / "typed"))
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    s = ps.Stream.read(reader.parquet(str(tmp_path / "typed"))).group_by("k")
    sink = ps.sinks.memory()
    finish(s.process(seen, state="n int", schema="key string, n int", groups=4).to(sink))
    counts = spark.read.schema(schema).parquet(str(tmp_path / "typed")).groupBy("k").count()
    assert sorted(last_counts(sink.rows()).values()) == sorted(
        row["count"] for row in counts.collect()
    )


VALUES: dict[str, Any] = {
    "at": datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC),
    "day": date(2026, 3, 4),
    "price": Decimal("12345.6789"),
    "tags": ["a", None, "c"],
    "place": {"x": 1.5, "name": "é", "when": datetime(2026, 1, 1, tzinfo=UTC)},
    "counts": {"a": 1, "b": 2},
    "raw": b"\x00\xff",
    "empty": None,
}
TYPES = (
    "at timestamp, day date, price decimal(20,4), tags array<string>, "
    "place struct<x:double,name:string,when:timestamp>, counts map<string,int>, raw binary, "
    "empty string"
)


def test_a_state_comes_back_as_it_was(batches: Batches, finish: Finish) -> None:
    def keep(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
        if state.value is None:
            state.update(VALUES)
            return {"k": key["k"], "same": None, "shown": ""}
        same = state.value == VALUES
        return {"k": key["k"], "same": same, "shown": repr(state.value)}

    sink = ps.sinks.memory()
    s = ps.Stream.read(batches("k int", [(1,)], [(1,)], [(1,)])).group_by("k")
    finish(s.process(keep, state=TYPES, schema="k int, same boolean, shown string").to(sink))
    assert [row.same for row in sink.rows()] == [None, True, True], sink.rows()[-1].shown


def picky(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> dict[str, Any]:
    n = (state.value or {"n": 0})["n"] + len(rows)
    state.update(n=n)
    if any(row["x"] == 13 for row in rows):
        raise ValueError("unlucky")
    if any(row["x"] == 14 for row in rows):
        state.update(n="many")
    if any(row["x"] == 15 for row in rows):
        return {"k": key["k"], "n": 1.5}
    return {"k": key["k"], "n": n}


PICKY = ("n long", "k string, n long")


def test_a_key_that_fails_keeps_its_state_and_its_rows_are_set_aside(
    batches: Batches, finish: Finish
) -> None:
    given = [
        [("a", 1), ("b", 1), ("c", 1)],
        [("a", 13), ("a", 2), ("b", 2), ("c", 14)],
        [("a", 3), ("b", 15), ("c", 3)],
        [("a", 4), ("b", 4), ("c", 4)],
    ]
    s = ps.Stream.read(batches("k string, x int", *given))
    state, schema = PICKY
    p = s.group_by("k").process(picky, state=state, schema=schema, on_error="dead_letter")
    sink, dead = ps.sinks.memory(), ps.sinks.memory()
    query = finish(p.to(sink), p.dead_letters().to(dead))
    assert last_counts([Row(key=row.k, n=row.n) for row in sink.rows()]) == {"a": 3, "b": 3, "c": 3}
    letters = sorted(
        (json.loads(row.row)["k"], json.loads(row.row)["x"], row.error) for row in dead.rows()
    )
    assert letters == [
        ("a", 2, "ValueError"),
        ("a", 13, "ValueError"),
        ("b", 15, "WrongValue"),
        ("c", 14, "WrongValue"),
    ]
    messages = {row.message for row in dead.rows()}
    assert "unlucky" in messages
    assert "in the state, column 'n' is int64, the function returned a str" in messages
    (told,) = [op for op in query.status().last.operators if op.name == "picky"]
    assert (told.rows_in, told.rows_out) == (3, 3)


def test_a_row_that_python_cannot_hold_fails_alone_and_is_told_once(
    batches: Batches, finish: Finish
) -> None:
    """The first row of 'a' and of 'c' is of the year 29349; the function fails on what is left."""
    rows = [("a", 1), ("a", 13), ("b", 1), ("c", 1), ("c", 14)]
    df = batches("k string, x int", rows).selectExpr(
        "k", "x", "IF(x = 1 AND k <> 'b', date_add(DATE'2000-01-01', 9990000), current_date()) AS d"
    )
    state, schema = PICKY
    grouped = ps.Stream.read(df).group_by("k")
    p = grouped.process(picky, state=state, schema=schema, on_error="dead_letter")
    sink, dead = ps.sinks.memory(), ps.sinks.memory()
    finish(p.to(sink), p.dead_letters().to(dead))
    assert [row.k for row in sink.rows()] == ["b"]
    letters = sorted((json.loads(r.row)["k"], json.loads(r.row)["x"], r.error) for r in dead.rows())
    assert letters == [
        ("a", 1, "UnreadableValue"),
        ("a", 13, "ValueError"),
        ("c", 1, "UnreadableValue"),
        ("c", 14, "WrongValue"),
    ]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (13, r"'picky' failed with ValueError: unlucky\non the row \{\"k\": \"a\", \"x\": 13\}"),
        (14, "in the state, column 'n' is int64, the function returned a str"),
        (15, "column 'n' is int64, the function returned a float"),
    ],
)
def test_a_function_that_fails_stops_the_query_and_names_the_row(
    batches: Batches, finish: Finish, x: int, words: str
) -> None:
    s = ps.Stream.read(batches("k string, x int", [("a", x)])).group_by("k")
    state, schema = PICKY
    with pytest.raises(ps.OperatorError, match=words):
        finish(s.process(picky, state=state, schema=schema).to(ps.sinks.memory()))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda state, row: state.update(m=1), "the state has no column 'm'. Its columns are n"),
        (lambda state, row: state.set_timer(row["ts"]), "the stream has no watermark"),
        (lambda state, row: state.set_timer(5), "a datetime with a time zone, not to 5"),
    ],
)
def test_a_misused_state_is_told_with_what_to_write(
    batches: Batches, finish: Finish, act: Any, words: str
) -> None:
    def misuse(key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState) -> None:
        act(state, rows[0])

    start = datetime(2026, 1, 1, tzinfo=UTC)
    s = ps.Stream.read(batches("k int, ts timestamp", [(1, start)])).group_by("k")
    with pytest.raises(ps.OperatorError, match=words):
        finish(s.process(misuse, state="n int", schema="k int").to(ps.sinks.memory()))


def test_a_timer_that_fails_is_told_once_and_the_state_stays(
    batches: Batches, finish: Finish
) -> None:
    def fragile(
        key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
    ) -> dict[str, Any]:
        if state.timed_out:
            raise RuntimeError("no time")
        state.update(n=(state.value or {"n": 0})["n"] + 1)
        if state.timer is None and state.value["n"] == 1:
            state.set_timer(rows[0]["ts"] + timedelta(seconds=1))
        return {"k": key["k"], "n": state.value["n"]}

    start = datetime(2026, 1, 1, tzinfo=UTC)
    given = [[(1, start)], *[[(2, start + timedelta(minutes=m))] for m in range(1, 5)]]
    given.append([(1, start + timedelta(minutes=9))])
    s = ps.Stream.read(batches("k int, ts timestamp", *given), time="ts", watermark="0 seconds")
    p = s.group_by("k").process(
        fragile, state="n int", schema="k int, n int", on_error="dead_letter"
    )
    sink, dead = ps.sinks.memory(), ps.sinks.memory()
    finish(p.to(sink), p.dead_letters().to(dead))
    assert [(row.row, row.message) for row in dead.rows() if row.row == '{"k": 1}'] == [
        ('{"k": 1}', "no time")
    ]
    assert max(row.n for row in sink.rows() if row.k == 1) == 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda g: g.process(seen, state="n in", schema="k int"), "schema 'n in' is not readable"),
        (lambda g: g.process(seen, state="n int", schema=""), "names no columns|not readable"),
        (lambda g: g.process("seen", state="n int", schema="k int"), "a str can't be called"),
        (
            lambda g: g.process(seen, state="n int", schema="k int", groups=0),
            "groups=0 is no number",
        ),
        (lambda g: g.process(seen, state="n int", schema="k int", on_error="x"), "on_error is 'x'"),
    ],
)
def test_mistakes_are_told_at_the_call(batches: Batches, make: Any, words: str) -> None:
    grouped = ps.Stream.read(batches("k int, m map<string,int>", [(1, {})])).group_by("k")
    with pytest.raises(ps.TopologyError, match=words):
        make(grouped)


def test_keys_that_are_not_equal_byte_by_byte_are_refused(batches: Batches) -> None:
    s = ps.Stream.read(batches("k int, m map<string,int>", [(1, {})]))
    with pytest.raises(ps.TopologyError, match=r"the key 'm' is map<string,int>.*map_entries\(m\)"):
        s.group_by("m").process(seen, state="n int", schema="k int")
    folded = s.select("k", "CAST(k AS string) COLLATE UTF8_LCASE AS name")
    with pytest.raises(ps.TopologyError, match=r"the key 'name' is string collate.*lower\(name\)"):
        folded.group_by("name").process(seen, state="n int", schema="k int")
