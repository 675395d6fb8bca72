"""Look-ups in a real PostgreSQL: right values, few questions, restarts, changed rows."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from time import sleep
from typing import Any
from uuid import UUID

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


FAR = 2**53 + 1  # the first whole number that is no float
TWO = [2.4, 2.6, 2.0, Decimal("2.4"), Decimal(2), float("nan"), float("inf"), 2, True, 2**15]


@pytest.mark.parametrize(
    ("key_type", "there", "asked", "found"),
    [
        ("smallint", "1 2", TWO, [2.0, Decimal(2), 2]),
        ("int", "1 2", [*TWO, -(2**31) - 1], [2.0, Decimal(2), 2]),
        ("bigint", "1 2", [*TWO, Decimal("1E+2000000"), 10**400], [2.0, Decimal(2), 2]),
        ("bigint", f"{-(2**63)} {2**63 - 1}", [-(2**63), 2**63 - 1, 2**63], [-(2**63), 2**63 - 1]),
        ("numeric", "2.4", [2.4, Decimal("2.40"), Decimal("2.41")], [2.4, Decimal("2.40")]),
        ("numeric", "0.3", [0.1 + 0.2, 0.3, True], [0.3]),
        ("numeric", f"{2**53 - 2}", [2.0**53 - 1, 2.0**53 - 2], [2.0**53 - 2]),
        ("numeric", "NaN 1", [float("nan")], [float("nan")]),
        ("float8", f"{2**53} 0.5", [FAR, Decimal(FAR), 2**53, Decimal("0.5")], [2**53, 0.5]),
        ("float8", "1 Infinity", [10**400, Decimal("1E+400"), True, float("inf")], [float("inf")]),
        ("real", "16777216", [16777217, Decimal("16777216.5"), 16777216, 1e300], [16777216]),
        ("real", "0.1 0.5 NaN", [0.1000000001, 0.5, float("nan")], [0.5, float("nan")]),
        ("boolean", "true", [True, 1, 7, 1.0, Decimal(1), "yes"], [True, "yes"]),
        ('"char"', "B", ["BER", "B"], ["B"]),
        ("name", "x" * 63, ["x" * 70, "x" * 63], ["x" * 63]),
        ("date", "2024-01-01", [date(2024, 1, 1)], [date(2024, 1, 1)]),
        ("time", "23:00", [time(23), time(22)], [time(23)]),
    ],
)
def test_no_key_becomes_another(
    key_type: str, there: str, asked: list[Any], found: list[Any], server: PostgresServer
) -> None:
    """Nor does a domain make it one: it is what it is made of."""
    lookup = keyed(server, key_type, *there.split())
    got = [key for key, city in zip(asked, cities(lookup, asked), strict=True) if city]
    assert list(map(repr, map(as_number, got))) == list(map(repr, map(as_number, found)))
    server.sql(
        "DROP DOMAIN IF EXISTS inner_domain CASCADE;"
        f"CREATE DOMAIN inner_domain {key_type}; CREATE DOMAIN outer_domain inner_domain"
    )
    lookup = keyed(server, "outer_domain", *there.split())
    assert [key for key, city in zip(asked, cities(lookup, asked), strict=True) if city] == got


def as_number(key: Any) -> Any:
    return float(key) if isinstance(key, int | Decimal) else key


def test_a_domain_does_not_round_or_cut_keys_to_its_own_length(server: PostgresServer) -> None:
    server.sql("CREATE DOMAIN price numeric(5, 2); CREATE DOMAIN short varchar(3)")
    prices = [Decimal("1.234"), Decimal("1.23"), 1.23, Decimal(100_000)]
    assert cities(keyed(server, "price", "1.23"), prices) == [None, "1.23", "1.23", None]
    assert cities(keyed(server, "short", "BER"), ["BERN", "BER"]) == [None, "BER"]


def test_a_uuid_is_told_from_other_texts_without_a_question(server: PostgresServer) -> None:
    plain = "00000000-0000-0000-0000-00000000ab01"
    lookup = keyed(server, "uuid", plain)
    same = [plain, UUID(plain), plain.upper(), plain.replace("-", ""), f"{{{plain}}}"]
    same.append("0000-0000-0000-0000-0000-0000-0000-ab01")
    other = ["nope", "", f"{{{plain}", f"urn:uuid:{plain}", f" {plain}", f"{plain}\n", "٠" * 32]
    before = questions(server)
    assert cities(lookup, [*same, *other]) == [plain] * len(same) + [None] * len(other)
    assert questions(server) == before + 1
    assert cities(lookup, ["dev-1", "dev-2"]) == [None, None]
    assert questions(server) == before + 1


def test_a_number_that_no_row_can_have_is_not_asked_for(server: PostgresServer) -> None:
    lookup, before = keyed(server, "int", "1"), questions(server)
    assert cities(lookup, [2.5, 2**31, Decimal("NaN"), 2**40, True]) == [None] * 5
    assert questions(server) == before


NOON = datetime(2024, 1, 1, 12)


@pytest.mark.parametrize(
    ("key_type", "there", "good", "bad", "message"),
    [
        ("date", "2024-01-01", NOON.date(), NOON, "Look up by a date, such as key.date"),
        ("time", "12:00", NOON.time(), NOON, r"such as key.time\(\)"),
        ("time", "01:00", time(1), timedelta(hours=25), "is no time of day"),
        ("time", "12:00", NOON.time(), time(12, tzinfo=UTC), r"write key.replace\(tzinfo=None\)"),
        ("timetz", "12:00+00", time(12, tzinfo=UTC), time(12), "with the zone that it is in"),
        ("timetz", "12:00+00", time(12, tzinfo=UTC), NOON, r"such as key.timetz\(\)"),
        ("timestamp", "2024-01-01 12:00", NOON, NOON.replace(tzinfo=UTC), "tzinfo=None"),
        ("timestamptz", "2024-01-01 12:00Z", NOON.replace(tzinfo=UTC), NOON, "zone that it is in"),
        ("timestamptz", "2024-01-01 12:00Z", NOON.replace(tzinfo=UTC), NOON.date(), "with a time"),
    ],
)
def test_a_time_is_not_cut_and_not_shifted_to_the_zone_of_the_server(
    key_type: str, there: str, good: Any, bad: Any, message: str, server: PostgresServer
) -> None:
    server.sql("ALTER DATABASE postgres SET timezone = 'Asia/Tokyo'")
    try:
        lookup = keyed(server, key_type, there)
        assert cities(lookup, [good]) == [there]
        with pytest.raises(ps.PenstockError, match=message):
            lookup.get(bad)
        assert cities(lookup, [good]) == [there]
    finally:
        server.sql("ALTER DATABASE postgres RESET timezone")


@pytest.mark.parametrize(
    ("key_type", "there", "wrong"),
    [
        ("int", [1, 2], [5_000_000_000, 2**70]),
        ("text", ["1", "2"], ["x\0y"]),
        ("text", ["1", "2"], ["\ud800", "x\udfff"]),
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


def test_keys_of_several_types_are_one_question_a_type(server: PostgresServer) -> None:
    lookup = keyed(server, "text", *map(str, range(100)))
    before = questions(server)
    keys = [key for n in range(0, 100, 2) for key in (n, str(n + 1), Decimal(n) + 1000)]
    expected = [city for n in range(0, 100, 2) for city in (str(n), str(n + 1), None)]
    assert cities(lookup, keys) == expected
    assert questions(server) == before + 3


@pytest.mark.parametrize("key_count", [64, 256])
def test_what_a_key_costs_that_only_the_server_can_refuse(
    key_count: int, server: PostgresServer
) -> None:
    """As docs/how-to/database.md says; the last of them is asked whether it can be a key at all."""
    lookup, before = keyed(server, "int", "1"), statements(server)
    assert cities(lookup, ["x", *map(str, range(1, key_count))])[:2] == [None, "1"]
    connecting = 1  # it asks for the type of the column
    assert statements(server) - before - connecting == 2 * math.log2(key_count) + 2
    before = statements(server)
    assert set(cities(lookup, [f"x{n}" for n in range(key_count)])) == {None}
    assert statements(server) - before == 3 * key_count - 1


def statements(server: PostgresServer) -> int:
    """Count all that was asked, also the questions that were refused before they were run."""
    return len(re.findall(r"LOG:  (?:execute|statement)|ERROR: ", server.log))


@pytest.mark.parametrize(
    ("encoding", "keys", "expected"),
    [
        ("LATIN1", ["a", "€", "é", "\ud800"], ["a", None, "é", None]),
        ("SQL_ASCII", ["a", "\ud800", "€", "é"], ["a", None, "€", "é"]),
    ],
)
def test_a_database_with_an_encoding_of_its_own(
    encoding: str, keys: list[str], expected: list[str | None], server: PostgresServer
) -> None:
    name = f"in_{encoding.lower()}"
    server.sql(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    given = f"host=127.0.0.1 port={server.port} user=postgres dbname={name}"
    with psycopg.connect(given, password=PASSWORD, client_encoding="utf8") as connection:
        connection.execute("CREATE TABLE cities (code text, city text)")
        for key in filter(None, expected):
            connection.execute("INSERT INTO cities VALUES (%s, %s)", [key, key])
    for also in ("", " client_encoding=latin1") if encoding == "LATIN1" else ("",):
        table = table_of(server, also=f" dbname={name}{also}")
        assert cities(ps.Lookup(table), keys) == expected
        connection = next(reversed(postgres_table._connections.values())).connection
        assert connection.info.encoding == ("iso8859-1" if also else "utf-8")


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


@pytest.mark.parametrize("sql_state", ["40001", "40P01"])
def test_a_question_that_a_standby_or_a_deadlock_ended_is_asked_again(
    sql_state: str, server: PostgresServer
) -> None:
    server.sql(
        f"""DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries;
            CREATE OR REPLACE FUNCTION goes_on() RETURNS boolean LANGUAGE plpgsql AS
            $$ BEGIN IF nextval('tries') IN (2, 3, 5, 6) THEN
            RAISE 'conflict with recovery' USING ERRCODE = '{sql_state}'; END IF;
            RETURN true; END $$;
            CREATE VIEW conflicts AS SELECT * FROM cities WHERE (SELECT goes_on())"""
    )
    table = table_of(server, "conflicts", retries=2, retry_seconds=0.001)
    assert table([1]) == {1: {"city": "city 1"}}
    first = next(reversed(postgres_table._connections.values())).connection
    assert table([2]) == {2: {"city": "city 2"}}
    assert first.closed
    hasty = table_of(server, "conflicts", retries=1, retry_seconds=0.001)
    with pytest.raises(ps.DatabaseAway, match="tried 2 times: conflict with recovery"):
        hasty([3])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[psycopg.Connection[Any]]:
    """Note the connections that are made."""
    made: list[psycopg.Connection[Any]] = []
    connect = psycopg.connect
    monkeypatch.setattr(
        psycopg, "connect", lambda **given: made.append(connect(**given)) or made[-1]
    )
    return made


def test_a_key_of_a_type_that_is_never_the_columns_is_named(
    server: PostgresServer, opened: list[psycopg.Connection[Any]]
) -> None:
    lookup = keyed(server, "uuid", str(UUID(int=7)))
    for number in (7, 8):
        with pytest.raises(ps.PenstockError, match=rf"the key {number} .*uuid: cannot cast type"):
            lookup.get(number)
    assert cities(lookup, [UUID(int=7)]) == [str(UUID(int=7))]
    assert len(opened) == 1


def test_a_connection_to_a_table_that_is_not_there_is_closed(
    server: PostgresServer, opened: list[psycopg.Connection[Any]]
) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        table_of(server, "no_such_table")([1])
    with pytest.raises(ps.PenstockError, match="no column 'nope'"):
        table_of(server, key="nope")([1])
    assert [each.closed for each in opened] == [True, True]


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
