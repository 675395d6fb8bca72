"""A job that upserts into a real PostgreSQL, killed wherever a batch is half done."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from test_kills import run_job

from sinks.postgres_server import PASSWORD, driver_jar, running_postgres

JOB = Path(__file__).with_name("killed_jdbc_job.py")
DEATHS = ["compile", "staged", "merged", "sinks", "commit"]
BATCHES, ROWS, ACCOUNTS = len(DEATHS), 60, 17


@pytest.mark.slow
@pytest.mark.postgres
def test_upserts_are_those_of_a_batch_job_whenever_the_driver_dies(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(BATCHES):  # every account changes several times in every batch
        rows = spark.range(batch * ROWS, (batch + 1) * ROWS, numPartitions=1)
        changed = rows.selectExpr(
            "id AS seq", f"id % {ACCOUNTS} AS account", "id * 0.25D AS balance"
        )
        # Of a batch, the newest change is not the last row.
        changed.sortWithinPartitions("account", "balance").write.mode("append").parquet(
            str(tmp_path / "in")
        )
    with running_postgres() as server:
        server.sql("CREATE TABLE accounts (account bigint PRIMARY KEY, seq bigint, balance float8)")
        monkeypatch.setenv("PENSTOCK_TEST_JAR", driver_jar(spark))
        monkeypatch.setenv("PENSTOCK_TEST_URL", server.url)
        monkeypatch.setenv("PENSTOCK_TEST_PASSWORD", PASSWORD)
        codes = [run_job(tmp_path, death, job=JOB) for death in DEATHS]
        assert codes == [-signal.SIGKILL] * len(DEATHS)
        staging = "SELECT count(*) FROM pg_tables WHERE tablename ~ '^penstock_'"
        assert run_job(tmp_path, job=JOB) == 0
        assert server.sql(staging) == [("0",)]
        found = server.sql("SELECT account, seq, balance FROM accounts ORDER BY account")
    newest = (
        spark.read.parquet(str(tmp_path / "in"))
        .groupBy("account")
        .agg({"seq": "max"})
        .selectExpr("account", "`max(seq)` AS seq", "`max(seq)` * 0.125D AS balance")
        .orderBy("account")
        .collect()
    )
    assert len(newest) == ACCOUNTS
    assert [(int(a), int(s), float(b)) for a, s, b in found] == [tuple(row) for row in newest]
