"""Plans that change while a query runs give the rows of one that did not change."""

from __future__ import annotations

import json
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from oracle import bag
from penstock import journal
from penstock.engine.steps import Step
from penstock.errors import ConfigurationError
from penstock.journal.events import PlanChanged, PlanWeighed
from penstock.journal.topology_events import TopologyPlanned
from penstock.journal.window_events import WindowPlanChanged
from penstock.testing import fail_at
from penstock.topology.adaptation import Operation, Strategy, plan_problem
from penstock.topology.replanning import neighbours, operations_between
from sealed_text import sealed_text

Events = Callable[..., DataFrame]
Finish = Callable[..., ps.Query]
Row = dict[str, Any]
ROW = "id bigint, user string, rate double, ts timestamp"
START = 1_700_000_000
STRATEGIES: tuple[Strategy | None, ...] = (None, "instant", "smooth", "disruptive")


def rated(row: Row) -> Row:
    return {**row, "rate": 2 * row["rate"]}


def counted(key: Row, rows: list[Row], state: ps.KeyState) -> list[Row]:
    n = (state.value or {"n": 0})["n"]
    state.update(n=n + len(rows))
    return [{**row, "rate": row["rate"] + n + number} for number, row in enumerate(rows)]


class Changing:
    """Asks for another plan after every micro-batch."""

    def __init__(self, plan: Callable[[ps.Query, int], None]) -> None:
        self._plan = plan
        self._is_known = threading.Event()
        self.query: ps.Query | None = None

    def know(self, query: ps.Query) -> None:
        self.query = query
        self._is_known.set()

    def __call__(self, step: Step, batch_id: int) -> None:
        if step is Step.LOAD:
            assert self._is_known.wait(60)
            assert self.query is not None
            self._plan(self.query, batch_id)


def topology(df: DataFrame, where: Path) -> list[ps.Outlet]:
    """A map, two keyed operators in a row, windows of what they make, and windows over windows."""
    s = ps.Stream.read(df, time="ts", watermark="5 seconds", name="events")
    raw = s.group_by("user").window(ps.tumbling("20 seconds"), ps.sliding("1 minute", "20 seconds"))
    plain = raw.aggregate(n=ps.count(), total=ps.sum("rate"), name="plain")
    made = s.map(rated, ROW, keeps=["user"], name="rated")
    for name in ("first", "second"):
        made = made.group_by("user").process(
            counted, state="n long", schema=ROW, keeps="user", name=name, groups=8
        )
    windows = made.group_by("user").window(ps.tumbling("20 seconds"))
    keyed = windows.aggregate(most=ps.max("rate"), n=ps.count(), name="keyed")
    whole = made.window(ps.tumbling("40 seconds")).aggregate(total=ps.sum("rate"), name="whole")
    inner = s.group_by("user").window(ps.tumbling("20 seconds"))
    over = inner.aggregate(n=ps.count(), name="inner").window(ps.tumbling("1 minute"))
    return [
        over.aggregate(n=ps.sum("n"), name="over").to(
            ps.sinks.parquet(str(where / "over")), name="out_over"
        ),
        plain.to(ps.sinks.parquet(str(where / "plain")), name="out_plain"),
        made.to(ps.sinks.parquet(str(where / "made")), name="out_made"),
        keyed.to(ps.sinks.parquet(str(where / "keyed")), name="out_keyed"),
        whole.to(ps.sinks.parquet(str(where / "whole")), name="out_whole"),
    ]


def results(where: Path, df: DataFrame) -> dict[str, Counter[Any]]:
    read = df.sparkSession.read
    return {
        name: Counter(map(str, read.parquet(str(where / name)).drop("batch_id").collect()))
        for name in ("plain", "made", "keyed", "whole", "over")
    }


def run(
    df: DataFrame,
    where: Path,
    plan: Callable[[ps.Query, int], None] | None = None,
    **options: Any,
) -> ps.Query:
    changing = Changing(plan or (lambda query, batch_id: None))
    query = ps.run(
        *topology(df, where),
        checkpoint=where / "checkpoint",
        available_now=True,
        on_step=changing,
        slots=ps.LocalSlots(max=3),
        **{"optimiser": ps.Optimiser(period=0), **options},
    )
    changing.know(query)
    query.await_termination()
    return query


def told(query: ps.Query, kind: type[Any]) -> list[Any]:
    return [e.body for e in journal.read(query.journal_dir) if isinstance(e.body, kind)]


