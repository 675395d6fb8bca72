from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from oracle import bag
from penstock import journal
from penstock.elasticity.propagation import estimate_inputs
from penstock.elasticity.shares import Shares
from penstock.engine.steps import Step
from penstock.journal.events import RowsFailed

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]


def test_on_error_fail_stops_the_query_with_operator_row_and_traceback(
    events: Events, tmp_path: Path
) -> None:
    def inverse(row: dict[str, Any]) -> dict[str, Any]:
        return {"id": row["id"], "inverse": 1 / (row["id"] - 13), "pad": "x" * 2_000}

    s = ps.Stream.read(events(2, 20)).select("id", "repeat('y', 3000) AS long")
    s = s.map(inverse, "id bigint, inverse double, pad string")
    out = str(tmp_path / "out")
    query = ps.run(s.to(ps.sinks.parquet(out)), checkpoint=str(tmp_path / "ck"), available_now=True)
    with pytest.raises(ps.OperatorError) as raised:
        query.await_termination(60)
    error = raised.value
    assert (error.operator, error.error) == ("inverse", "ZeroDivisionError")
    assert error.row.startswith('{"id": 13, "long": "yyy')
    assert len(error.row.encode()) <= 1_024
    assert "1 / (row" in error.user_traceback
    assert query.exception() is error
    assert query.status().state == "failed"
    assert not list(Path(out).glob("batch_id=*"))
    assert not list((tmp_path / "ck" / "commits").glob("0*"))
    stopped = list(journal.read(query.journal_dir))[-1].body
    assert "inverse" in (stopped.error or "")


def test_no_more_dead_letters_are_expected_than_rows_fail(events: Events, finish: Finish) -> None:
    class Learns:
        def __init__(self) -> None:
            self.shares = Shares()

        def decide(self, observation: ps.Observation) -> ps.Decision:
            self.shares.observe(observation)
            return ps.Decision(2, "two are enough")

    def tenths(row: dict[str, Any]) -> dict[str, Any]:
        return {"id": row["id"], "inverse": 1 / (row["id"] % 10)}

    policy, letters = Learns(), ps.sinks.memory()
    s = ps.Stream.read(events(3, 50), name="numbers")
    s = s.map(tenths, "id bigint, inverse double", on_error="dead_letter")
    finish(
        s.to(ps.sinks.memory(), name="good"), s.dead_letters().to(letters, name="bad"),
        policy=policy,
    )  # fmt: skip
    assert len(letters.rows()) == 15
    expected = estimate_inputs(policy.shares.nodes(), {"numbers": 150.0})
    assert (expected["good"], expected["bad"]) == (pytest.approx(135), pytest.approx(15))


def test_dead_letters_of_a_chain_and_a_branch_are_told_apart(
    events: Events, finish: Finish
) -> None:
    def first(row: dict[str, Any]) -> dict[str, Any]:
        if row["id"] % 10 == 1:
            raise LookupError("no such user")
        return {"id": row["id"]}

    def second(row: dict[str, Any]) -> dict[str, Any]:
        return {"id": "text" if row["id"] % 10 == 2 else row["id"]}

    def third(row: dict[str, Any]) -> dict[str, Any]:
        return {"id": None if row["id"] % 10 == 3 else row["id"]}

    good, letters = ps.sinks.memory(), ps.sinks.memory()
    s = ps.Stream.read(events(2, 50))
    s = s.map(first, "id bigint", on_error="dead_letter")
    s = s.map(second, "id bigint", on_error="dead_letter").filter("id >= 0")
    s = s.map(third, "id bigint NOT NULL", on_error="dead_letter")
    query = finish(s.to(good), s.dead_letters().to(letters))
    assert bag(good.rows()) == bag(events.table.filter("id % 10 NOT IN (1, 2, 3)").select("id"))
    found = Counter((row.operator, row.error) for row in letters.rows())
    assert found == {("first", "LookupError"): 10, ("second", "WrongValue"): 10} | {
        ("third", "WrongValue"): 10
    }
    ids = sorted(json.loads(row.row)["id"] for row in letters.rows())
    assert ids == [i for i in range(100) if i % 10 in (1, 2, 3)]
    told = [e.body for e in journal.read(query.journal_dir) if isinstance(e.body, RowsFailed)]
    assert Counter(e.operator for e in told) == {"first": 2, "second": 2, "third": 2}
    assert {json.dumps(dict(e.reasons)) for e in told if e.operator == "first"} == {
        '{"LookupError": 5}'
    }
    assert [dict(e.examples) for e in told if e.operator == "first"] == [
        {"LookupError": "no such user"}
    ] * 2


