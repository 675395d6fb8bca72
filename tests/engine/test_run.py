from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from oracle import bag

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]


def enrich(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "user": row["user"].upper(), "pct": row["rate"] * 100}


ENRICHED = "id bigint, user string, pct double"


def enriched(table: DataFrame) -> DataFrame:
    """What ``enrich`` does, in Spark's own words: the oracle."""
    return table.select("id", F.upper("user").alias("user"), (F.col("rate") * 100).alias("pct"))


def test_select_map_filter_map_gives_what_a_plain_batch_gives(
    events: Events, finish: Finish
) -> None:
    sink = ps.sinks.memory()
    s = ps.Stream.read(events(3, 100)).select("id", "user", "rate")
    s = s.map(enrich, ENRICHED).filter("pct > 1000")
    s = s.map(lambda row: {"id": row["id"], "half": row["pct"] / 2}, "id bigint, half double")
    finish(s.to(sink))
    expected = enriched(events.table).filter("pct > 1000").selectExpr("id", "pct / 2")
    assert bag(sink.rows()) == bag(expected)


def test_every_batch_is_one_spark_job_for_a_line_of_operators(
    events: Events, finish: Finish
) -> None:
    s = ps.Stream.read(events(3, 50)).select("id", "user", "rate").map(enrich, ENRICHED)
    query = finish(s.filter("pct > 10").to(ps.sinks.memory()), slots=ps.LocalSlots(max=1))
    last = query.status().last
    assert last is not None
    assert last.jobs == 1


#               +-> filter -> a
# events -> map-+
#               +-> select -> b
def test_a_fork_computes_the_shared_part_once(
    spark: SparkSession, events: Events, finish: Finish
) -> None:
    calls = spark.sparkContext.accumulator(0)

    def counted(row: dict[str, Any]) -> dict[str, Any]:
        calls.add(1)
        return enrich(row)

    a, b = ps.sinks.memory(), ps.sinks.memory()
    m = ps.Stream.read(events(2, 60)).map(counted, ENRICHED)
    query = finish(m.filter("pct >= 50").to(a), m.select("user").to(b))
    expected = enriched(events.table)
    assert bag(a.rows()) == bag(expected.filter("pct >= 50"))
    assert bag(b.rows()) == bag(expected.select("user"))
    assert calls.value == 120
    assert query.status().last.jobs == 2
    assert not spark.sparkContext._jsc.sc().getRDDStorageInfo()


def test_branches_with_python_work_run_side_by_side_after_one_job_that_fills_the_cache(
    events: Events, finish: Finish
) -> None:
    a, b = ps.sinks.memory(), ps.sinks.memory()
    m = ps.Stream.read(events(2, 40)).map(enrich, ENRICHED)
    one = m.map(lambda row: {"id": row["id"]}, "id bigint", name="one")
    two = m.map(lambda row: {"user": row["user"]}, "user string", name="two")
    query = finish(one.to(a), two.to(b))
    assert bag(a.rows()) == bag(events.table.select("id"))
    assert bag(b.rows()) == bag(enriched(events.table).select("user"))
    assert query.status().last.jobs == 3
    assert [job.after for job in query._runner.jobs] == [(), ("enrich",), ("enrich",)]


# left  --+
#         +-> union -> map -> sink
# right --+-> filter -> other
def test_two_sources_a_union_and_a_branch_of_one_of_them(events: Events, finish: Finish) -> None:
    left_df = events(2, 30, "left")
    left_table = events.table
    right_df = events(3, 20, "right")
    right_table = events.table
    left = ps.Stream.read(left_df, name="left")
    right = ps.Stream.read(right_df, name="right")
    both, other = ps.sinks.memory(), ps.sinks.memory()
    # Columns in another order: a union goes by name.
    united = left.union(right.select("ts", "rate", "user", "id")).map(enrich, ENRICHED)
    query = finish(united.to(both), right.filter("id % 2 = 0").to(other))
    assert bag(both.rows()) == bag(enriched(left_table.unionByName(right_table)))
    assert bag(other.rows()) == bag(right_table.filter("id % 2 = 0"))
    rows = {source.name: source.rows for source in query.status().last.sources}
    assert set(rows) == {"left", "right"}


def test_joins_with_a_table_are_those_of_spark(
    spark: SparkSession, events: Events, finish: Finish
) -> None:
    df = events(2, 40)
    users = spark.createDataFrame([("u1", 10), ("u2", 20), ("u9", 90)], "user string, age int")
    for how in ("inner", "left", "left_semi", "left_anti"):
        sink = ps.sinks.memory()
        s = ps.Stream.read(df).join(users, on="user", how=how)
        finish(s.to(sink), checkpoint=f"checkpoint-{how}")
        assert bag(sink.rows()) == bag(events.table.join(users, "user", how)), how


def test_a_join_without_broadcast_gives_the_same(
    spark: SparkSession, events: Events, finish: Finish
) -> None:
    users = spark.createDataFrame([("u1", 10), ("u2", 20)], "user string, age int")
    sink = ps.sinks.memory()
    s = ps.Stream.read(events(2, 40)).join(users, on="user", broadcast=False)
    s = s.map(lambda row: {"id": row["id"], "age": row["age"]}, "id bigint, age int")
    finish(s.to(sink))
    assert bag(sink.rows()) == bag(events.table.join(users, "user").select("id", "age"))


