"""A component runs as one stage: Spark's own plans show no exchange between its operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from oracle import bag
from penstock.engine.pane_store import PaneStore

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
Row = dict[str, Any]
ROW = "id bigint, user string, rate double, ts timestamp"


def lineage(df: DataFrame) -> str:
    """What Spark is going to run for some rows, also what was handed over as finished rows."""
    return str(df._jdf.queryExecution().toRdd().toDebugString())


def exchanges(df: DataFrame) -> int:
    return lineage(df).count("ShuffledRowRDD")


class Looking:
    """A sink that reads every row in one job, and notes how they were made."""

    reads_all = True

    def __init__(self) -> None:
        self.plans: list[str] = []
        self.exchanges: list[int] = []
        self.rows: list[Any] = []

    def open(self, query_id: str) -> None:
        pass

    def describe(self) -> str:
        return "looking()"

    def write(self, df: DataFrame, batch_id: int) -> None:
        self.exchanges.append(exchanges(df))
        self.plans.append(df._jdf.queryExecution().executedPlan().toString())
        self.rows += df.collect()


class Uniting(Looking):
    """One that reads the rows of counted users behind rows of its own, in so many partitions."""

    def __init__(self, partitions: int) -> None:
        super().__init__()
        self._partitions = partitions

    def write(self, df: DataFrame, batch_id: int) -> None:
        before = df.sparkSession.range(0, 9, 1, self._partitions)
        super().write(before.selectExpr("'-' AS user", "id AS n").union(df), batch_id)
        assert "Union" in self.plans[-1]
        self.rows = [row for row in self.rows if row.user != "-"]


@contextmanager
def seen_partials() -> Iterator[dict[str, list[int]]]:
    """Note how many exchanges there are before partials are written, by operator."""
    found: dict[str, list[int]] = {}
    write = PaneStore.write

    def look(self: PaneStore, number: int, df: DataFrame) -> None:
        if number % 3 == 0:  # of a batch, not of windows that are kept
            found.setdefault(Path(self._directory).name, []).append(exchanges(df))
        write(self, number, df)

    with patch.object(PaneStore, "write", look):
        yield found


def running(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
    n = (state.value or {"n": 0})["n"]
    state.update(n=n + len(rows))
    return [{**row, "rate": row["rate"] + n} for row in rows]


def chain(df: DataFrame, length: int, **options: Any) -> ps.Stream:
    s = ps.Stream.read(df, time="ts", watermark="5 seconds")
    for number in range(length):
        s = s.group_by("user").process(
            running,
            state="n long",
            schema=ROW,
            keeps="user",
            name=f"op{number}",
            groups=8,
            **options,
        )
    return s


def rated(row: Row) -> Row:
    return {**row, "rate": 2 * row["rate"]}


@pytest.mark.parametrize("slots", [1, 3])
def test_fused_keyed_operators_move_rows_once(events: Events, finish: Finish, slots: int) -> None:
    df = events(3, 60)
    fused, apart = Looking(), Looking()
    finish(chain(df, 3).to(fused), slots=ps.LocalSlots(max=slots))
    options = {"slots": ps.LocalSlots(max=slots), "optimiser": ps.Optimiser(score="none")}
    finish(chain(df, 3).to(apart), checkpoint="apart", **options)
    assert sorted(fused.rows) == sorted(apart.rows)
    assert len(fused.rows) == 180
    moved = int(slots > 1)
    assert fused.exchanges == [moved] * 3
    assert [plan.count("MapInArrow") for plan in fused.plans] == [1] * 3
    assert apart.exchanges == [3 * moved] * 3
    assert [plan.count("MapInArrow") for plan in apart.plans] == [3] * 3


def test_sql_and_maps_between_keyed_operators_move_nothing(events: Events, finish: Finish) -> None:
    df, fused, apart = events(3, 60), Looking(), Looking()

    def build() -> ps.Stream:
        s = ps.Stream.read(df, time="ts", watermark="5 seconds")
        s = s.map(rated, ROW, keeps=["user", "id"], name="rated")
        s = s.group_by("user").process(
            running, state="n long", schema=ROW, keeps="user", name="first", groups=8
        )
        s = s.filter("rate >= 3").select("id", "user", "rate + 1 AS rate", "ts")
        return s.group_by("user").process(
            running, state="n long", schema=ROW, keeps="user", name="second", groups=8
        )

    query = finish(build().to(fused), slots=ps.LocalSlots(max=3))
    assert (
        "rated: Python(rated) -> Python(first) -> JVM(filter) -> JVM(select) -> Python(second)"
        in (query.explain())
    )
    finish(build().to(apart), checkpoint="apart", optimiser=ps.Optimiser(score="none"))
    assert sorted(fused.rows) == sorted(apart.rows)
    assert fused.exchanges == [1] * 3
    assert max(apart.exchanges) > 1


def test_windows_by_the_same_key_find_their_rows_in_place(
    spark: SparkSession, events: Events, finish: Finish, tmp_path: Path
) -> None:
    """Rows are partitioned once, for a map and two windowed operators."""
    s = ps.Stream.read(events(3, 60), time="ts", watermark="5 seconds")
    s = s.map(rated, ROW, keeps=["user"], name="rated")
    minute = s.group_by("user").window(ps.tumbling("20 seconds"))
    total = minute.aggregate(total=ps.sum("rate"), name="total")
    most = minute.aggregate(most=ps.max("rate"), n=ps.count(), name="most")
    with seen_partials() as found:
        query = finish(
            total.to(ps.sinks.parquet(str(tmp_path / "total"))),
            most.to(ps.sinks.parquet(str(tmp_path / "most"))),
            slots=ps.LocalSlots(max=3),
            optimiser=ps.Optimiser(period=0),
        )
    components = query._runner.regrouping.components
    assert [op.name for op in components["rated"].operators] == [
        "rated", "total_partials", "most_partials", "total", "most",
    ]  # fmt: skip
    # The one exchange is at the entrance of the component, before the rows that both read.
    assert found == {"total_partials": [1] * 3, "most_partials": [1] * 3}
    native = events.table.withColumn("rate", 2 * F.col("rate")).groupBy(
        F.window("ts", "20 seconds"), "user"
    )
    closed = F.col("window.end") <= F.timestamp_seconds(F.lit(1_700_000_000 + 179 - 5))
    wanted = native.agg(F.sum("rate").alias("total")).filter(closed)
    assert bag(spark.read.parquet(str(tmp_path / "total")).drop("batch_id")) == bag(wanted)
    # Every key in one task: as many partials as there are keys and panes.
    read = spark.read.parquet(f"{tmp_path}/checkpoint/panes/total_partials/*")
    assert read.count() == read.select("_penstock_pane", "_penstock_key_0").distinct().count()


@pytest.mark.parametrize(("fuse", "expected"), [(True, 0), (False, 1)])
def test_partials_of_a_source_move_only_when_kept_apart(
    events: Events, finish: Finish, fuse: bool, expected: int
) -> None:
    s = ps.Stream.read(events(2, 60), time="ts", watermark="5 seconds")
    windows = s.group_by("user").window(ps.tumbling("20 seconds"))
    counted = windows.aggregate(n=ps.count(), name="counted", fuse=fuse)
    with seen_partials() as found:
        finish(counted.to(ps.sinks.memory()), slots=ps.LocalSlots(max=3))
    assert found == {"counted_partials": [expected] * 2}


def test_windows_behind_a_keyed_operator_are_complete(events: Events, finish: Finish) -> None:
    s = chain(events(2, 60), 1)
    windows = s.group_by("user").window(ps.tumbling("20 seconds"))
    with seen_partials() as found:
        finish(windows.aggregate(n=ps.count(), name="n").to(ps.sinks.memory()))
    assert found == {"n_partials": [1] * 2}


def test_a_cardinality_bounds_the_tasks_of_a_component(events: Events, finish: Finish) -> None:
    s = ps.Stream.read(events(1, 60), time="ts", cardinality={"user": 2})
    s = s.group_by("user").process(running, state="n long", schema=ROW, keeps="user", name="p")
    query = finish(s.to(ps.sinks.memory()), slots=ps.LocalSlots(max=4))
    last = query.status().last
    assert last is not None
    assert {each.name: each.tasks for each in last.operators}["p"] == 2


def test_rows_without_a_time_come_in_the_order_of_their_arrival(
    feed: Callable[..., DataFrame], finish: Finish
) -> None:
    """A map that goes by the key of a process behind it must not mix up its rows."""

    def numbered(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
        return [{"user": key["user"], "ids": [row["id"] for row in rows]}]

    ids = list(range(60))
    df = feed([pa.table({"id": ids, "user": [f"u{i % 3}" for i in ids]})], partitions=2)
    looking = Looking()
    s = ps.Stream.read(df).map(lambda row: row, "id bigint, user string", keeps="user", name="same")
    s = s.group_by("user").process(
        numbered, state="n long", schema="user string, ids array<bigint>", groups=8
    )
    finish(s.to(looking), slots=ps.LocalSlots(max=2))
    assert len(looking.rows) == 3
    for row in looking.rows:
        first, second = row.ids[:10], row.ids[10:]
        assert first == sorted(first)
        assert second == sorted(second)


def test_timers_come_in_every_operator_of_a_chain(events: Events, finish: Finish) -> None:
    """The second operator's timers also come in groups that no row of the batch is for."""

    def later(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
        if state.timed_out:
            state.clear()
            return [{"user": key["user"], "n": -1}]
        n = (state.value or {"n": 0})["n"] + len(rows)
        state.update(n=n)
        if state.timer is None and key["user"] != "u3":
            state.set_timer(rows[0]["ts"].replace(microsecond=0))
        return [{"user": key["user"], "n": n}] if key["user"] != "u5" else []

    def noted(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
        seen = (state.value or {"seen": 0})["seen"]
        state.update(seen=seen + len(rows))
        return [{"user": key["user"], "n": row["n"], "seen": seen} for row in rows]

    def build(df: DataFrame, between: str | None) -> ps.Stream:
        s = ps.Stream.read(df, time="ts", watermark="1 second")
        s = s.group_by("user").process(
            later, state="n long", schema="user string, n long", keeps="user", name="one", groups=8
        )
        if between:
            s = s.filter(between)
        return s.group_by("user").process(
            noted,
            state="seen long",
            schema="user string, n long, seen long",
            keeps="user",
            name="two",
            groups=8,
        )

    df = events(6, 10)
    for between in (None, "n < 1000"):
        fused, apart = Looking(), Looking()
        options = {"slots": ps.LocalSlots(max=3)}
        finish(build(df, between).to(fused), checkpoint=f"fused-{between}", **options)
        options["optimiser"] = ps.Optimiser(score="none")
        finish(build(df, between).to(apart), checkpoint=f"apart-{between}", **options)
        assert sorted(fused.rows) == sorted(apart.rows)
        assert any(row.n == -1 for row in fused.rows)


def late(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
    """Say one second later how many rows a key had, by a timer."""
    if state.timed_out:
        n = state.value["n"]
        state.clear()
        return [{"user": key["user"], "n": n}]
    state.update(n=(state.value or {"n": 0})["n"] + len(rows))
    if state.timer is None:
        state.set_timer(rows[-1]["ts"] + timedelta(seconds=1))
    return []


class TestUnions:
    """Spark counts the tasks of a union anew, so that their numbers say nothing of keys."""

    LATE: ClassVar[dict[str, Any]] = {"state": "n long", "schema": "user string, n long"}

    def before(self, df: DataFrame) -> ps.Stream:
        s = ps.Stream.read(df, time="ts", watermark="0 seconds")
        return s.map(rated, ROW, keeps="user", name="rated")

    @pytest.mark.parametrize("side", ["first", "last"])
    def test_a_keyed_operator_behind_a_map_goes_into_a_union(
        self, events: Events, finish: Finish, side: str
    ) -> None:
        looking = Looking()
        mapped = self.before(events(3, 60))
        keyed = mapped.group_by("user").process(late, **self.LATE, name="late", groups=8)
        plain = mapped.select("user", "-1L AS n")
        both = keyed.union(plain) if side == "first" else plain.union(keyed)
        finish(both.to(looking), slots=ps.LocalSlots(max=3))
        assert len([row for row in looking.rows if row.n == -1]) == 180
        # The last timers are a second behind the last row, and have not come.
        told = sum(row.n for row in looking.rows if row.n > 0)
        assert 100 < told < 180

    def test_two_that_read_one_go_into_a_union(self, events: Events, finish: Finish) -> None:
        looking = Looking()
        s = chain(events(3, 60), 1)
        one, two = (
            s.group_by("user").process(
                running, state="n long", schema=ROW, keeps="user", name=name, groups=8
            )
            for name in ("one", "two")
        )
        finish(one.union(two).to(looking), slots=ps.LocalSlots(max=3))
        counted = Counter(looking.rows)
        assert len(looking.rows) == 360
        assert set(counted.values()) == {2}

    @pytest.mark.parametrize("partitions", [1, 2, 3])
    def test_rows_may_be_united_in_the_users_own_sink(
        self, events: Events, finish: Finish, partitions: int
    ) -> None:
        """Rows say which task they are in."""
        df = events(4, 60)
        mapped = self.before(df)
        keyed = mapped.group_by("user").process(late, **self.LATE, name="late", groups=8)
        uniting, looking = Uniting(partitions), Looking()
        finish(keyed.to(uniting), slots=ps.LocalSlots(max=3))
        mapped = self.before(df)
        keyed = mapped.group_by("user").process(late, **self.LATE, name="late", groups=8)
        options = {"optimiser": ps.Optimiser(score="none")}
        finish(keyed.to(looking), checkpoint="apart", slots=ps.LocalSlots(max=3), **options)
        assert sorted(uniting.rows) == sorted(looking.rows)
        assert uniting.rows

    def test_timers_that_no_task_knew_of_stop_the_query(
        self, feed: Callable[..., DataFrame], finish: Finish
    ) -> None:
        """In the third batch the timers of all users are due, and one of three tasks has rows."""
        start = datetime(2026, 1, 1, tzinfo=UTC)

        def batch(*users: str, second: int) -> pa.Table:
            moments = [start + timedelta(seconds=second)] * len(users)
            return pa.table({"user": list(users), "ts": moments})

        users = [f"u{n}" for n in range(12)]
        df = feed([batch(*users, second=0), batch("u0", second=60), batch("u0", second=90)])

        s = ps.Stream.read(df, time="ts", watermark="0 seconds")
        s = s.map(lambda row: row, "user string, ts timestamp", keeps="user", name="same")
        keyed = s.group_by("user").process(late, **self.LATE, name="late", groups=8)
        with pytest.raises(ps.QueryError, match="timers of 'late' did not come"):
            finish(keyed.to(Uniting(2)), slots=ps.LocalSlots(max=3))


def test_a_list_that_a_function_wrote_into_is_set_aside(
    feed: Callable[..., DataFrame], finish: Finish
) -> None:
    def spoilt(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
        if key["k"] == "a":
            rows[0]["several"].append("no number")
        return rows

    schema = "k string, several array<bigint>"
    several = pa.array([[1], [2]], pa.list_(pa.int64()))
    df = feed([pa.table({"k": ["a", "b"], "several": several})])
    s = ps.Stream.read(df).group_by("k")
    made = s.process(spoilt, state="n long", schema=schema, on_error="dead_letter", name="spoilt")
    out, letters = ps.sinks.memory(), ps.sinks.memory()
    finish(made.to(out), made.dead_letters().to(letters))
    assert [(row.k, row.several) for row in out.rows()] == [("b", [2])]
    assert [row.operator for row in letters.rows()] == ["spoilt"]


class TestWrongPromises:
    def test_a_key_that_is_not_kept_stops_the_query(self, events: Events, finish: Finish) -> None:
        def changed(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
            return [{**row, "user": "somebody else"} for row in rows]

        s = ps.Stream.read(events(1, 20), time="ts", watermark="5 seconds")
        for name in ("first", "second"):
            s = s.group_by("user").process(
                changed, state="n long", schema=ROW, keeps="user", name=name
            )
        with pytest.raises(ps.OperatorError, match="another user than that of its key") as error:
            finish(s.to(ps.sinks.memory()))
        assert "first" in str(error.value)

    def test_a_map_that_does_not_keep_its_columns_stops_the_query(
        self, events: Events, finish: Finish
    ) -> None:
        s = ps.Stream.read(events(1, 20), time="ts", watermark="5 seconds")
        s = s.map(lambda row: {**row, "user": str(row["id"])}, ROW, keeps="user", name="changing")
        s = s.group_by("user").process(running, state="n long", schema=ROW, name="p")
        with pytest.raises(ps.OperatorError, match="declared to keep") as error:
            finish(s.to(ps.sinks.memory()), slots=ps.LocalSlots(max=3))
        assert error.value.operator == "changing"
        assert "came to 'p' with another user than they had" in str(error.value)
        assert "dead_letter" not in str(error.value)

    @pytest.mark.parametrize(
        ("keeps", "schema", "problem"),
        [
            ("nothing", ROW, "keeps 'nothing', which is no column of what goes in"),
            ("user", "id bigint", "keeps 'user', which is no column of what comes out"),
            ("user", "user bigint", "goes in as string and comes out as bigint"),
            (7, ROW, "keeps is 7"),
        ],
    )
    def test_what_can_not_be_kept_is_told_at_once(
        self, events: Events, keeps: Any, schema: str, problem: str
    ) -> None:
        s = ps.Stream.read(events(1, 5))
        with pytest.raises(ps.TopologyError, match=problem):
            s.map(rated, schema, keeps=keeps)

    @pytest.mark.parametrize("fuse", ["no", 0, None, object])
    def test_fuse_is_yes_or_no(self, events: Events, fuse: Any) -> None:
        s = ps.Stream.read(events(1, 5), time="ts", watermark="5 seconds")
        keyed = s.group_by("user")
        with pytest.raises(ps.TopologyError, match="Write fuse=False, or leave it out"):
            s.map(rated, ROW, fuse=fuse)
        with pytest.raises(ps.TopologyError, match="Write fuse=False, or leave it out"):
            keyed.process(running, state="n long", schema=ROW, fuse=fuse)
        with pytest.raises(ps.TopologyError, match="Write fuse=False, or leave it out"):
            keyed.window(ps.tumbling("20 seconds")).aggregate(n=ps.count(), fuse=fuse)

    def test_a_column_can_not_be_called_fuse(self, events: Events) -> None:
        s = ps.Stream.read(events(1, 5), time="ts", watermark="5 seconds")
        windows = s.group_by("user").window(ps.tumbling("20 seconds"))
        with pytest.raises(ps.TopologyError, match="Give that column another name"):
            windows.aggregate(n=ps.count(), fuse=ps.count())

    def test_a_component_is_named_before_anything_reads_it(self, events: Events) -> None:
        s = ps.Stream.read(events(1, 5)).map(rated, ROW, name="one")
        s.filter("id > 1", name="some")
        with pytest.raises(ps.TopologyError, match="'some' already reads it"):
            s.component("mine")
        with pytest.raises(ps.TopologyError, match="'not mine' can't name a component"):
            s.component("not mine")

    def test_only_operators_that_may_move_have_a_component_to_name(self, events: Events) -> None:
        s = ps.Stream.read(events(1, 5)).filter("id > 1")
        with pytest.raises(ps.TopologyError, match="runs where its rows are"):
            s.component("mine")


def test_components_may_be_forced_and_named(events: Events, finish: Finish) -> None:
    s = ps.Stream.read(events(1, 20), time="ts", watermark="5 seconds")
    s = s.map(rated, ROW, keeps="user", name="one").component("front")
    s = s.map(rated, ROW, keeps="user", name="two").component("back")
    n = s.group_by("user").window(ps.tumbling("20 seconds")).aggregate(n=ps.count(), name="n")
    query = finish(n.component("back").to(ps.sinks.memory()))
    components = query._runner.regrouping.components
    assert {each.name: [op.name for op in each.operators] for each in components} == {
        "source": ["source"],
        "front": ["one"],
        "back": ["two", "n_partials", "n"],
    }


def test_components_that_can_not_be_are_refused_before_anything_runs(
    events: Events, finish: Finish
) -> None:
    s = ps.Stream.read(events(1, 20), time="ts", watermark="5 seconds")
    one = s.map(rated, ROW, name="one").component("both")
    two = s.map(rated, ROW, name="two").component("both")
    with pytest.raises(ps.ConfigurationError, match="'two' does not read what 'one' leads to"):
        finish(one.to(ps.sinks.memory()), two.to(ps.sinks.memory()))


def test_columns_that_a_select_keeps_are_known(events: Events) -> None:
    s = ps.Stream.read(events(1, 5)).select(
        "user AS who", "rate", "id + 1 AS id", "upper(user) AS u"
    )
    assert s._operator.kept == {"who": "user", "rate": "rate"}
