"""Look-ups in a real PostgreSQL: right values, few questions, restarts, changed rows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from time import sleep
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from oracle import bag
from penstock.lookup import postgres_table
from penstock.testing import ManualClock
from sinks.postgres_server import PASSWORD, PostgresServer, running_postgres

pytestmark = pytest.mark.postgres
CITIES = 300


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with running_postgres("-c log_statement=all") as server:
        yield server


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    running.sql(
        "DROP TABLE IF EXISTS cities CASCADE;"
        "CREATE TABLE cities (code int PRIMARY KEY, city text);"
        f"INSERT INTO cities SELECT n, 'city ' || n FROM generate_series(1, {CITIES}) AS n"
    )
    return running


def table_of(server: PostgresServer, table: str = "cities", **given: Any) -> ps.PostgresTable:
    key, columns = given.pop("key", "code"), given.pop("columns", ["city"])
    conninfo = f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres"
    conninfo += given.pop("also", "")
    return ps.PostgresTable(conninfo, table, key, columns, password=PASSWORD, **given)


def questions(server: PostgresServer) -> int:
    """Count the look-ups that the server really saw."""
    return len(re.findall(r"execute .*unnest\(|statement: SELECT asked", server.log))


def test_many_keys_are_one_question(server: PostgresServer) -> None:
    before = questions(server)
    lookup = ps.Lookup(table_of(server))
    assert lookup.get_many([3, 1, 999, 3]) == [
        {"city": "city 3"},
        {"city": "city 1"},
        None,
        {"city": "city 3"},
    ]
    assert questions(server) == before + 1
    assert lookup.get_many([999, 1]) == [None, {"city": "city 1"}]
    assert questions(server) == before + 1


def test_keys_and_values_of_many_types(server: PostgresServer) -> None:
    server.sql(
        """DROP TABLE IF EXISTS "Odd %s"; CREATE TABLE "Odd %s" (u uuid UNIQUE, "t ""%" text UNIQUE,
           n numeric, at timestamptz, l bigint UNIQUE, missing text);
           INSERT INTO "Odd %s" VALUES ('00000000-0000-0000-0000-000000000001', 'a', 1.50,
           '2024-01-01 10:00:00+00', 5000000000, NULL)"""
    )
    at = datetime(2024, 1, 1, 10, tzinfo=UTC)
    row = {"n": Decimal("1.50"), "at": at, "missing": None}
    for key, value in {
        "u": "00000000-0000-0000-0000-000000000001",
        't "%': "a",
        "l": 5_000_000_000,
    }.items():
        found = table_of(server, "Odd %s", key=key, columns=["n", "at", "missing"])([value])
        assert found == {value: row}


def keyed(server: PostgresServer, key_type: str, *keys: str) -> ps.Lookup:
    """Return a look-up in a table with keys of a type, each with itself as text."""
    rows = ", ".join(f"('{key}', '{key}')" for key in keys)
    server.sql(
        f"DROP TABLE IF EXISTS keyed; CREATE TABLE keyed (code {key_type} PRIMARY KEY, city text);"
        f"INSERT INTO keyed VALUES {rows}"
    )
    return ps.Lookup(table_of(server, "keyed"))


def cities(lookup: ps.Lookup, keys: list[Any]) -> list[str | None]:
    return [found and found["city"] for found in lookup.get_many(keys)]


def test_keys_are_not_cut_to_the_length_of_their_column(server: PostgresServer) -> None:
    lookup = keyed(server, "char(3)", "BER", "B")
    assert cities(lookup, ["BER", "BOGUS", "B", "BE"]) == ["BER", None, "B", None]
    lookup = keyed(server, "varchar(3)", "BER", "B")
    assert cities(lookup, ["BER", "BERN", "B"]) == ["BER", None, "B"]
    assert cities(keyed(server, "bit(3)", "101", "100"), ["100", "101"]) == ["100", "101"]


def test_a_number_is_not_rounded_to_one_that_is_there(server: PostgresServer) -> None:
    lookup = keyed(server, "int", "1", "2", "3")
    asked = [2.4, 2.6, 2.0, Decimal("3.4"), Decimal(3), float("nan"), float("inf"), 2]
    assert cities(lookup, asked) == [None, None, "2", None, "3", None, None, "2"]
    assert cities(keyed(server, "numeric", "2.4"), [2.4, Decimal("2.40")]) == ["2.4", "2.4"]


def test_a_time_is_not_cut_to_a_day(server: PostgresServer) -> None:
    lookup = keyed(server, "date", "2024-01-01")
    assert cities(lookup, [date(2024, 1, 1)]) == ["2024-01-01"]
    with pytest.raises(ps.PenstockError, match="Look up by a date"):
        lookup.get(datetime(2024, 1, 1, 23))


@pytest.mark.parametrize(
    ("key_type", "there", "wrong"),
    [
        ("int", [1, 2], [5_000_000_000, 2**70]),
        ("text", ["1", "2"], ["x\0y"]),
        ("uuid", [f"00000000-0000-0000-0000-00000000000{n}" for n in "12"], ["nope"]),
        ("small", [1, 2], [1_000]),
    ],
)
def test_a_key_that_cannot_be_one_has_no_row_and_fails_no_other(
    key_type: str, there: list[Any], wrong: list[Any], server: PostgresServer
) -> None:
    server.sql("DROP DOMAIN IF EXISTS small CASCADE; CREATE DOMAIN small int CHECK (VALUE < 100)")
    lookup = keyed(server, key_type, *map(str, there))
    found = [str(key) for key in there]
    assert cities(lookup, [wrong[0], *there, *wrong]) == [None, *found, *[None] * len(wrong)]
    before = questions(server)
    assert cities(lookup, [*there, *wrong]) == [*found, *[None] * len(wrong)]
    assert questions(server) == before


def test_a_value_that_cannot_be_read_is_not_taken_for_none(server: PostgresServer) -> None:
    server.sql(
        "CREATE VIEW far AS SELECT code, now() + (code || ' years')::interval AS city FROM cities;"
        "INSERT INTO cities VALUES (20000)"  # a year that Python does not have
    )
    lookup = ps.Lookup(table_of(server, "far"))
    assert lookup.get(1) is not None
    with pytest.raises(psycopg.DataError):
        lookup.get_many([2, 20_000])


def test_a_table_that_is_changed_meanwhile_is_looked_up_again(server: PostgresServer) -> None:
    table = table_of(server)
    assert table([1]) == {1: {"city": "city 1"}}
    server.sql("ALTER TABLE cities ALTER code TYPE text")
    with pytest.raises(psycopg.ProgrammingError):
        table([1])
    assert table(["1"]) == {"1": {"city": "city 1"}}


def test_a_connection_that_the_server_found_idle_is_made_again(server: PostgresServer) -> None:
    also = " application_name=idle options='-c idle_session_timeout=200'"
    table = table_of(server, also=also)
    assert table([1]) == {1: {"city": "city 1"}}
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'idle'"
    while server.sql(count) != [("0",)]:
        sleep(0.05)
    assert table([2]) == {2: {"city": "city 2"}}


def test_a_key_that_is_not_unique_is_refused(server: PostgresServer) -> None:
    server.sql("ALTER TABLE cities ADD country text DEFAULT 'x'")
    with pytest.raises(ps.PenstockError, match="several rows for 'x'"):
        table_of(server, key="country")(["x"])


def test_a_changed_row_is_seen_when_the_old_one_has_expired(server: PostgresServer) -> None:
    clock = ManualClock()
    lookup = ps.Lookup(table_of(server), expire_after="1 minute", clock=clock)
    assert lookup.get(7) == {"city": "city 7"}
    server.sql("UPDATE cities SET city = 'new' WHERE code = 7; DELETE FROM cities WHERE code = 8")
    assert lookup.get(7) == {"city": "city 7"}
    clock.advance("1 minute")
    assert lookup.get(7) == {"city": "new"}
    assert lookup.get(8) is None


def test_a_restart_between_two_questions_is_not_noticed(server: PostgresServer) -> None:
    lookup = ps.Lookup(table_of(server))
    assert lookup.get(1) == {"city": "city 1"}
    server.stop("fast")
    server.start()
    assert lookup.get(2) == {"city": "city 2"}


def test_tables_of_queries_that_are_over_do_not_hold_connections_for_ever(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    monkeypatch.setattr(postgres_table, "monotonic", clock)
    monkeypatch.setattr(postgres_table, "_connections", OrderedDict())
    tables = [table_of(server) for _ in range(12)]
    for table in tables * 2:
        assert table([1]) == {1: {"city": "city 1"}}
    opened = [each.connection for each in postgres_table._connections.values()]
    assert len(opened) == 12  # none was closed to make room for another that is used as well
    clock.advance(59)
    assert tables[11]([2]) == {2: {"city": "city 2"}}
    assert [each.closed for each in opened] == [False] * 12
    clock.advance(1)
    assert tables[10]([2]) == {2: {"city": "city 2"}}
    assert [each.closed for each in opened] == [True] * 4 + [False] * 8
    assert all(table([2]) == {2: {"city": "city 2"}} for table in tables)


def test_a_server_that_comes_back_while_it_is_waited_for(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookup = ps.Lookup(table_of(server, retries=500, retry_seconds=0.02))
    assert lookup.get(1)
    server.stop("immediate")
    waits: list[float] = []
    went_on = threading.Event()

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            server.start()
            went_on.set()

    monkeypatch.setattr(postgres_table, "sleep", wait)
    try:
        assert lookup.get(2) == {"city": "city 2"}
    finally:
        if not went_on.is_set():
            server.start()
    assert waits[:2] == [0.02, 0.04]


def test_a_server_that_stays_away_fails_rows_and_only_the_first_of_them_waits(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    now = 100.0
    monkeypatch.setattr(postgres_table, "sleep", waits.append)
    monkeypatch.setattr(postgres_table, "monotonic", lambda: now)
    lookup = ps.Lookup(table_of(server, retries=2, retry_seconds=0.01))
    server.stop("fast")
    try:
        with pytest.raises(ps.DatabaseAway, match="can't be reached, which was tried 3 times"):
            lookup.get(1)
        with pytest.raises(ps.DatabaseAway, match="a moment ago"):
            lookup.get(2)
        assert waits == [0.01, 0.02]
    finally:
        server.start()
    now += 0.03
    assert lookup.get(1) == {"city": "city 1"}


def test_wrong_names_and_passwords_are_told_at_once_without_the_password(
    server: PostgresServer,
) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        table_of(server, "no_such_table")([1])
    with pytest.raises(ps.PenstockError, match="no column 'nope'"):
        table_of(server, key="nope")([1])
    with pytest.raises(psycopg.errors.UndefinedColumn):
        table_of(server, columns=["nope"])([1])
    assert PASSWORD not in repr(ps.Lookup(table_of(server)))


def test_without_the_package_it_is_said_which_one() -> None:
    program = """
        import sys
        sys.modules["psycopg"] = None
        import penstock as ps
        try:
            ps.PostgresTable("host=127.0.0.1", "t", "k", ["v"])([1])
        except ps.ConfigurationError as error:
            print(error)
    """
    lines = [line.strip() for line in program.strip().splitlines()]
    code = "\n".join(f"    {each}" if "ps.P" in each or "print" in each else each for each in lines)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'penstock[postgres]'" in done.stdout


# In a query: workers of their own, one question for the keys of an Arrow batch.


def stream(spark: SparkSession, where: Path, batches: int, codes: int = CITIES + 100) -> ps.Stream:
    for batch in range(batches):
        rows = spark.range(batch * 400, batch * 400 + 400, numPartitions=1)
        kept = rows.selectExpr("id", f"CAST(id % {codes} AS int) AS code")
        kept.write.mode("append").parquet(str(where / "in"))
    read = spark.readStream.schema("id bigint, code int").option("maxFilesPerTrigger", 1)
    return ps.Stream.read(read.parquet(str(where / "in")))


ENRICHED = "id bigint, code int, city string"


def test_a_query_is_enriched_with_few_questions(
    spark: SparkSession, server: PostgresServer, tmp_path: Path
) -> None:
    before = questions(server)
    sink = ps.sinks.memory()
    found = stream(spark, tmp_path, 4).map_batches(
        ps.Lookup(table_of(server)).onto("code", ["city"]), ENRICHED
    )
    query = ps.run(found.to(sink), checkpoint=tmp_path / "ck", available_now=True)
    assert query.await_termination(120)
    table = spark.read.parquet(str(tmp_path / "in"))
    known = f"CASE WHEN code BETWEEN 1 AND {CITIES} THEN 'city ' || code END"
    assert bag(sink.rows()) == bag(table.selectExpr("id", "code", known))
    workers = spark.sparkContext.defaultParallelism
    # A worker asks once for its share of a batch, and all 400 keys are in the first.
    assert 1 <= questions(server) - before <= workers
    text = "".join(path.read_text() for path in Path(query.journal_dir).rglob("*.jsonl"))
    assert PASSWORD not in text
    assert text


def test_rows_that_may_be_placed_by_cost_are_looked_up_right(
    spark: SparkSession, server: PostgresServer, tmp_path: Path
) -> None:
    """Every tenth key is slow to ask for, and nothing is kept, so that it stays so.

    Whether rows are then placed by cost depends on what was measured; their results do not.
    """
    server.sql(
        """CREATE OR REPLACE FUNCTION slow(code int) RETURNS text STABLE LANGUAGE plpgsql AS
           $$ BEGIN IF code % 10 = 0 THEN PERFORM pg_sleep(0.02); END IF;
           RETURN 'city ' || code; END $$;
           CREATE OR REPLACE VIEW slow_cities AS SELECT code, slow(code) AS city FROM cities"""
    )
    lookup = ps.Lookup(table_of(server, "slow_cities"), max_entries=1)
    sink = ps.sinks.memory()
    found = stream(spark, tmp_path, 8).map(named(lookup), ENRICHED, cost_key="code")
    query = ps.run(
        found.to(sink),
        checkpoint=tmp_path / "ck",
        placement=ps.CostAware(least_gain_seconds=0.0),
        available_now=True,
    )
    assert query.await_termination(120)
    known = f"CASE WHEN code BETWEEN 1 AND {CITIES} THEN 'city ' || code END"
    table = spark.read.parquet(str(tmp_path / "in"))
    assert bag(sink.rows()) == bag(table.selectExpr("id", "code", known))


def test_rows_that_could_not_be_looked_up_are_set_aside_and_the_others_go_on(
    spark: SparkSession, server: PostgresServer, tmp_path: Path
) -> None:
    """One batch finds the database, the next does not; nothing is lost."""
    lookup = ps.Lookup(table_of(server, retries=1, retry_seconds=0.01))
    found = stream(spark, tmp_path, 2, codes=500).map(
        named(lookup), ENRICHED, on_error="dead_letter"
    )
    sink, letters = ps.sinks.memory(), ps.sinks.memory()

    def stop_server(step: Any, batch_id: int) -> None:
        if (step, batch_id) == ("load", 1):
            server.stop("fast")

    try:
        query = ps.run(
            found.to(sink),
            found.dead_letters().to(letters),
            checkpoint=tmp_path / "ck",
            available_now=True,
            on_step=stop_server,
        )
        assert query.await_termination(120)
    finally:
        server.start()
    by_id = {row.id: row.city for row in sink.rows()}
    failed = [json.loads(letter.row)["id"] for letter in letters.rows()]
    # What any worker had from the first batch all still know.
    assert sorted(failed) == list(range(400, 500))
    assert sorted(by_id) == [*range(400), *range(500, 800)]
    assert {letter.error for letter in letters.rows()} == {"DatabaseAway"}
    assert all(by_id[n] == (f"city {n % 500}" if 0 < n % 500 <= CITIES else None) for n in by_id)


def named(lookup: ps.Lookup) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def named(row: dict[str, Any]) -> dict[str, Any]:
        found = lookup.get(row["code"])
        return {**row, "city": found["city"] if found else None}

    return named


def test_a_query_may_stop_instead_and_goes_on_when_the_database_is_back(
    spark: SparkSession, server: PostgresServer, tmp_path: Path
) -> None:
    stream(spark, tmp_path, 2, codes=500)

    def run(**options: Any) -> None:
        lookup = ps.Lookup(table_of(server, retries=1, retry_seconds=0.01))
        found = stream(spark, tmp_path, 0).map(named(lookup), ENRICHED, on_error="fail")
        branch = found.to(ps.sinks.parquet(tmp_path / "out"))
        query = ps.run(branch, checkpoint=tmp_path / "ck", available_now=True, **options)
        assert query.await_termination(120)

    def stop_server(step: Any, batch_id: int) -> None:
        if (step, batch_id) == ("load", 1):
            server.stop("fast")

    try:
        with pytest.raises(ps.OperatorError, match="DatabaseAway"):
            run(on_step=stop_server)
    finally:
        server.start()
    assert [path.name for path in (tmp_path / "out").glob("batch_id=*")] == ["batch_id=0"]
    run()
    found = [(row.id, row.city) for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    expected = [(n, f"city {n % 500}" if 0 < n % 500 <= CITIES else None) for n in range(800)]
    assert sorted(found) == expected
