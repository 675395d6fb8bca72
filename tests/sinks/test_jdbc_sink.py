from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from penstock import sinks
from penstock.errors import ConfigurationError, SinkError
from penstock.sinks.jdbc_errors import _AWAY_IN_WORDS
from penstock.sinks.jdbc_sink import JdbcSink
from sinks.postgres_server import PASSWORD, PostgresServer, driver_jar, running_postgres

URL = "jdbc:postgresql://db.example.com/shop"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "jdbc:mysql://h/d"}, "jdbc:postgresql:"),
        ({"url": f"{URL}?user=u&password=hunter2"}, "user=..., password=..."),
        ({"url": "jdbc:postgresql://u:hunter2@h/d"}, "user=..., password=..."),
        ({"table": "s..t"}, "'schema.table'"),
        ({"keys": "id"}, r"keys=\['user_id'\]"),
        ({"keys": []}, r"keys=\['user_id'\]"),
        ({"options": {"DbTable": "x"}}, "'DbTable'"),
        ({"options": {"sslpassword": "hunter2"}}, "'sslpassword'"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, object], message: str) -> None:
    given = {"url": URL, "table": "t", "keys": ["id"], **settings}
    with pytest.raises(ConfigurationError, match=message) as caught:
        sinks.jdbc(**given)  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)


def test_missing_driver_is_explained(spark: SparkSession) -> None:
    sink = sinks.jdbc(URL, "t", ["id"], password="hunter2", driver="no.such.Driver")
    with pytest.raises(SinkError, match=r"spark\.jars\.packages', 'org\.postgresql:postgresql:"):
        sink.open("q")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["other", "ts"], r"'id' \(keys or order_by\).*not among other, ts"),
        (["id", "other"], r"'ts' \(keys or order_by\).*not among id, other"),
        (["id", "ts", "id"], "'id' more than once"),
    ],
)
def test_columns_are_checked_without_a_database(columns: list[str], message: str) -> None:
    with pytest.raises(SinkError, match=message):
        sinks.jdbc(URL, "t", ["id"], order_by="ts").check(columns)
    sinks.jdbc(URL, "t", ["id"], order_by="ts").check(["id", "ts"])


def test_connections_are_given_up_in_time_unless_options_say_otherwise() -> None:
    url = "jdbc:postgresql://db/shop"
    wanted = {"tcpKeepAlive": "true", "connectTimeout": "10", "loginTimeout": "30"}
    assert JdbcSink(url, "t", ["id"])._options.items() >= wanted.items()
    own = {"loginTimeout": "5", "socketTimeout": "600"}
    assert JdbcSink(url, "t", ["id"], options=own)._options.items() >= {**wanted, **own}.items()
    assert "socketTimeout" not in JdbcSink(url, "t", ["id"])._options


@pytest.mark.parametrize(
    ("said", "is_away"),
    [
        ("FATAL: terminating connection due to administrator command", True),
        ("FATAL: the database system is in recovery mode", True),
        ("An I/O error occurred while sending to the backend.", True),
        ("Connection to 127.0.0.1:5432 refused. Check that the hostname", True),
        ('ERROR: invalid input syntax for type uuid: "x"', False),
    ],
)
def test_an_error_of_a_task_that_is_only_text_is_told_by_its_words(
    said: str, is_away: bool
) -> None:
    task = f"java.sql.BatchUpdateException: Batch entry 0 was aborted\n\tat a.B(C.java)\n{said}"
    assert _AWAY_IN_WORDS.search(task) is None  # words of rows are none of the driver
    cause = f"{task}\nCaused by: org.postgresql.util.PSQLException: {said}\n\tat d.E(F.java)"
    assert (_AWAY_IN_WORDS.search(cause) is not None) is is_away


def test_describe_hides_what_follows_the_question_mark() -> None:
    assert sinks.jdbc(f"{URL}?user=ann", "t", ["id"]).describe() == f"jdbc({URL}, t)"


