from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock import journal
from penstock.cli.job_file import JobFile
from penstock.journal import SkylineSeen
from penstock.key_state import micros_of
from penstock.sources import Sine, UniformDelay, UniformKeys, ZipfKeys
from penstock.sources.delays import Delays, NoDelay
from penstock.sources.keys import Keys
from penstock.sources.patterns import trace_of_pattern
from penstock.sources.replay import _SOME_COST
from penstock.sources.rows import RowMaker
from penstock.sources.schedule import Schedule
from penstock.sources.trace import Trace
from sinks.postgres_server import PASSWORD, driver_jar, running_postgres

EXAMPLES = Path(__file__).parent.parent / "examples"
AREAS = ["harbour", "old town", "hill", "station"]
LIMIT_SECONDS = 240


def rows_of(
    trace: Trace, keys: Keys, delays: Delays | None = None, seed: int = 0
) -> list[tuple[int, float]]:
    """Make a source's rows without Spark: their keys and values."""
    maker = RowMaker(Schedule(trace), keys, delays or NoDelay(), _SOME_COST, seed, origin_micros=0)
    return [
        (row["key"], row["value"])
        for batch in maker.batches(0, trace.rows)
        for row in batch.to_pylist()
    ]


def finish(spark: SparkSession, example: str, checkpoint: Path, **options: Any) -> ps.Query:
    outlets = JobFile.parse(str(EXAMPLES / example)).load().build(spark)
    query = ps.run(*outlets, checkpoint=str(checkpoint), available_now=True, **options)
    assert query.await_termination(LIMIT_SECONDS)
    return query


def json_lines(directory: Path) -> list[dict[str, str]]:
    return [
        json.loads(line)
        for file in sorted(directory.glob("batch_id=*/*.json"))
        for line in file.read_text().splitlines()
    ]


def enriched() -> tuple[Counter[tuple[int, float, str]], int]:
    """Work out what examples/enrich.py should write and how many rows it should set aside."""
    rows = rows_of(trace_of_pattern(ps.sources.Steady(100), 30), UniformKeys(1_000))
    kept = Counter((key, value, AREAS[key % 4]) for key, value in rows if value > 0.5)
    return kept, sum(value < 0.01 for _, value in rows)