def test_dead_letters_that_nobody_takes_are_kept_in_the_checkpoint(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    def odd(row: dict[str, Any]) -> dict[str, Any]:
        assert row["id"] % 2, "even"
        return {"id": row["id"]}

    sink = ps.sinks.memory()
    finish(ps.Stream.read(events(2, 10)).map(odd, "id bigint", on_error="dead_letter").to(sink))
    assert sorted(row.id for row in sink.rows()) == [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]
    letters = spark.read.parquet(str(tmp_path / "checkpoint" / "dead_letters")).collect()
    assert sorted(json.loads(row.row)["id"] for row in letters) == list(range(0, 20, 2))


def test_only_batches_with_dead_letters_leave_files_for_them(
    spark: SparkSession, events: Events, tmp_path: Path
) -> None:
    """Eight micro-batches, of which the third and the sixth have rows that fail."""
    checkpoint, kept = tmp_path / "checkpoint", tmp_path / "checkpoint" / "dead_letters"
    sizes = dict[int, int]()

    def fails(row: dict[str, Any]) -> dict[str, Any]:
        assert row["id"] not in (25, 57), "one of two"
        return {"id": row["id"]}

    def look(step: Step, batch_id: int) -> None:
        if step is Step.COMMIT:
            there = [file for file in checkpoint.rglob("*") if file.is_file()]
            tops = [file.relative_to(checkpoint).parts[0] for file in there]
            # Of these two, which are pruned, every batch has its own.
            sizes[batch_id] = sum(top not in ("spark", "commits") for top in tops)

    good = ps.Stream.read(events(8, 10)).map(fails, "id bigint", on_error="dead_letter")
    query = ps.run(
        good.to(ps.sinks.parquet(str(tmp_path / "good"))),
        checkpoint=str(checkpoint),
        available_now=True,
        on_step=look,
    )
    query.await_termination(120)
    assert sorted(path.name for path in kept.glob("batch_id=*")) == ["batch_id=2", "batch_id=5"]
    assert [batch for batch in range(1, 8) if sizes[batch] > sizes[batch - 1]] == [2, 5]
    rows = spark.read.parquet(str(kept)).select("batch_id", "row").collect()
    assert sorted((row.batch_id, json.loads(row.row)["id"]) for row in rows) == [(2, 25), (5, 57)]


@pytest.mark.parametrize("still_fails", [True, False])
def test_dead_letters_of_a_batch_that_runs_again_are_those_of_the_last_try(
    spark: SparkSession, events: Events, tmp_path: Path, still_fails: bool
) -> None:
    kept = tmp_path / "checkpoint" / "dead_letters"
    source = events(3, 10)

    def start(fails: bool, **options: Any) -> ps.Query:
        def work(row: dict[str, Any]) -> dict[str, Any]:
            assert not fails or row["id"] != 13, "thirteen"
            return {"id": row["id"]}

        good = ps.Stream.read(source).map(work, "id bigint", on_error="dead_letter")
        sink = ps.sinks.parquet(str(tmp_path / "good"))
        checkpoint = str(tmp_path / "checkpoint")
        return ps.run(good.to(sink), checkpoint=checkpoint, available_now=True, **options)

    def break_off(step: Step, batch_id: int) -> None:
        """Do it between the last of the two sinks and the commit."""
        if step is Step.SINKS and (kept / "batch_id=1").exists():
            raise RuntimeError("broken off")

    with pytest.raises(ps.QueryError, match="broken off"):
        start(True, on_step=break_off).await_termination(120)
    assert [path.name for path in kept.glob("batch_id=*")] == ["batch_id=1"]
    start(still_fails).await_termination(120)
    good = [row.id for row in spark.read.parquet(str(tmp_path / "good")).collect()]
    assert sorted(good) == [i for i in range(30) if not still_fails or i != 13]
    letters = list(kept.glob("batch_id=*/*.parquet"))
    found = [
        json.loads(row.row)["id"] for f in letters for row in spark.read.parquet(str(f)).collect()
    ]
    assert found == ([13] if still_fails else [])
    assert [path.name for path in kept.glob("batch_id=*")] == (
        ["batch_id=1"] if still_fails else []
    )


def test_a_later_stream_can_work_on_dead_letters(events: Events, finish: Finish) -> None:
    def always(row: dict[str, Any]) -> dict[str, Any]:
        raise ValueError(row["id"])

    def parse(row: dict[str, Any]) -> dict[str, Any]:
        return {"again": json.loads(row["row"])["id"]}

    again, good = ps.sinks.memory(), ps.sinks.memory()
    s = ps.Stream.read(events(1, 10)).map(always, "id bigint", on_error="dead_letter")
    retried = s.dead_letters().filter("error = 'ValueError'").map(parse, "again bigint")
    finish(s.to(good), retried.to(again))
    assert good.rows() == []
    assert sorted(row.again for row in again.rows()) == list(range(10))


def test_a_python_function_that_prints_nothing_to_the_output_keeps_all_rows_of_an_empty_batch(
    events: Events, finish: Finish
) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(events(2, 5)).filter("id > 6").map(lambda r: {"id": r["id"]}, "id bigint")
    finish(s.to(sink))
    assert sorted(row.id for row in sink.rows()) == [7, 8, 9]


def test_rows_that_python_cannot_hold_or_spark_cannot_take_become_letters(
    events: Events, finish: Finish
) -> None:
    def work(row: dict[str, Any]) -> dict[str, Any]:
        if row["id"] == 7:
            raise SystemExit("enough")
        if row["id"] == 8:
            raise ValueError("half \ud83d" + "x" * 600_000)
        at = row["ts"].replace(tzinfo=None) if row["id"] == 9 else row["ts"]
        inside = {"a": None if row["id"] == 10 else 1}
        return {"id": row["id"], "at": at, "inside": inside}

    good, letters = ps.sinks.memory(), ps.sinks.memory()
    s = ps.Stream.read(events(1, 12)).select(
        "id",
        "ts",
        "if(id = 3, cast(X'C328FF' AS string), user) AS user",
        "if(id = 4, date'+10000-01-01', date'2026-01-01') AS day",
        "array(if(id = 5, timestamp'+12000-01-01 00:00:00', ts)) AS moments",
        "map(struct(id), user) AS odd",
        "map(date'2026-01-01', id) AS by_day",
    )
    returns = "id bigint, at timestamp, inside struct<a: bigint NOT NULL>"
    s = s.map(work, returns, on_error="dead_letter")
    finish(s.to(good), s.dead_letters().to(letters))
    found = {json.loads(row.row)["id"]: row for row in letters.rows()}
    assert {number: row.error for number, row in found.items()} == {
        3: "UnreadableValue",
        4: "UnreadableValue",
        5: "UnreadableValue",
        7: "SystemExit",
        8: "ValueError",
        9: "WrongValue",
        10: "WrongValue",
    }
    assert json.loads(found[3].row)["user"] == "c328ff"
    assert json.loads(found[7].row)["by_day"] == {"2026-01-01": 7}
    assert json.loads(found[7].row)["odd"] == [[{"id": 7}, "u0"]]
    assert "datetime(..., tzinfo=UTC)" in found[9].message
    assert "'inside.a' may not be null" in found[10].message
    assert sorted(row.id for row in good.rows()) == [0, 1, 2, 6, 11]


@pytest.mark.slow
def test_a_million_rows_with_ten_thousand_bad_ones(
    spark: SparkSession, finish: Finish, tmp_path: Path
) -> None:
    """Of every 100 rows one is bad: a third raise, a third are of a wrong type, a third null."""
    where, rows = str(tmp_path / "in"), 1_000_000
    for part in range(4):
        span = spark.range(part * rows // 4, (part + 1) * rows // 4, numPartitions=1)
        span.selectExpr("id", "id / 3 AS value").write.mode("append").parquet(where)

    def work(row: dict[str, Any]) -> dict[str, Any]:
        number = row["id"]
        if number % 100 == 50:
            case = number // 100 % 3
            if case == 0:
                raise RuntimeError("the look-up failed")
            return {"id": number, "value": "a lot" if case == 1 else None}
        return {"id": number, "value": row["value"] * 2}

    df = (
        spark.readStream.schema("id bigint, value double")
        .option("maxFilesPerTrigger", 1)
        .parquet(where)
    )
    s = ps.Stream.read(df)
    s = s.map(work, "id bigint NOT NULL, value double NOT NULL", on_error="dead_letter")
    good, bad = str(tmp_path / "good"), str(tmp_path / "bad")
    finish(s.to(ps.sinks.parquet(good)), s.dead_letters().to(ps.sinks.parquet(bad)))
    expected = spark.range(rows).filter("id % 100 <> 50").selectExpr("id", "id / 3 * 2 AS value")
    found = spark.read.parquet(good).select("id", "value")
    assert found.count() == rows - rows // 100
    assert found.exceptAll(expected).isEmpty()
    letters = spark.read.parquet(bad)
    assert letters.count() == rows // 100
    ids = letters.selectExpr("cast(get_json_object(row, '$.id') AS bigint) AS id")
    assert ids.exceptAll(spark.range(rows).filter("id % 100 = 50")).isEmpty()
    reasons = {
        (r.operator, r.error, r.message): r["count"]
        for r in letters.groupBy("operator", "error", "message").count().collect()
    }
    assert reasons == {
        ("work", "RuntimeError", "the look-up failed"): 3334,
        ("work", "WrongValue", "column 'value' is double, the function returned a str"): 3333,
        ("work", "WrongValue", "column 'value' may not be null"): 3333,
    }