@dataclass(frozen=True)
class Database:
    server: PostgresServer
    spark: SparkSession

    def sink(self, table: str, keys: list[str], **settings: object) -> JdbcSink:
        given = {"user": "postgres", "password": PASSWORD, **settings}
        sink = sinks.jdbc(self.server.url, table, keys, **given)  # type: ignore[arg-type]
        sink.open("q")
        return sink

    def staging_tables(self) -> list[tuple[str, ...]]:
        return self.server.sql("SELECT tablename FROM pg_tables WHERE tablename ~ '^penstock_'")


@pytest.fixture(scope="module")
def server(spark: SparkSession) -> Iterator[PostgresServer]:
    driver_jar(spark)
    with running_postgres() as server:
        yield server


@pytest.fixture
def database(server: PostgresServer, spark: SparkSession) -> Database:
    server.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return Database(server, spark)


@pytest.mark.postgres
def test_different_rows_with_one_key_are_refused(database: Database) -> None:
    database.server.sql("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
    sink = database.sink("t", ["id"])
    twice = database.spark.createDataFrame([(1, "a"), (1, "b"), (2, "c")], "id BIGINT, v STRING")
    with pytest.raises(SinkError, match=r"same key \['id'\] in batch 5.*order_by='\.\.\.'"):
        sink.write(twice, 5)
    assert database.server.sql("SELECT * FROM t") == []
    assert database.staging_tables() == []


@pytest.mark.postgres
def test_equal_rows_count_once(database: Database) -> None:
    database.server.sql("CREATE TABLE t (id bigint PRIMARY KEY, v json)")
    rows = [(1, '{"a": 1}'), (1, '{"a": 1}')]
    database.sink("t", ["id"]).write(database.spark.createDataFrame(rows, "id BIGINT, v STRING"), 0)
    assert database.server.sql("SELECT id, v FROM t") == [("1", '{"a": 1}')]


@pytest.mark.postgres
def test_order_by_takes_the_last(database: Database) -> None:
    database.server.sql("CREATE TABLE t (id bigint PRIMARY KEY, at int, v text)")
    rows = [(1, 5, "new"), (1, 3, "old"), (1, None, "none"), (2, 7, "a"), (2, 7, "b")]
    df = database.spark.createDataFrame(rows, "id BIGINT, at INT, v STRING")
    sink = database.sink("t", ["id"], order_by="at")
    sink.write(df, 0)
    sink.write(df.orderBy("v"), 0)
    found = database.server.sql("SELECT id, at, v FROM t ORDER BY id")
    assert found == [("1", "5", "new"), ("2", "7", "b")]


@pytest.mark.postgres
def test_table_of_keys_only(database: Database) -> None:
    database.server.sql("CREATE TABLE t (a int, b text, PRIMARY KEY (a, b))")
    sink = database.sink("t", ["a", "b"])
    df = database.spark.createDataFrame([(1, "x"), (2, "y")], "a INT, b STRING")
    sink.write(df, 0)
    sink.write(df, 0)
    assert database.server.sql("SELECT * FROM t ORDER BY a") == [("1", "x"), ("2", "y")]


@pytest.mark.postgres
def test_null_keys_are_refused(database: Database) -> None:
    database.server.sql("CREATE TABLE t (id bigint UNIQUE, v text)")
    df = database.spark.createDataFrame([(1, "a"), (None, "b")], "id BIGINT, v STRING")
    with pytest.raises(SinkError, match="1 rows in batch 0 with NULL"):
        database.sink("t", ["id"]).write(df, 0)
    assert database.server.sql("SELECT * FROM t") == []
    assert database.staging_tables() == []


@pytest.mark.postgres
def test_the_create_table_in_the_error_works(database: Database) -> None:
    query = """SELECT 1L AS id, 'x' AS `Odd "name"`, true AS flag, 1.5 AS price, 2.5D AS rate,
        timestamp'2024-01-01 10:00:00' AS at, date'2024-01-02' AS day, array(1, 2) AS many,
        binary('b') AS raw, 3S AS small"""
    df = database.spark.sql(query)
    sink = database.sink("Sales", ["id"])
    with pytest.raises(SinkError, match="no such table") as caught:
        sink.write(df, 0)
    database.server.sql(str(caught.value).partition("Make it first: ")[2])
    sink.write(df, 0)
    found = database.server.sql("SET timezone = 'UTC'; SELECT * FROM \"Sales\"")
    at = "2024-01-01 10:00:00+00"
    expected = ("1", "x", "t", "1.5", "2.5", at, "2024-01-02", "{1,2}", r"\x62", "3")
    assert found == [expected]


@pytest.mark.postgres
def test_keys_without_a_unique_index_are_refused(database: Database) -> None:
    database.server.sql("CREATE TABLE t (id bigint, v text)")
    df = database.spark.sql("SELECT 1L AS id, 'a' AS v")
    with pytest.raises(SinkError, match=r"no primary key or unique index on exactly \(id\)"):
        database.sink("t", ["id"]).write(df, 0)


@pytest.mark.postgres
def test_columns_that_do_not_fit(database: Database) -> None:
    database.server.sql("CREATE TABLE t (id bigint PRIMARY KEY)")
    sink = database.sink("t", ["id"])
    for query, message in {
        "SELECT 1L AS id, 2 AS extra": "lacks a column.*extra",
        "SELECT 1L AS other": "'id'.*not among",
        "SELECT 1L AS id, 2L AS id": "'id' more than once",
        "SELECT 1L AS id, struct(now() AS start) AS window": "window.start AS window_start",
    }.items():
        with pytest.raises(SinkError, match=message):
            sink.write(database.spark.sql(query), 0)
    assert database.staging_tables() == []


@pytest.mark.postgres
def test_leftovers_of_this_query_only_are_dropped_at_open(database: Database) -> None:
    database.server.sql("CREATE TABLE t (id bigint PRIMARY KEY)")
    prefix = database.sink("t", ["id"])._staging_prefix
    database.server.sql(
        f"CREATE TABLE {prefix}7 (id int); CREATE TABLE penstock_of_others (id int)"
    )
    database.sink("t", ["id"])
    assert database.staging_tables() == [("penstock_of_others",)]


@pytest.mark.postgres
def test_text_goes_into_columns_of_other_types(database: Database) -> None:
    database.server.sql("CREATE TABLE t (id uuid PRIMARY KEY, v jsonb)")
    key = "00000000-0000-0000-0000-000000000001"
    df = database.spark.sql(f"""SELECT '{key}' AS id, '{{"a": 1}}' AS v""")
    database.sink("t", ["id"]).write(df, 0)
    assert database.server.sql("SELECT id, v FROM t") == [(key, '{"a": 1}')]


@pytest.mark.postgres
def test_wrong_password_is_reported_without_it(database: Database) -> None:
    with pytest.raises(SinkError, match="password authentication failed") as caught:
        database.sink("t", ["id"], password="hunter2")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in str(caught.value.__cause__)


@pytest.mark.postgres
def test_schema_qualified_target_from_another_thread(database: Database) -> None:
    database.server.sql('CREATE SCHEMA "S"; CREATE TABLE "S"."T" (id bigint PRIMARY KEY)')
    sink = database.sink("S.T", ["id"])
    thread = threading.Thread(target=lambda: sink.write(database.spark.range(3), 0))
    thread.start()
    thread.join()
    assert database.server.sql('SELECT count(*) FROM "S"."T"') == [("3",)]
    database.server.sql('DROP SCHEMA "S" CASCADE')


@pytest.mark.postgres
@pytest.mark.parametrize("setting", ["spark.jars", "spark.jars.packages"])
def test_driver_that_came_with_the_session(
    database: Database, spark: SparkSession, setting: str
) -> None:
    """In a process of its own: the session of the tests got its driver by ADD JAR."""
    database.server.sql("CREATE TABLE t (id bigint PRIMARY KEY)")
    driver = driver_jar(spark) if setting == "spark.jars" else "org.postgresql:postgresql:42.7.7"
    program = f"""
        from pyspark.sql import SparkSession
        from penstock import sinks
        spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
                 .config("spark.driver.bindAddress", "127.0.0.1")
                 .config("spark.driver.host", "127.0.0.1")
                 .config("{setting}", "{driver}").getOrCreate())
        sink = sinks.jdbc("{database.server.url}", "t", ["id"], user="postgres",
                          password="{PASSWORD}")
        sink.open("q")
        sink.write(spark.range(2), 0)
        spark.stop()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert database.server.sql("SELECT id FROM t ORDER BY id") == [("0",), ("1",)]