def test_enrich(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENRICH_OUT", str(tmp_path / "out"))
    finish(spark, "enrich.py", tmp_path / "ck")
    kept, failed = enriched()
    found = pq.read_table(tmp_path / "out" / "rows").select(["key", "value", "area"])
    assert Counter(tuple(row.values()) for row in found.to_pylist()) == kept
    letters = json_lines(tmp_path / "out" / "failed")
    assert len(letters) == failed > 0
    assert {letter["message"] for letter in letters} == {"the sensor was off"}


def test_two_sources(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    monkeypatch.setenv("TWO_SOURCES_OUT", str(out))
    finish(spark, "two_sources.py", tmp_path / "ck")

    trace = trace_of_pattern(Sine(mean=60, amplitude=40, period_seconds=20), 30)
    delays = UniformDelay(60, fraction=0.1)
    orders = [
        (channel, product, 1 + int(value * 5))
        for channel, seed in (("web", 1), ("shop", 2))
        for product, value in rows_of(trace, ZipfKeys(50), delays, seed)
    ]
    # The price list of the example has the products 0 to 39.
    bills = Counter(
        (channel, product, pieces, round(pieces * round(1 + product / 4, 2), 2))
        for channel, product, pieces in orders
        if product < 40
    )
    found = pq.read_table(out / "bills").to_pylist()
    assert (
        Counter((row["channel"], row["product"], row["pieces"], row["total"]) for row in found)
        == bills
    )
    unpriced = [json.loads(letter["row"])["product"] for letter in json_lines(out / "unpriced")]
    assert Counter(unpriced) == Counter(product for _, product, _ in orders if product >= 40)

    late = pq.read_table(out / "late").to_pylist()
    assert late
    assert all(row["ts"] < row["_watermark"] for row in late)
    billed = Counter((row["ts"], row["product"], row["total"]) for row in found)
    assert not Counter((row["ts"], row["product"], row["total"]) for row in late) - billed


@pytest.mark.postgres
def test_database(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver_jar(spark)
    monkeypatch.setenv("DATABASE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    statements = (EXAMPLES / "database.py").read_text().split("first:")[1].partition("PGHOST=")[0]
    with running_postgres() as server:
        monkeypatch.setenv("PGPORT", str(server.port))
        server.sql(statements)
        server.sql("INSERT INTO shops SELECT n, 'city ' || n FROM generate_series(0, 39) AS n")
        finish(spark, "database.py", tmp_path / "ck")
        found = server.sql("SELECT shop, city, amount FROM last_sales ORDER BY shop")
    rows = rows_of(trace_of_pattern(ps.sources.Steady(100), 20), UniformKeys(1_000))
    last = {key % 50: value * 100 for key, value in rows if key % 50 < 40}
    assert [(int(shop), city, float(amount)) for shop, city, amount in found] == [
        (shop, f"city {shop}", amount) for shop, amount in sorted(last.items())
    ]
    unknown = pq.read_table(tmp_path / "out" / "unknown")["shop"].to_pylist()
    assert Counter(unknown) == Counter(key % 50 for key, _ in rows if key % 50 >= 40)


@pytest.mark.slow
@pytest.mark.parametrize("as_script", [True, False], ids=["python", "penstock run"])
def test_enrich_from_the_command_line(tmp_path: Path, as_script: bool) -> None:
    file = str(EXAMPLES / "enrich.py")
    command = ["-m", "penstock", "run", file, "--checkpoint", "ck", "--available-now", "--json"]
    ran = subprocess.run(
        [sys.executable, *([file] if as_script else [*command, "--master", "local[2]"])],
        cwd=tmp_path,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    kept, failed = enriched()
    assert pq.read_table(tmp_path / "enrich-out" / "rows").num_rows == kept.total()
    if as_script:
        assert "harbour" in ran.stdout
    else:
        ended = json.loads(ran.stdout)
        assert (ended["rows"], ended["failed_rows"]) == (3_000, failed)
        assert {output["path"]: output["rows"] for output in ended["outputs"]} == {
            "enrich-out/rows": kept.total(),
            "enrich-out/failed": failed,
        }
        assert Path(ended["journal"]).is_dir()
        assert ran.stderr == ""


@pytest.mark.slow
def test_explain_from_the_command_line(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", "explain", str(EXAMPLES / "two_sources.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "join: join (left on product, read again every 60 s) <- union" in ran.stdout


def test_own_aggregate(spark: SparkSession, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("OWN_AGGREGATE_OUT", str(tmp_path / "out"))
    finish(spark, "own_aggregate.py", tmp_path / "checkpoint")
    found = spark.read.parquet(str(tmp_path / "out" / "spread"))
    totals = found.groupBy("window", "sensor").agg({"share": "sum"}).collect()
    assert totals
    assert all(abs(row["sum(share)"] - 1) < 1e-9 for row in totals)
    assert found.filter("bucket NOT BETWEEN 0 AND 9").count() == 0


def test_sessions(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIONS_OUT", str(tmp_path / "out"))
    finish(spark, "sessions.py", tmp_path / "checkpoint")
    found = [
        (row.user, row.a, row.b, row.clicks)
        for row in spark.read.parquet(str(tmp_path / "out" / "sessions"))
        .selectExpr("user", "unix_micros(since) AS a", "unix_micros(until) AS b", "clicks")
        .collect()
    ]
    trace = trace_of_pattern(ps.sources.Steady(200), 60)
    origin = 1_767_225_600_000_000  # 2026 begins
    maker = RowMaker(Schedule(trace), ZipfKeys(500), NoDelay(), _SOME_COST, 0, origin)
    clicks = [
        (row["key"], micros_of(row["ts"]))
        for batch in maker.batches(0, trace.rows)
        for row in batch.to_pylist()
    ]
    expected = set(sessions_of(clicks, pause=3_000_000))
    assert len(found) == len(set(found)) > 500
    assert set(found) <= expected
    # What is missing ended too late: the last batch began with a watermark of 49 seconds or so.
    newest = max(at for _, at in clicks)
    assert all(until > newest - 15_000_000 for _, _, until, _ in expected - set(found))


def sessions_of(clicks: list[tuple[int, int]], pause: int) -> list[tuple[int, int, int, int]]:
    """Cut the clicks of every user into sessions: user, first and last moment, number of clicks."""
    by_user: dict[int, list[int]] = {}
    for user, at in sorted(clicks):
        by_user.setdefault(user, []).append(at)
    made = []
    for user, moments in by_user.items():
        run = [moments[0]]
        for at in moments[1:]:
            if at - run[-1] > pause:
                made.append((user, run[0], run[-1], len(run)))
                run = []
            run.append(at)
        made.append((user, run[0], run[-1], len(run)))
    return made


def table_of(
    spark: SparkSession,
    trace: Trace,
    keys: Keys,
    origin_micros: int,
    columns: list[str],
    delays: Delays | None = None,
) -> DataFrame:
    """Make a source's rows without a stream, as a table of Spark."""
    maker = RowMaker(Schedule(trace), keys, delays or NoDelay(), _SOME_COST, 0, origin_micros)
    rows = pa.Table.from_batches(list(maker.batches(0, trace.rows)))
    return spark.createDataFrame(rows).selectExpr(*columns)


def test_tweets(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWEETS_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("TWEETS_SECONDS", "3")
    finish(spark, "tweets.py", tmp_path / "checkpoint")
    module: Any = sys.modules["_penstock_job_tweets"]
    trace = trace_of_pattern(Sine(mean=100, amplitude=90, period_seconds=30), 3)
    tweets = table_of(spark, trace, ZipfKeys(1_000), 0, module.tweet_columns())

    words = r"filter(split(text, ' '), w -> w NOT RLIKE '^(@|https:)')"
    read = tweets.selectExpr("id", "author", f"{words} AS words").filter("size(words) > 0")
    counts = {
        topic: f"size(filter(words, w -> w IN ({', '.join(map(repr, own))})))"
        for topic, own in module.TOPICS.items()
    }
    most = f"greatest({', '.join(counts.values())})"
    cases = " ".join(f"WHEN {count} = {most} THEN '{topic}'" for topic, count in counts.items())
    expected = read.selectExpr(
        "id",
        "author",
        f"CASE WHEN {most} = 0 THEN 'none' {cases} END AS topic",
        "CASE author % 10 WHEN 3 THEN 'press' WHEN 1 THEN 'politics' WHEN 2 THEN 'politics' "
        "ELSE 'other' END AS kind",
    ).collect()
    found = spark.read.parquet(str(tmp_path / "out" / "tweets"))
    assert Counter(found.select("id", "author", "topic", "kind").collect()) == Counter(expected)
    assert {row.topic for row in expected} == {*module.TOPICS, "none"}
    assert {row.kind for row in expected} == {"press", "politics", "other"}
    assert 0.8 * trace.rows < len(expected) < trace.rows


@pytest.mark.slow
def test_opinions(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPINIONS_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("OPINIONS_SECONDS", "8")
    finish(spark, "opinions.py", tmp_path / "checkpoint", placement=ps.CostAware())
    module: Any = sys.modules["_penstock_job_opinions"]
    steps = ps.sources.Steps([(1.6, 80), (3.2, 400), (1.6, 200), (1.6, 80)])
    origin = 1_767_225_600_000_000  # 2026 begins
    opinions = table_of(
        spark, trace_of_pattern(steps, 8), ZipfKeys(500), origin, module.opinion_columns()
    ).filter("topic IN ('schools', 'traffic', 'taxes')")

    window = F.window("ts", "2 seconds")
    city = F.concat(F.lit("city "), F.col("code") % 40)
    decade = F.floor(F.col("age") / 10) * 10
    age = F.concat(F.lit("age "), decade, F.lit(" to "), decade + 9)
    expected = Counter(
        row
        for subgroup in (city, age)
        for row in opinions.groupBy(window, "opinion", subgroup.alias("subgroup"))
        .agg(F.count("*").alias("opinions"))
        .filter("opinions >= 3")
        .selectExpr("unix_seconds(window.end) AS end", "opinion", "subgroup", "opinions")
        .collect()
    )
    found = Counter(
        spark.read.parquet(str(tmp_path / "out" / "subgroups"))
        .selectExpr("unix_seconds(window.end) AS end", "opinion", "subgroup", "opinions")
        .collect()
    )
    # The last window stays open: no row comes after its end.
    closed = Counter({row: n for row, n in expected.items() if row.end < origin / 1e6 + 8})
    assert found == closed
    assert {row.end - origin / 1e6 for row in found} == {2, 4, 6}


Row = dict[str, Any]
Prefers = Callable[[Row, Row], bool]


def is_no_worse(one: Row, other: Row, minimize: Sequence[str], maximize: Sequence[str]) -> bool:
    return all(one[name] <= other[name] for name in minimize) and all(
        one[name] >= other[name] for name in maximize
    )


def pareto(minimize: Sequence[str], maximize: Sequence[str]) -> Prefers:
    return lambda one, other: (
        is_no_worse(one, other, minimize, maximize)
        and not is_no_worse(other, one, minimize, maximize)
    )


def best_of(rows: Sequence[Row], prefers: Prefers) -> set[int]:
    """Return the ids of the rows to which no other is preferred, row against row."""
    # What was beaten need not beat others: preferences are transitive.
    kept: list[Row] = []
    for row in rows:
        if not any(prefers(other, row) for other in kept):
            kept = [other for other in kept if not prefers(row, other)] + [row]
    return {row["id"] for row in kept}


def by_window(rows: Iterable[Row], *groups: str) -> dict[tuple[Any, ...], set[int]]:
    """Return the ids of each window and group that came out."""
    found: dict[tuple[Any, ...], set[int]] = {}
    for row in rows:
        # Spark writes moments in UTC without saying so.
        start, end = (
            row["window"][end].replace(tzinfo=UTC).timestamp() for end in ("start", "end")
        )
        found.setdefault((start, end, *(row[group] for group in groups)), set()).add(row["id"])
    return found


@pytest.mark.slow
def test_players(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    monkeypatch.setenv("PLAYERS_OUT", str(out))
    monkeypatch.setenv("PLAYERS_SECONDS", "8")
    query = finish(spark, "players.py", tmp_path / "checkpoint")
    module: Any = sys.modules["_penstock_job_players"]
    trace = trace_of_pattern(ps.sources.Steady(300), 8)
    origin = 1_767_279_600_000_000  # 15:00 on the first day of 2026
    columns = module.field_columns()
    readings = [
        row.asDict()
        for row in table_of(spark, trace, UniformKeys(22), origin, columns, UniformDelay(2, 0.1))
        .selectExpr(*module.ball_columns())
        .collect()
    ]
    missed = {
        (letter["id"], datetime.fromisoformat(each["start"]).timestamp())
        for letter in json_lines(out / "late")
        for each in letter["_missed"]
    }
    assert missed

    for name, maximize in (("best", ["speed", "stamina"]), ("chasers", ["speed"])):
        prefers = pareto(["to_ball"], maximize)
        found = by_window(pq.read_table(out / name).to_pylist(), "team")
        assert len(found) > 10
        for (start, end, team), ids in found.items():
            rows = [
                row
                for row in readings
                if row["team"] == team
                and start <= row["ts"].timestamp() < end
                and (row["id"], start) not in missed
            ]
            assert ids == best_of(rows, prefers)
    seen = [e.body for e in journal.read(query.journal_dir) if isinstance(e.body, SkylineSeen)]
    assert {(each.operator, each.key) for each in seen} == {("chasers", "red"), ("chasers", "blue")}
    last = max(end for _, end, _ in found)
    assert max(each.window_end_seconds for each in seen) == last


@pytest.mark.slow
def test_shopping(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    monkeypatch.setenv("SHOPPING_OUT", str(out))
    monkeypatch.setenv("SHOPPING_SECONDS", "30")
    finish(spark, "shopping.py", tmp_path / "checkpoint")
    module: Any = sys.modules["_penstock_job_shopping"]
    trace = trace_of_pattern(ps.sources.Steady(50), 30)
    origin = 1_767_225_600_000_000  # 2026 begins
    table = table_of(spark, trace, ZipfKeys(200), origin, module.offer_columns())
    offers = [{**row.asDict(), "id": row.offer} for row in table.collect()]

    def worth_it(one: Row, other: Row) -> bool:
        numbers = [
            [float(row[name]) for name in ("price", "days", "rating")] for row in (one, other)
        ]
        return bool(module.worth_it(*numbers))

    plain = pareto(["price", "days"], ["rating"])
    many = pareto(
        ["price", "days", "postage"],
        ["rating", "return_days", "years_of_warranty", "reviews", "pieces_left"],
    )
    written = {
        name: [{**row, "id": row["offer"]} for row in pq.read_table(out / name).to_pylist()]
        for name in ("best", "few", "worth")
    }
    ks = {(row["window"]["start"], row["k"]) for row in written["few"]}
    found = {name: by_window(rows) for name, rows in written.items()}
    assert len(ks) == len(found["few"]) == len(found["best"]) == len(found["worth"]) == 2
    for start, end in found["best"]:
        rows = [row for row in offers if start <= row["ts"].timestamp() < end]
        best = best_of(rows, plain)
        assert found["best"][start, end] == best
        assert found["worth"][start, end] == best_of(rows, worth_it) > best
        assert len(found["few"][start, end]) >= 10
        assert found["few"][start, end] < best_of(rows, many)

    expected = {}
    for days in {row["days"] for row in offers}:
        rows = [row for row in offers if row["days"] == days]
        for offer in best_of(rows, cheaper):
            (one,) = (row for row in rows if row["id"] == offer)
            expected[offer] = sum(cheaper(one, other) for other in rows)
    shown = module.best_of_table(table).collect()
    assert {row.offer: row.beaten for row in shown} == expected


cheaper = pareto(["price"], ["rating"])


@pytest.mark.slow
def test_autoscale_says_what_it_would_do(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "autoscale.py")],
        cwd=tmp_path,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "AUTOSCALE_SECONDS": "75"},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    said = [line for line in ran.stdout.splitlines() if line.startswith("after batch ")]
    assert "nothing is measured yet" in said[0]
    assert "input " in said[-1]
    decided = [
        event.body.decision.slots
        for event in journal.read(tmp_path / "autoscale-journal")
        if isinstance(event.body, journal.DecisionMade)
    ]
    assert len(decided) == len(said)
    assert max(decided) <= 8


def test_choose_policy_names_one_that_keeps_up(tmp_path: Path) -> None:
    trace = tmp_path / "rates.csv"
    trace.write_text("".join(f"{300 if second < 60 else 900}\n" for second in range(120)))
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "choose_policy.py"), str(trace)],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    first, *rows, advice = ran.stdout.splitlines()
    assert first == "72,000 rows in 120 s"
    assert len(rows) == 5
    assert " is the cheapest of 5 tried that keeps up: " in advice
