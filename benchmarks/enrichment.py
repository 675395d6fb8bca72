"""Rows enriched from a slow, real database: with and without what a worker keeps, by placement.

A PostgreSQL server is started. Asking it for a key takes 25, 5 or 1 ms, as POSG's media,
politicians and others do; keys come by Zipf's law. Every way reads the same files; ways take turns,
and each begins with nothing kept.

    python benchmarks/enrichment.py            # a table
    python benchmarks/enrichment.py --json --batches 8 --rounds 1

Ways: a question for every row; what a worker has asked it keeps; what one has asked all workers of
the executor find; the same, with one question for all keys of an Arrow batch. Each with rows dealt
in turn, and by cost.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from measuring import session, show
from pyspark.sql import SparkSession

import penstock as ps
from placement import Case, write_batches, zipf

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from sinks.postgres_server import PASSWORD, PostgresServer, running_postgres

KEYS = 2_000
ENRICHED = "id bigint, key bigint, note string"
PLACEMENTS = {"RoundRobin": ps.RoundRobin, "CostAware": ps.CostAware}


def prepare(server: PostgresServer) -> None:
    """Make a view of which a row takes as long as its class says."""
    server.sql(
        f"""CREATE TABLE entities AS SELECT n::bigint AS key, (CASE WHEN n % 10 = 0 THEN 25
            WHEN n % 10 < 4 THEN 5 ELSE 1 END) AS ms FROM generate_series(0, {KEYS - 1}) AS n;
            ALTER TABLE entities ADD PRIMARY KEY (key);
            CREATE FUNCTION history(ms int) RETURNS text STABLE LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(ms / 1000.0); RETURN 'note of ' || ms; END $$;
            CREATE VIEW notes AS SELECT key, history(ms) AS note FROM entities"""
    )


def asking_each(table: ps.PostgresTable) -> Callable[[ps.Stream, Any], ps.Stream]:
    def ask(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "note": table([row["key"]])[row["key"]]["note"]}

    return lambda s, cost: s.map(ask, ENRICHED, cost_key=cost)


def row_by_row(lookup: ps.Lookup) -> Callable[[ps.Stream, Any], ps.Stream]:
    def look_up(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "note": lookup.get(row["key"])["note"]}

    return lambda s, cost: s.map(look_up, ENRICHED, cost_key=cost)


def batched(lookup: ps.Lookup) -> Callable[[ps.Stream, Any], ps.Stream]:
    return lambda s, cost: s.map_batches(lookup.onto("key", ["note"]), ENRICHED, cost_key=cost)


WAYS: dict[str, Callable[[ps.PostgresTable], Callable[[ps.Stream, Any], ps.Stream]]] = {
    "a question a row": asking_each,
    "kept by each worker": lambda table: row_by_row(ps.Lookup(table, shared=False)),
    "kept by executors": lambda table: row_by_row(ps.Lookup(table)),
    "kept by executors, batched": lambda table: batched(ps.Lookup(table)),
}


def questions(server: PostgresServer) -> int:
    return len(re.findall(r"execute .*unnest\(|statement: SELECT asked", server.log))


def run_once(
    spark: SparkSession, server: PostgresServer, way: str, placement: str, source: Path, rows: int
) -> tuple[list[float], int]:
    """Run one query; return its batch times in seconds, and how often it asked."""
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    conninfo = f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres"
    table = ps.PostgresTable(conninfo, "notes", "key", ["note"], password=PASSWORD)
    reader = spark.readStream.schema("id bigint, key bigint").option("maxFilesPerTrigger", 8)
    before = questions(server)
    try:
        read = ps.Stream.read(reader.parquet(str(source)))
        # Batches are cut small where costs are learnt, which is of no use to rows dealt in turn.
        found = WAYS[way](table)(read, "key" if placement == "CostAware" else None)
        query = ps.run(
            found.to(ps.sinks.parquet(where / "out")),
            checkpoint=where / "checkpoint",
            placement=PLACEMENTS[placement](),
            available_now=True,
        )
        query.await_termination()
        progress = [p for p in query._spark_query.recentProgress if p.numInputRows > 0]
        written = spark.read.parquet(str(where / "out")).where("note IS NOT NULL").count()
        if written != rows * len(progress):
            raise RuntimeError(f"{way}: {written} rows of {len(progress)} batches")
        times = [p.durationMs["triggerExecution"] / 1_000 for p in progress]
        return times, questions(server) - before
    finally:
        shutil.rmtree(where, ignore_errors=True)


def measure(
    spark: SparkSession, server: PostgresServer, options: argparse.Namespace
) -> list[dict[str, Any]]:
    where = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    case = Case(np.arange(KEYS), zipf(KEYS, 1.0), np.zeros(KEYS))
    cases = [(way, placement) for way in WAYS for placement in PLACEMENTS]
    times: dict[tuple[str, str], list[list[float]]] = {each: [] for each in cases}
    asked: dict[tuple[str, str], list[int]] = {each: [] for each in cases}
    try:
        write_batches(where / "in", case, options.rows, options.batches)
        write_batches(where / "warm", case, options.rows, 2)
        for each in cases:  # once unmeasured: the JVM compiles what it runs often
            run_once(spark, server, *each, where / "warm", options.rows)
        for turn in range(options.rounds):
            for each in cases[turn % len(cases) :] + cases[: turn % len(cases)]:
                took, count = run_once(spark, server, *each, where / "in", options.rows)
                times[each].append(took)
                asked[each].append(count)
    finally:
        shutil.rmtree(where, ignore_errors=True)
    totals = {each: statistics.median(sum(took) for took in times[each]) for each in cases}
    slowest = totals[cases[0]]
    return [
        {
            "way": way,
            "placement": placement,
            "seconds": totals[way, placement],
            "times_as_fast": slowest / totals[way, placement],
            "median_batch_ms": statistics.median(chain.from_iterable(times[way, placement]))
            * 1_000,
            "questions": statistics.median(asked[way, placement]),
            "rows": options.rows * options.batches,
        }
        for way, placement in cases
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rows", type=int, default=800, help="of a micro-batch")
    parser.add_argument("--batches", type=int, default=10, help="micro-batches of one query")
    parser.add_argument("--rounds", type=int, default=3, help="queries of each way")
    parser.add_argument("--slots", type=int, default=8)
    options = parser.parse_args()
    with running_postgres("-c log_statement=all -c max_connections=200") as server:
        prepare(server)
        spark = session(f"local[{options.slots}]")
        results = measure(spark, server, options)
        spark.stop()
    show(results, "enrichment", options.json)


if __name__ == "__main__":
    main()
