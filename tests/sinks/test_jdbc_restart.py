"""A real PostgreSQL that goes away while a query writes into it, and comes back or does not."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock import journal
from penstock.engine.patient_sinks import FAULT
from penstock.engine.steps import Step
from penstock.journal import FaultSeen
from penstock.sinks import jdbc_sink
from penstock.sinks.jdbc_sink import JdbcSink
from sinks.postgres_server import PASSWORD, PostgresServer, driver_jar, running_postgres

pytestmark = pytest.mark.postgres
LIMIT_SECONDS = 120
JOB = Path(__file__).with_name("patient_jdbc_job.py")


@pytest.fixture(scope="module")
def running(spark: SparkSession) -> Iterator[PostgresServer]:
    driver_jar(spark)
    with running_postgres() as server:
        yield server


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    running.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (id bigint PRIMARY KEY, v bigint)")
    return running


def sink_to(server: PostgresServer, **settings: float) -> ps.sinks.Sink:
    given = {"retries": 200, "retry_seconds": 0.1, **settings}
    return ps.sinks.jdbc(server.url, "t", ["id"], user="postgres", password=PASSWORD, **given)  # type: ignore[arg-type]


def stream(spark: SparkSession, where: Path, batches: int) -> ps.Stream:
    for batch in range(batches):
        rows = spark.range(batch * 10, batch * 10 + 20, numPartitions=1)
        rows.selectExpr("id", f"id + {batch} AS v").write.mode("append").parquet(str(where / "in"))
    read = spark.readStream.schema("id bigint, v bigint").option("maxFilesPerTrigger", 1)
    return ps.Stream.read(read.parquet(str(where / "in")))


def expected(batches: int) -> list[tuple[str, str]]:
    """Later batches overwrite the ten rows that they share with the one before."""
    found = {n: n + batch for batch in range(batches) for n in range(batch * 10, batch * 10 + 20)}
    return [(str(n), str(v)) for n, v in sorted(found.items())]


def faults(directory: Path) -> list[FaultSeen]:
    bodies = [event.body for event in journal.read(directory)]
    return [body for body in bodies if isinstance(body, FaultSeen)]


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_fault(directory: Path) -> bool:
    return directory.exists() and bool(faults(directory))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_query_rides_through_a_restart(
    spark: SparkSession, server: PostgresServer, tmp_path: Path, mode: str
) -> None:
    told = tmp_path / "journal"

    def stop_server(step: Step, batch_id: int) -> None:
        if (step, batch_id) == (Step.COMPILE, 1):
            server.stop(mode)

    def start_server() -> None:
        until(lambda: has_fault(told))
        server.start()

    back = threading.Thread(target=start_server)
    back.start()
    query = ps.run(
        stream(spark, tmp_path, 3).to(sink_to(server)),
        checkpoint=tmp_path / "checkpoint",
        journal=told,
        available_now=True,
        on_step=stop_server,
    )
    assert query.await_termination(LIMIT_SECONDS)
    back.join()
    assert server.sql("SELECT id, v FROM t ORDER BY id") == expected(3)
    seen = faults(told)
    assert {(each.batch_id, each.what) for each in seen} == {(1, FAULT)}
    assert "can't be reached: " in seen[0].detail
    assert PASSWORD not in seen[0].detail


def timers(port: int) -> set[str]:
    """What runs for connections to a port: "02" is the clock of a keepalive."""
    tables = (Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()).splitlines()
    rows = [line.split() for line in tables if "local_address" not in line]
    open_to = [row for row in rows if row[2].endswith(f":{port:04X}") and row[3] == "01"]
    return {row[5].partition(":")[0] for row in open_to}


@pytest.mark.parametrize(("options", "timer"), [({}, "02"), ({"tcpKeepAlive": "false"}, "00")])
def test_a_host_that_is_gone_without_a_word_is_noticed_by_keepalives(
    spark: SparkSession, server: PostgresServer, options: dict[str, str], timer: str
) -> None:
    sink = ps.sinks.jdbc(
        server.url, "t", ["id"], user="postgres", password=PASSWORD, options=options
    )
    assert isinstance(sink, JdbcSink)
    with sink._transaction(spark) as statement:
        statement.execute("SELECT 1")
        until(lambda: timers(server.port) == {timer})


def test_a_server_that_takes_a_connection_and_never_answers_is_given_up(
    spark: SparkSession, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(jdbc_sink._DEFAULT_OPTIONS, "loginTimeout", "1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"jdbc:postgresql://127.0.0.1:{silent.getsockname()[1]}/postgres"
        sink = ps.sinks.jdbc(url, "t", ["id"], user="postgres", password=PASSWORD)
        with pytest.raises(ps.SinkUnavailable, match="can't be reached: Connection attempt timed"):
            sink.open("q")


def test_a_server_that_stays_away_stops_the_query_which_then_goes_on(
    spark: SparkSession, server: PostgresServer, tmp_path: Path
) -> None:
    def run(**options: object) -> None:
        branch = stream(spark, tmp_path, 0).to(sink_to(server, retries=2, retry_seconds=0.01))
        query = ps.run(branch, checkpoint=tmp_path / "ck", available_now=True, **options)  # type: ignore[arg-type]
        assert query.await_termination(LIMIT_SECONDS)

    def stop_server(step: Step, batch_id: int) -> None:
        if (step, batch_id) == (Step.COMPILE, 1):
            server.stop("fast")

    stream(spark, tmp_path, 3)
    try:
        with pytest.raises(
            ps.SinkUnavailable, match=r"can't be reached: .* tried 3 times .* Batch 1 is not commit"
        ):
            run(on_step=stop_server)
        with pytest.raises(ps.SinkUnavailable, match=r"tried 3 times .* Nothing was read yet"):
            run()
    finally:
        server.start()
    run()
    assert server.sql("SELECT id, v FROM t ORDER BY id") == expected(3)


def test_an_error_in_sql_is_not_tried_again(
    spark: SparkSession, server: PostgresServer, tmp_path: Path
) -> None:
    server.sql("ALTER TABLE t ADD CHECK (v < 25)")
    branch = stream(spark, tmp_path, 2).to(sink_to(server))
    query = ps.run(branch, checkpoint=tmp_path / "ck", available_now=True)
    with pytest.raises(ps.SinkError, match="violates check constraint") as caught:
        query.await_termination(LIMIT_SECONDS)
    assert not isinstance(caught.value, ps.SinkUnavailable)
    assert faults(Path(query.journal_dir)) == []


# Holds the row 15 of a staging table while somebody has the lock 7, in the middle of its task.
HELD = """
CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$;
CREATE FUNCTION hold() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE made text;
BEGIN FOR made IN SELECT object_identity FROM pg_event_trigger_ddl_commands()
  WHERE object_identity LIKE 'public.penstock_%'
