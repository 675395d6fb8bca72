"""Windows where the topology, the session or the next start is not what one would expect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.engine import closing, closing_plans
from penstock.windows import consolidation
from penstock.windows.rungs import Ladder

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
START = 1_700_000_000


class Taken:
    """A sink that keeps the rows of each batch."""

    def __init__(self) -> None:
        self.batches: dict[int, list[Any]] = {}

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        self.batches[batch_id] = df.collect()

    @property
    def rows(self) -> list[Any]:
        return [row for number in sorted(self.batches) for row in self.batches[number]]


def read(df: DataFrame) -> ps.Stream:
    return ps.Stream.read(df, time="ts", watermark="0 seconds")


def test_columns_may_be_selected_as_columns_before_a_window(events: Events, finish: Finish) -> None:
    taken = Taken()
    chosen = read(events(2, 20)).select(F.col("user"), F.col("ts"), "rate")
    finish(chosen.window(ps.tumbling(10)).aggregate(n=ps.count()).to(taken))
    assert [row.n for row in taken.rows] == [10, 10, 10]


@pytest.mark.parametrize("limit", [0, 100_000])
def test_a_small_closing_needs_no_exchange(
    events: Events, finish: Finish, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(closing, "_ONE_TASK_ROWS", limit)
    plans: list[str] = []

    def sink(df: DataFrame, batch_id: int) -> None:
        java: Any = df._jdf
        plans.append(java.queryExecution().executedPlan().toString())
        df.collect()

    windows = read(events(3, 20)).group_by("user").window(ps.tumbling(10))
    finish(windows.aggregate(n=ps.count()).to(sink))
    assert any("_penstock_target" in plan for plan in plans)
    assert any("Exchange" in plan for plan in plans) is (limit == 0)


@pytest.mark.parametrize(
    "second",
    [
        {"b": ps.sum("id"), "a": ps.sum("rate")},
        {"a": ps.sum("rate"), "b": ps.sum("id", where="id > 3")},
        {"a": ps.sum("rate"), "b": ps.sum("id * 2")},
    ],
    ids=["order", "filter", "column"],
)
def test_other_aggregates_do_not_go_on_with_partials_of_the_old_ones(
    events: Events, finish: Finish, second: dict[str, Any]
) -> None:
    df = events(1, 20)

    def branch(**aggregates: Any) -> ps.Outlet:
        windows = read(df).group_by("user").window(ps.tumbling(60))
        return windows.aggregate(**aggregates, name="w").to(Taken())

    finish(branch(a=ps.sum("rate"), b=ps.sum("id")))
    with pytest.raises(ps.CheckpointError, match="aggregates"):
        finish(branch(**second))
    # Another name of a result changes nothing that is stored.
    finish(branch(total=ps.sum("rate"), b=ps.sum("id")))


def test_several_windows_need_names_of_their_own(events: Events) -> None:
    s = read(events(1, 20))
    hot, cold = s.filter("rate > 2"), s.filter("rate <= 2")
    parts = [each.window(ps.tumbling(60)).aggregate(n=ps.count()) for each in (hot, cold)]
    with pytest.raises(ps.TopologyError, match=r"it has no name.*Write aggregate\(\.\.\., name="):
        ps.run(*[part.to(Taken()) for part in parts], checkpoint="never made")


def test_windows_over_windows_that_come_out_early_take_the_final_ones(
    events: Events, finish: Finish
) -> None:
    s = read(events(4, 10))
    early = s.window(ps.tumbling(20), emit="every_batch").aggregate(n=ps.count(), name="early")
    with pytest.raises(ps.TopologyError, match=r"several times.*filter\('is_final'\)"):
        early.window(ps.tumbling(40))
    taken = Taken()
    final = early.filter("is_final").window(ps.tumbling(20))
    finish(final.aggregate(n=ps.sum("n"), name="whole").to(taken))
    assert [row.n for row in taken.rows] == [20]


def test_nothing_is_left_in_the_store_that_no_window_needs(
    events: Events, finish: Finish, tmp_path: Path
) -> None:
    s = read(events(8, 10))
    first = s.group_by("user").window(ps.tumbling(10)).aggregate(n=ps.count(), name="first")
    second = first.window(ps.tumbling(10)).aggregate(n=ps.sum("n"), name="second")
    none = s.filter("user = 'nobody'").window(ps.tumbling(10)).aggregate(n=ps.count(), name="none")
    finish(second.to(Taken()), none.to(Taken()))
    left = {
        store.name: len(list(store.iterdir()))
        for store in (tmp_path / "checkpoint" / "panes").iterdir()
    }
    assert left.keys() >= {"first_partials"}
    assert max(left.values()) <= 2


@pytest.mark.parametrize("spans", ["start", "end"])
def test_first_and_last_go_by_the_time_that_counts(
    spark: SparkSession, finish: Finish, tmp_path: Path, spans: Any
) -> None:
    rows = spark.sql(
        "SELECT timestamp_seconds(a) AS st, timestamp_seconds(z) AS en, v FROM VALUES "
        "(0, 9, 'starts first'), (5, 7, 'ends first'), (100, 101, 'later') AS t(a, z, v)"
    )
    rows.coalesce(1).write.parquet(str(tmp_path / "in"))
    df = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
    taken = Taken()
    s = ps.Stream.read(df, time=("st", "en"), watermark="0 seconds", spans=spans)
    finish(s.window(ps.tumbling(10)).aggregate(v=ps.first("v")).to(taken))
    batch = ps.windowed(
        rows, time=("st", "en"), windows=ps.tumbling(10), aggs={"v": ps.first("v")}, spans=spans
    )
    expected = f"{spans}s first"
    assert [row.v for row in taken.rows] == [expected]
    assert batch.orderBy("window").first().v == expected  # type: ignore[union-attr]


def test_where_an_inverse_is_used_only_what_changed_comes_out_early(
    spark: SparkSession, finish: Finish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing_plans, "choose_ladder", lambda *_, **__: Ladder(inverse=(0,)))
    monkeypatch.setattr(consolidation, "INPUT_ROWS", 0.0)
    for second in range(10, 17):
        keys = "x" if second == 16 else "x,y"
        rows = spark.sql(
            f"SELECT timestamp_seconds({second}) AS ts, explode(split('{keys}', ',')) AS k"
        )
        rows.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    df = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1)
    s = read(df.parquet(str(tmp_path / "in")))
    taken = Taken()
    windows = s.group_by("k").window(ps.sliding(4, 1), emit="every_batch")
    finish(windows.aggregate(n=ps.count()).to(taken))
    assert sorted((row.k, row.n) for row in taken.batches[6] if not row.is_final) == [
        ("x", n) for n in (1, 2, 3, 4)
    ]
    assert sorted((row.k, row.n) for row in taken.batches[6] if row.is_final) == [
        ("x", 4),
        ("y", 4),
    ]


def test_a_map_can_be_a_key_only_where_it_need_not_be_compared(events: Events) -> None:
    s = read(events(1, 10)).select("ts", "map(user, rate) AS m")
    s.group_by("m").window(ps.tumbling(10)).aggregate(n=ps.count())
    with pytest.raises(ps.TopologyError, match="'m' holds a map"):
        s.group_by("m").window(ps.tumbling(10), emit="every_batch").aggregate(n=ps.count())


def test_an_aggregate_called_name_is_told_so(events: Events) -> None:
    windows = read(events(1, 10)).window(ps.tumbling(10))
    with pytest.raises(ps.TopologyError, match="'name' is what the operator is called"):
        windows.aggregate(name=ps.count())  # type: ignore[arg-type]


def test_times_are_not_stored_with_less_than_they_have(spark: SparkSession, events: Events) -> None:
    s = read(events(1, 10))
    out = s.window(ps.tumbling(10)).aggregate(last=ps.max("ts")).to(Taken())
    setting = "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "TIMESTAMP_MILLIS")
    try:
        with pytest.raises(ps.ConfigurationError, match="TIMESTAMP_MICROS"):
            ps.run(out, checkpoint="never made")
    finally:
        spark.conf.set(setting, before)