def any_operations(query: ps.Query, draw: random.Random) -> tuple[Operation, ...]:
    """Some that lead to a plan that can run: a fusion, a parting, other slots, split or combine."""
    change = query._runner.regrouping.due()
    components = change.after if change else query._runner.regrouping.components
    python = [each.name for each in components if each.runs_python]
    windows = draw.choice(["plain", "keyed", "whole", "inner", "over"])
    other = draw.choice(list(neighbours(components)))
    return draw.choice(
        [
            (ps.Split(windows),),
            (ps.Combine(windows),),
            (ps.RePartition(draw.choice(python), draw.randint(1, 3)),),
            *[operations_between(components, other)] * 4,
        ]
    )


def stream(spark: SparkSession, where: str, batches: int) -> DataFrame:
    """Micro-batches of thirty rows, one a second, of which some come a minute late."""
    for batch in range(batches):
        rows = spark.range(batch * 30, batch * 30 + 30, numPartitions=1).selectExpr(
            "id",
            "concat('u', id % 7) AS user",
            "id / 4 AS rate",
            "timestamp_seconds(1700000000 + id - if(id % 13 = 4, 60, 0)) AS ts",
        )
        rows.write.mode("append").parquet(where)
    return spark.readStream.schema(ROW).option("maxFilesPerTrigger", 1).parquet(where)