LOOP EXECUTE format('CREATE TRIGGER held BEFORE INSERT ON %s FOR EACH ROW WHEN (NEW.id = 15) '
  'EXECUTE FUNCTION held()', made); END LOOP; END $$;
CREATE EVENT TRIGGER hold ON ddl_command_end WHEN TAG IN ('CREATE TABLE AS') EXECUTE FUNCTION hold()
"""
WRITING = "wait_event = 'advisory' AND query LIKE 'INSERT INTO %penstock_%'"


@pytest.fixture
def held(server: PostgresServer) -> Iterator[PostgresServer]:
    server.sql(HELD)
    yield server
    server.sql("DROP EVENT TRIGGER hold; DROP FUNCTION hold(); DROP FUNCTION held() CASCADE")


@contextmanager
def lost_while_a_task_writes(
    server: PostgresServer, told: Path, way: str, is_running: Callable[[], bool]
) -> Iterator[None]:
    """Hold a statement of a task that the body starts, and end its connection in the middle."""
    import psycopg

    conninfo = f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres"
    with psycopg.connect(conninfo, password=PASSWORD, autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(7)")
        yield
        asked = f"SELECT pid FROM pg_stat_activity WHERE {WRITING}"
        until(lambda: server.sql(asked) or not is_running())
        ((writer,),) = server.sql(asked)
        if way == "terminated":
            server.sql(f"SELECT pg_terminate_backend({writer})")
        elif way == "killed":
            os.kill(int(writer), signal.SIGKILL)
        else:
            server.stop(way)
        until(lambda: has_fault(told) or not is_running())
        holder.close()
    if way in ("fast", "immediate"):
        server.start()


@pytest.mark.parametrize("way", ["terminated", "killed", "fast", "immediate"])
def test_a_connection_that_is_lost_while_a_task_writes(
    spark: SparkSession, held: PostgresServer, tmp_path: Path, way: str
) -> None:
    stream(spark, tmp_path, 3)
    told, log = tmp_path / "journal", tmp_path / "log"
    job = [sys.executable, str(JOB), held.url, PASSWORD, str(tmp_path), driver_jar(spark)]
    with log.open("w") as said, subprocess.Popen(job, stdout=said, stderr=said) as running:
        try:
            with lost_while_a_task_writes(held, told, way, lambda: running.poll() is None):
                pass
            assert running.wait(LIMIT_SECONDS) == 0, log.read_text()[-4_000:]
        finally:
            running.kill()
    assert held.sql("SELECT id, v FROM t ORDER BY id") == expected(3)
    assert held.sql("SELECT tablename FROM pg_tables WHERE tablename LIKE 'penstock_%'") == []
    first, *_ = faults(told)
    assert (first.batch_id, first.what) == (0, FAULT)
    assert "was lost while rows were written: " in first.detail
    assert PASSWORD not in first.detail


def test_one_that_is_lost_where_spark_can_not_read_the_drivers_errors(
    spark: SparkSession, held: PostgresServer, tmp_path: Path
) -> None:
    """The driver of this session came by ADD JAR."""
    told, queries = tmp_path / "journal", list[ps.Query]()
    with lost_while_a_task_writes(held, told, "terminated", lambda: queries[0].is_active):
        queries.append(
            ps.run(
                stream(spark, tmp_path, 3).to(sink_to(held)),
                checkpoint=tmp_path / "checkpoint",
                journal=told,
                available_now=True,
            )
        )
    assert queries[0].await_termination(LIMIT_SECONDS)
    assert held.sql("SELECT id, v FROM t ORDER BY id") == expected(3)
    assert "or refused them" in faults(told)[0].detail
    assert "spark.jars.packages" in faults(told)[0].detail


def test_a_restart_in_the_middle_of_a_merge(spark: SparkSession, server: PostgresServer) -> None:
    import psycopg

    server.sql("INSERT INTO t VALUES (7, 70)")
    sink = sink_to(server)
    sink.open("q")
    rows = spark.range(0, 40, 1, 1).selectExpr("id", "id AS v")
    caught: list[BaseException] = []

    def write() -> None:
        try:
            sink.write(rows, 0)
        except BaseException as error:
            caught.append(error)

    conninfo = f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres"
    writing = threading.Thread(target=write)
    with psycopg.connect(conninfo, password=PASSWORD) as holder:
        holder.execute("SELECT * FROM t FOR UPDATE")  # the merge waits, what comes before does not
        writing.start()
        merge = "wait_event_type = 'Lock' AND query ~ 'EXCLUDED'"
        waiting = f"SELECT 1 FROM pg_stat_activity WHERE {merge}"
        until(lambda: server.sql(waiting))
        server.stop("fast")
        holder.close()
    writing.join()
    server.start()
    assert [type(error) for error in caught] == [ps.SinkUnavailable]
    assert server.sql("SELECT * FROM t") == [("7", "70")]
    sink.write(rows, 0)
    assert server.sql("SELECT count(*), sum(v) FROM t") == [("40", "780")]
