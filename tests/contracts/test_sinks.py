"""What every sink promises: a batch counts once, however often it is sent, whole or not at all."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest
from kafka_jars import add_jars, broker_jars, connector_jars
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from penstock import sinks
from penstock.engine.session import ENGINE_SETTINGS
from penstock.errors import SinkError
from penstock.sinks.console_sink import ConsoleSink
from penstock.sinks.files import FileSink
from penstock.sinks.sink import ChecksColumns, Sink
from sinks.postgres_server import PASSWORD, PostgresServer, driver_jar, running_postgres

if TYPE_CHECKING:
    from kafka_broker import KafkaBroker

Content = list[tuple[int, str]]
SCHEMA = "id BIGINT, v STRING"
FIRST: dict[int, Content] = {
    0: [(0, "a"), (1, "b")],
    1: [(10, "c"), (11, "d"), (12, "e")],
    2: [(20, "f")],
}


@dataclass
class Case:
    """A sink, and a way to read what it holds that is not its own."""

    sink: Sink
    read: Callable[[], Content]
    upserts: bool = False
    appends: bool = False


@pytest.fixture(scope="module")
def postgres(spark: SparkSession) -> Iterator[PostgresServer]:
    driver_jar(spark)
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def kafka(spark: SparkSession) -> Iterator[KafkaBroker]:
    pytest.importorskip("confluent_kafka", reason="install the extra 'kafka-tests'")
    from kafka_broker import running_broker

    add_jars(spark, connector_jars(spark))
    with running_broker(broker_jars(spark)) as broker:
        yield broker


@pytest.fixture(
    params=[
        "parquet",
        "parquet by v",
        "parquet of rows only",
        "json",
        "memory",
        "console",
        "call",
        pytest.param("jdbc", marks=pytest.mark.postgres),
        pytest.param("kafka", marks=pytest.mark.kafka),
    ]
)
def case(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Case:
    case = _make(request, spark, str(tmp_path / "out"))
    case.sink.open("query-1")
    return case


def _make(request: pytest.FixtureRequest, spark: SparkSession, path: str) -> Case:
    name = request.param
    if name == "parquet of rows only":
        sparing = FileSink(path, "parquet", publishes_empty=False)
        return Case(sparing, lambda: _read_files(path, "parquet"))
    if name.startswith("parquet"):
        by = ["v"] if name == "parquet by v" else []
        return Case(sinks.parquet(path, partition_by=by), lambda: _read_files(path, "parquet"))
    if name == "json":
        return Case(sinks.json(path), lambda: _read_files(path, "json"))
    if name == "memory":
        memory = sinks.memory()
        return Case(memory, lambda: [(row.id, row.v) for row in memory.rows()])
    if name == "console":
        text = io.StringIO()
        sink = ConsoleSink(100, None, Console(file=text, width=100))
        return Case(sink, lambda: _read_tables(text.getvalue()))
    if name == "call":
        kept: dict[int, Content] = {}

        def keep(df: DataFrame, batch_id: int) -> None:
            kept[batch_id] = [(row.id, row.v) for row in df.collect()]

        return Case(sinks.call(keep), lambda: [row for rows in kept.values() for row in rows])
    if name == "kafka":
        broker: KafkaBroker = request.getfixturevalue("kafka")
        topic = broker.make_topic("hits")
        options = {"kafka.ssl.key.password": PASSWORD}
        sink = sinks.kafka(broker.servers, topic, key="id", options=options)
        return Case(sink, lambda: _read_topic(broker, topic), appends=True)
    server: PostgresServer = request.getfixturevalue("postgres")
    server.sql("DROP TABLE IF EXISTS hits; CREATE TABLE hits (id bigint PRIMARY KEY, v text)")
    jdbc = sinks.jdbc(server.url, "hits", ["id"], user="postgres", password=PASSWORD)
    return Case(
        jdbc,
        lambda: [(int(row), v) for row, v in server.sql("SELECT id, v FROM hits")],
        upserts=True,
    )


def _read_files(path: str, file_format: str) -> Content:
    table = ds.dataset(path, format=file_format, partitioning="hive").to_table()
    if table.num_rows == 0:
        return []
    return list(zip(table["id"].to_pylist(), table["v"].to_pylist(), strict=True))


def _read_topic(broker: KafkaBroker, topic: str) -> Content:
    """The rows of a consumer that takes each id once."""
    once = {dict(record.headers())["penstock-id"]: record for record in broker.records(topic)}
    rows = [json.loads(record.value()) for record in once.values()]
    return [(row["id"], row["v"]) for row in rows]


def _read_tables(printed: str) -> Content:
    """The rows on the terminal; of a batch printed twice, the last table."""
    batches: dict[str, Content] = {}
    for line in printed.splitlines():
        if line.strip().startswith("batch "):
            title = line.strip()
            batches[title] = []
        elif line.strip().startswith("│"):
            number, v = (cell.strip() for cell in line.strip().strip("│").split("│"))
            batches[title].append((int(number), v))
    return [row for rows in batches.values() for row in rows]


def _send(case: Case, spark: SparkSession, batch_id: int, rows: Content) -> None:
    case.sink.write(spark.createDataFrame(rows, SCHEMA), batch_id)


def _send_all(case: Case, spark: SparkSession) -> Content:
    for batch_id, rows in FIRST.items():
        _send(case, spark, batch_id, rows)
    return sorted(row for rows in FIRST.values() for row in rows)


def _failing(spark: SparkSession) -> DataFrame:
    """Four tasks, of which one fails after it gave a row and three are fine."""
    return spark.range(0, 8, 1, 4).selectExpr(
        "id", "CASE WHEN id = 5 THEN raise_error('on purpose') ELSE string(id) END AS v"
    )


def test_is_a_sink(case: Case) -> None:
    assert isinstance(case.sink, Sink)


def test_takes_the_columns_that_it_can_write(case: Case) -> None:
    if isinstance(case.sink, ChecksColumns):
        case.sink.check(["id", "v"])
        with pytest.raises(SinkError, match="'id' more than once"):
            case.sink.check(["id", "v", "id"])


def test_holds_every_batch(case: Case, spark: SparkSession) -> None:
    expected = _send_all(case, spark)
    assert sorted(case.read()) == expected


def test_same_batch_again_changes_nothing(case: Case, spark: SparkSession) -> None:
    expected = _send_all(case, spark)
    _send(case, spark, 1, FIRST[1])
    assert sorted(case.read()) == expected


def test_other_rows_replace_the_batch(case: Case, spark: SparkSession) -> None:
    _send_all(case, spark)
    _send(case, spark, 1, [(10, "C"), (13, "new")])
    # An upsert knows keys, not batches: what only the first try had stays. Nothing leaves a topic.
    kept = [(11, "d"), (12, "e")] if case.upserts else FIRST[1] if case.appends else []
    assert sorted(case.read()) == sorted([*FIRST[0], (10, "C"), (13, "new"), *kept, *FIRST[2]])


def test_replay_after_a_restart_changes_nothing(case: Case, spark: SparkSession) -> None:
    expected = _send_all(case, spark)
    case.sink.open("query-1")
    _send(case, spark, 2, FIRST[2])
    assert sorted(case.read()) == expected


def test_empty_batch(case: Case, spark: SparkSession) -> None:
    _send(case, spark, 0, FIRST[0])
    _send(case, spark, 1, [])
    _send(case, spark, 2, FIRST[2])
    assert sorted(case.read()) == sorted([*FIRST[0], *FIRST[2]])


def test_an_empty_batch_takes_the_place_of_one_with_rows(case: Case, spark: SparkSession) -> None:
    _send(case, spark, 0, FIRST[0])
    _send(case, spark, 1, FIRST[1])
    _send(case, spark, 1, [])
    kept = FIRST[1] if case.upserts or case.appends else []
    assert sorted(case.read()) == sorted([*FIRST[0], *kept])


def test_failed_batch_leaves_nothing_and_the_sink_works_on(case: Case, spark: SparkSession) -> None:
    _send(case, spark, 0, FIRST[0])
    with pytest.raises(Exception, match="on purpose"):
        case.sink.write(_failing(spark), 1)
    assert sorted(case.read()) == FIRST[0]
    _send(case, spark, 1, FIRST[1])
    assert sorted(case.read()) == [*FIRST[0], *FIRST[1]]


def test_failed_replay_keeps_the_first_try(case: Case, spark: SparkSession) -> None:
    _send(case, spark, 0, FIRST[0])
    with pytest.raises(Exception, match="on purpose"):
        case.sink.write(_failing(spark), 0)
    assert sorted(case.read()) == FIRST[0]


def test_one_job_per_batch(case: Case, spark: SparkSession, request: pytest.FixtureRequest) -> None:
    context = spark.sparkContext
    df = spark.range(0, 8, 1, 4).selectExpr("id", "concat('v', id) AS v")
    group = request.node.nodeid
    context.setJobGroup(group, "count the jobs of one write")
    adaptive = "spark.sql.adaptive.enabled"  # which makes a job of every stage; the engine has none
    spark.conf.set(adaptive, ENGINE_SETTINGS[adaptive])
    try:
        case.sink.write(df, 0)
    finally:
        spark.conf.unset(adaptive)
        context.setLocalProperty("spark.jobGroup.id", None)
    context._jsc.sc().listenerBus().waitUntilEmpty()
    assert len(context.statusTracker().getJobIdsForGroup(group)) == 1
    assert sorted(case.read()) == [(n, f"v{n}") for n in range(8)]


def test_description_has_no_secret(case: Case) -> None:
    assert case.sink.describe()
    assert PASSWORD not in case.sink.describe()
    assert PASSWORD not in repr(case.sink)


@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_readers_never_see_half_a_batch(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    path = str(tmp_path / "out")
    sink = sinks.parquet(path) if file_format == "parquet" else sinks.json(path)
    sink.open("query-1")

    def send(attempt: int) -> None:
        sink.write(spark.range(0, 40, 1, 4).selectExpr("id", f"{attempt} AS attempt"), 0)

    send(0)
    done, seen = threading.Event(), list[tuple[int, int]]()
    reader = threading.Thread(target=lambda: _watch(path, file_format, done, seen))
    reader.start()
    try:
        for attempt in range(1, 15):
            send(attempt)
    finally:
        done.set()
        reader.join()
    assert seen[-1] == (40, 1)
    # Between the two renames of a replay the batch is away; it is never there in part.
    assert set(seen) <= {(40, 1), (0, 0)}


def _watch(path: str, file_format: str, done: threading.Event, seen: list[tuple[int, int]]) -> None:
    """Note rows and distinct tries at every read, and once more after the last write."""
    last = False
    while not last:
        last = done.is_set()
        try:
            table = ds.dataset(path, format=file_format, partitioning="hive").to_table()
        except FileNotFoundError:
            continue  # listed before a replay, opened after it: the reader is told, and reads again
        tries = set(table["attempt"].to_pylist()) if table.num_rows else set()
        seen.append((table.num_rows, len(tries)))