@pytest.fixture(scope="module")
def df(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return stream(spark, str(tmp_path_factory.mktemp("events") / "rows"), batches=10)


@pytest.fixture(scope="module")
def few(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return stream(spark, str(tmp_path_factory.mktemp("few") / "rows"), batches=3)


@pytest.fixture(scope="module")
def undisturbed(df: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[Any]]:
    """What comes out of a plan that stays as it is, every operator by itself."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    where = tmp_path_factory.mktemp("undisturbed")
    run(df, where, optimiser=ps.Optimiser(score="none", period=0))
    return results(where, df)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_plan_that_changes_at_random_at_every_batch_gives_the_same_rows(
    df: DataFrame, undisturbed: dict[str, Counter[Any]], tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)

    def change(query: ps.Query, batch_id: int) -> None:
        operations = any_operations(query, draw)
        try:
            query.adapt(*operations, strategy=draw.choice(STRATEGIES))
        except ConfigurationError as error:
            assert "only disruptive" in str(error)  # noqa: PT017
            query.adapt(*operations)

    query = run(df, tmp_path / "changing", change)
    assert results(tmp_path / "changing", df) == undisturbed
    changes = told(query, PlanChanged)
    assert len({str(sorted(change.components.items())) for change in changes}) >= 3


class TestAskedFor:
    def test_every_strategy_keeps_the_same_windows_open_everywhere(
        self, df: DataFrame, undisturbed: dict[str, Counter[Any]], tmp_path: Path
    ) -> None:
        asked: dict[int, tuple[Operation, Strategy]] = {
            1: (ps.Combine("plain"), "instant"),
            3: (ps.Split("plain"), "smooth"),
            5: (ps.Combine("plain"), "disruptive"),
            8: (ps.Split("keyed"), "smooth"),
        }

        def change(query: ps.Query, batch_id: int) -> None:
            if batch_id in asked:
                operation, strategy = asked[batch_id]
                query.adapt(operation, strategy=strategy)

        query = run(df, tmp_path / "changing", change)
        assert results(tmp_path / "changing", df) == undisturbed
        changes = told(query, PlanChanged)
        assert [change.strategy for change in changes] == [
            "instant", "smooth", "disruptive", "smooth",
        ]  # fmt: skip
        # At once, but for what has to be merged first: a batch later.
        assert [change.batch_id for change in changes] == [1, 3, 6, 8]
        assert changes[0].operations == (
            "Migrate(plain_partials, events, plain_partials)",
            "Migrate(plain, plain, plain_partials)",
        )
        at_first, *planned = told(query, TopologyPlanned)
        assert at_first.batch_id == 0
        for change, after in zip(changes, planned, strict=True):
            assert after.batch_id == change.batch_id
            homes = {name: home for home, names in change.components.items() for name in names}
            assert {each.name: each.component for each in after.operators} == {
                each.name: homes.get(each.name, "") for each in at_first.operators
            }
        panes = {"plain": 20, "keyed": 20, "whole": 40, "inner": 20, "over": 60}
        for change in changes:
            # The newest row of the batch before is the last one; the watermark is 5 s behind it.
            low = START + 30 * change.batch_id - 1 - 5
            assert change.open_windows == {
                name: low // seconds * seconds * 1_000_000 for name, seconds in panes.items()
            }

    def test_what_can_not_be_is_refused_and_the_plan_stays(
        self, few: DataFrame, undisturbed: dict[str, Counter[Any]], tmp_path: Path
    ) -> None:
        problems: list[str] = []

        def change(query: ps.Query, batch_id: int) -> None:
            for wrong in (ps.Migrate("rated", "rated", "events"), ps.Split("made"), "split"):
                with pytest.raises(ConfigurationError) as error:
                    query.adapt(wrong)  # type: ignore[arg-type]
                problems.append(str(error.value))
            with pytest.raises(ConfigurationError, match="strategy='slow' is unknown"):
                query.adapt(ps.Split("plain"), strategy="slow")  # type: ignore[arg-type]

        query = run(few, tmp_path, change)
        assert "the rows of 'events' come as they come" in problems[0]
        assert "There are: inner, plain, over, keyed, whole" in problems[1]
        assert "adapt takes operations" in problems[2]
        assert told(query, PlanChanged) == []
        with pytest.raises(ConfigurationError, match="the query has ended"):
            query.adapt(ps.Combine("plain"))

    def test_slots_of_a_component_are_held(
        self, few: DataFrame, undisturbed: dict[str, Counter[Any]], tmp_path: Path
    ) -> None:
        def change(query: ps.Query, batch_id: int) -> None:
            if batch_id == 1:
                query.adapt(ps.RePartition("rated", 1))

        query = run(few, tmp_path, change)
        finished = [e.body for e in journal.read(query.journal_dir)]
        tasks = [
            {each.name: each.tasks for each in body.observation.operators}["first"]
            for body in finished
            if type(body).__name__ == "BatchFinished"
        ]
        assert tasks == [3, 1, 1]


def test_a_restart_goes_on_with_the_plan_that_was_committed(
    df: DataFrame, undisturbed: dict[str, Counter[Any]], tmp_path: Path
) -> None:

    def change(query: ps.Query, batch_id: int) -> None:
        if batch_id == 1:
            query.adapt(ps.Combine("plain"), ps.Split("keyed"), ps.RePartition("rated", 2))

    where = tmp_path / "broken"
    broken = fail_at(Step.COMMIT, 3)
    changing = Changing(change)

    def both(step: Step, batch_id: int) -> None:
        changing(step, batch_id)
        broken(step, batch_id)

    query = ps.run(
        *topology(df, where),
        checkpoint=where / "checkpoint",
        available_now=True,
        on_step=both,
        slots=ps.LocalSlots(max=3),
        optimiser=ps.Optimiser(period=0),
    )
    changing.know(query)
    with pytest.raises(ps.QueryError):
        query.await_termination()
    wanted = query._runner.regrouping.components.grouping
    again = run(df, where)
    components = again._runner.regrouping.components
    assert components.grouping == wanted
    assert again._runner.regrouping.pinned == {"rated": 2}
    assert plan_problem(components) is None
    assert results(where, df) == undisturbed


class TestOtherOperators:
    """A plan is of the operators that it was made for, also where others have their names."""

    def test_a_filter_that_was_a_map(self, events: Events, finish: Finish) -> None:
        df, sink = events(1, 20), ps.sinks.memory()
        s = ps.Stream.read(df, name="events").map(rated, ROW, name="clean")
        finish(s.to(ps.sinks.memory(), name="out"))
        events(1, 20)
        s = ps.Stream.read(df, name="events").filter("id >= 10", name="clean")
        finish(s.to(sink, name="out"))
        assert sorted(row.id for row in sink.rows()) == [n for n in range(20) if n >= 10]

    def test_a_filter_that_stood_behind_a_keyed_operator(
        self, events: Events, finish: Finish
    ) -> None:
        keyed: dict[str, Any] = {"state": "n long", "schema": ROW, "groups": 8, "name": "keyed"}
        df, sink = events(1, 20), ps.sinks.memory()
        slots = ps.LocalSlots(max=3)
        s = ps.Stream.read(df, name="events").group_by("user").process(counted, **keyed)
        finish(s.filter("id >= 0", name="some").to(ps.sinks.memory(), name="out"), slots=slots)
        events(1, 20)
        s = ps.Stream.read(df, name="events").filter("id >= 0", name="some")
        finish(s.group_by("user").process(counted, **keyed).to(sink, name="out"), slots=slots)
        # Each key had its rows of the first batch before.
        assert sum(row.rate - row.id / 4 for row in sink.rows()) == 6 * sum(range(3, 6)) + 2 + 3

    def test_a_component_with_another_name(self, events: Events, finish: Finish) -> None:
        df = events(1, 20)
        s = ps.Stream.read(df, name="events").map(rated, ROW, name="one")
        finish(s.to(ps.sinks.memory(), name="out"))
        events(1, 20)
        s = ps.Stream.read(df, name="events").map(rated, ROW, name="one").component("mine")
        query = finish(s.to(ps.sinks.memory(), name="out"))
        assert [each.name for each in query._runner.regrouping.components] == ["events", "mine"]

    def test_windows_of_a_checkpoint_from_before_plans_were_kept(
        self, few: DataFrame, tmp_path: Path
    ) -> None:
        """It says of windows whether they were combined, and nothing of components."""
        run(few, tmp_path, lambda query, _: query.adapt(ps.Combine("inner"), ps.Combine("plain")))
        newest = max((tmp_path / "checkpoint" / "commits").glob("0*.json"))
        record = json.loads(newest.read_text())
        del record["plan"]
        newest.write_text(sealed_text(record))
        components = run(few, tmp_path)._runner.regrouping.components
        assert components.together("inner_partials", "inner")
        assert components.together("plain_partials", "plain")
        assert not components.together("over_partials", "over")


def test_what_was_found_and_what_was_asked_for_are_both_told(
    few: DataFrame, tmp_path: Path
) -> None:
    def change(query: ps.Query, batch_id: int) -> None:
        if batch_id == 1:
            query._runner.regrouping.propose((ps.Combine("plain"),), "it costs less")
            query.adapt(ps.RePartition("rated", 2))
            refused = query._runner.regrouping.propose((ps.Migrate("rated", "x", "y"),), "no")
            assert refused is not None
            assert "'rated' is in component 'rated'" in refused

    (changed,) = told(run(few, tmp_path, change), PlanChanged)
    assert changed.reason == "it costs less; asked for by the user"
    assert changed.operations[-1] == "RePartition(rated, 2)"


class TestWindowsOfFewKeys:
    """Many rows of few keys: bringing them together costs less than to hand all rows over."""

    def run(self, events: Events, finish: Finish, optimiser: ps.Optimiser) -> tuple[ps.Query, Any]:
        s = ps.Stream.read(events(4, 400_000), time="ts", watermark="5 seconds")
        days = s.group_by("user").window(ps.tumbling("1 day"))
        sink = ps.sinks.memory()
        return finish(days.aggregate(n=ps.count(), name="days").to(sink), optimiser=optimiser), sink

    def test_they_are_combined_while_the_query_runs(self, events: Events, finish: Finish) -> None:
        query, sink = self.run(events, finish, ps.Optimiser(period=1))
        weighed = [each for each in told(query, PlanWeighed) if each.operations]
        assert [each.is_adopted for each in weighed[:2]] == [False, True]
        assert weighed[1].operations == ("Combine(days)",)
        assert weighed[1].other_cost_seconds < 0.9 * weighed[1].cost_seconds
        assert weighed[1].gain_seconds > weighed[1].change_seconds > 0
        (changed,) = told(query, PlanChanged)
        assert (changed.batch_id, changed.strategy) == (2, "instant")
        (way,) = [each for each in told(query, WindowPlanChanged) if each.plan == "combined"]
        assert (way.batch_id, way.operator) == (1, "days")
        closed = F.col("window.end") <= F.timestamp_seconds(F.lit(START + 1_600_000 - 1 - 5))
        native = events.table.groupBy(F.window("ts", "1 day"), "user")
        assert bag(native.agg(F.count("*").alias("n")).filter(closed)) == bag(sink.rows())

    def test_they_are_not_where_that_does_not_pay(self, events: Events, finish: Finish) -> None:
        optimiser = ps.Optimiser(period=1, horizon="1 millisecond")
        query, _ = self.run(events, finish, optimiser)
        weighed = [each for each in told(query, PlanWeighed) if each.operations]
        assert not any(each.is_adopted for each in weighed)
        assert "within 0.001 s it does not pay for the change" in weighed[1].reason
        assert told(query, PlanChanged) == []


def test_a_plan_that_costs_less_is_adopted_and_told_with_both_costs(
    df: DataFrame, undisturbed: dict[str, Counter[Any]], tmp_path: Path
) -> None:
    """Started apart, as after a wish that has gone, keyed operators find together again."""

    def apart(query: ps.Query, batch_id: int) -> None:
        if batch_id == 0:
            query.adapt(ps.Migrate("second", "rated", "second"), *_out_of("second"))

    query = run(df, tmp_path / "weighed", apart, optimiser=ps.Optimiser(period=2, horizon="1 hour"))
    weighed = [each for each in told(query, PlanWeighed) if "second" in str(each.operations)]
    adopted = [each for each in weighed if each.is_adopted]
    assert adopted
    assert adopted[0].other_cost_seconds < adopted[0].cost_seconds
    assert adopted[0].gain_seconds > adopted[0].change_seconds > 0
    changes = told(query, PlanChanged)
    assert [change.batch_id for change in changes][:1] == [0]
    assert changes[1].batch_id == adopted[0].batch_id + 1
    homes = {name: home for home, names in changes[1].components.items() for name in names}
    assert homes["second"] == homes["first"]
    assert changes[1].strategy == "disruptive"
    assert results(tmp_path / "weighed", df) == undisturbed


def _out_of(operator: str) -> list[Operation]:
    """What reads an operator goes with it."""
    return [
        ps.Migrate(name, "rated", operator)
        for name in ("keyed_partials", "whole_partials", "keyed")
    ]