def test_a_table_is_read_again_when_its_time_has_come(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    """Batches 0 and 1 see the first table; the clock then passes the refresh time."""
    where = str(tmp_path / "users")
    spark.createDataFrame([("u1", 1)], "user string, age int").write.parquet(where)
    now = [0.0]

    def grow(step: str, batch_id: int) -> None:
        if step == "plan" and batch_id == 1:
            new = spark.createDataFrame([("u2", 2)], "user string, age int")
            new.write.mode("append").parquet(where)
            now[0] = 60.0

    sink = ps.sinks.memory()
    s = ps.Stream.read(events(4, 7)).join(spark.read.parquet(where), "user", refresh="1 minute")
    finish(s.to(sink), clock=lambda: now[0], on_step=grow)
    seen = {batch: {row.user for row in rows} for batch, rows in sink.batches.items()}
    assert seen == {0: {"u1"}, 1: {"u1"}, 2: {"u1", "u2"}, 3: {"u1", "u2"}}


def test_late_rows_are_those_at_or_before_the_watermark_of_the_batch_before(
    spark: SparkSession, finish: Finish, tmp_path: Path
) -> None:
    """Times in seconds, watermark 10 behind the newest:

    batch 0:  100 105        late: none       watermark after: 95
    batch 1:   95  96 120    late: 95         watermark after: 110
    batch 2:  110 111  50    late: 110, 50
    """
    where = str(tmp_path / "in")
    for times in ([100, 105], [95, 96, 120], [110, 111, 50]):
        rows = spark.createDataFrame([(t,) for t in times], "s bigint")
        rows.selectExpr("timestamp_seconds(s) AS ts").coalesce(1).write.mode("append").parquet(
            where
        )
    df = spark.readStream.schema("ts timestamp").option("maxFilesPerTrigger", 1).parquet(where)
    late, everything = ps.sinks.memory(), ps.sinks.memory()
    s = ps.Stream.read(df, time="ts", watermark="10 seconds")
    query = finish(s.late_rows().to(late), s.to(everything))
    seconds = {b: sorted(int(r.ts.timestamp()) for r in rows) for b, rows in late.batches.items()}
    assert seconds == {0: [], 1: [95], 2: [50, 110]}
    marks = {b: {int(r._watermark.timestamp()) for r in rows} for b, rows in late.batches.items()}
    assert marks == {0: set(), 1: {95}, 2: {110}}
    assert len(everything.rows()) == 8
    assert query.status().watermarks_seconds == {"source": 110.0}


def test_a_branch_that_spark_prunes_away_does_not_stop_the_watermark(
    events: Events, finish: Finish
) -> None:
    s = ps.Stream.read(events(2, 10), time="ts", watermark="0 seconds")
    nothing, everything = ps.sinks.memory(), ps.sinks.memory()
    query = finish(s.filter("1 = 0").to(nothing), s.to(everything))
    newest = max(row.ts.timestamp() for row in everything.rows())
    assert query.status().watermarks_seconds == {"source": newest}
    assert query.status().last.sources[0].rows == 10


def test_rows_after_the_first_row_function_may_be_counted_by_nobody_but_spark(
    events: Events, finish: Finish
) -> None:
    s = ps.Stream.read(events(1, 100)).filter("id < 60", name="most").filter("id < 30", name="few")
    query = finish(s.to(ps.sinks.memory(), name="end"))
    seen = {op.name: (op.rows_in, op.rows_out) for op in query.status().last.operators}
    assert seen == {"source": (100, 100), "most": (100, 60), "few": (60, 30), "end": (30, 30)}


def test_a_map_may_multiply_and_drop_rows_and_selectivity_says_so(
    events: Events, finish: Finish
) -> None:
    def spread(row: dict[str, Any]) -> Any:
        return None if row["id"] % 2 else [{"id": row["id"]}] * 3

    sink = ps.sinks.memory()
    s = ps.Stream.read(events(1, 100)).map(spread, "id bigint")
    query = finish(s.select("explode(array(id, id)) AS id").to(sink))
    assert len(sink.rows()) == 300
    seen = {op.name: op for op in query.status().last.operators}
    assert seen["spread"].selectivity == 1.5
    assert seen["select"].rows_out == 300
    assert seen["spread"].busy_seconds > 0
    assert seen["spread"].slowest_task_seconds >= seen["spread"].mean_task_seconds > 0


@pytest.mark.parametrize("kind", [dict, list])
def test_columns_of_every_kind_pass_through_python(
    spark: SparkSession, finish: Finish, tmp_path: Path, kind: type
) -> None:
    where = str(tmp_path / "in")
    table = spark.range(20).selectExpr(
        "id",
        "cast(id AS decimal(12, 3)) AS price",
        "date_add(date'2026-01-01', cast(id AS int)) AS day",
        "timestamp_micros(1700000000000000 + id) AS ts",
        "cast(timestamp_micros(1700000000000000 + id) AS timestamp_ntz) AS local",
        "array(id, null) AS several",
        "named_struct('a', id, 'b', 'x') AS inner",
        "map('k', id) AS pairs",
        "cast('ab' AS binary) AS raw",
        "if(id % 3 = 0, null, id % 2 = 0) AS flag",
        "cast(id AS float) AS `a b.c`",
    )
    table.write.parquet(where)
    df = spark.readStream.schema(table.schema).parquet(where)

    def same(row: dict[str, Any]) -> Any:
        assert row["pairs"] == {"k": row["id"]}
        return row if kind is dict else [row]

    sink = ps.sinks.memory()
    finish(ps.Stream.read(df).map(same, table.schema).to(sink))
    assert sorted(map(str, sink.rows())) == sorted(map(str, table.collect()))
