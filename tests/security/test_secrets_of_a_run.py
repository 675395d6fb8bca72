"""Real runs that are full of secrets, of which none is to be found in anything they leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner

import penstock as ps
from penstock.cli import app
from penstock.errors import PenstockError, SinkError
from penstock.metrics.collector import JournalCollector
from penstock.metrics.exposition import as_text

OF_SOURCE = "opt-Xq7pz-source"
OF_JAAS = "jaas Kd82'w"
OF_SESSION = "conf-Bv55t-session"
OF_FUNCTION = "fn-Lw31m-function"
OF_ADDRESS = "uri-Jt66c-address"
SECRETS = (OF_SOURCE, OF_JAAS, OF_SESSION, OF_FUNCTION, OF_ADDRESS)
JAAS = f'org.example.PlainLoginModule required username="me" password="{OF_JAAS}";'
ROWS = "id bigint, ts timestamp"


def logged_in(row: dict[str, Any]) -> dict[str, Any]:
    """Fail as a client does that tells what it tried."""
    if row["id"] == 1:
        raise RuntimeError(f"no login at amqp://me:{OF_ADDRESS}@mq with password={OF_FUNCTION}")
    return row


def telling(df: DataFrame, batch_id: int) -> None:
    """Fail as a driver does that tells all that it was given, without calling it anything."""
    df.collect()
    raise OSError(f"refused for {OF_SOURCE}, {OF_JAAS} and {OF_SESSION}; token: {OF_FUNCTION}")


def source(spark: SparkSession, directory: Path) -> ps.Stream:
    directory.mkdir(parents=True)
    lines = [{"id": n, "ts": f"2026-01-01T10:00:{n:02d}Z"} for n in range(4)]
    (directory / "rows.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    reader = spark.readStream.schema(ROWS).option("kafka.sasl.jaas.config", JAAS)
    df = reader.option("password", OF_SOURCE).json(str(directory))
    return ps.Stream.read(df, time="ts", watermark="1 second", name="rows")


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.hadoop.fs.s3a.secret.key", OF_SESSION)
    yield spark
    spark.conf.unset("spark.hadoop.fs.s3a.secret.key")


def left_in(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield all files as text; those of Parquet as they are, and as the rows in them."""
    for file in sorted(each for each in directory.rglob("*") if each.is_file()):
        yield str(file), file.read_bytes().decode("utf-8", "replace")
        if file.suffix == ".parquet":
            yield f"rows of {file}", str(pq.read_table(file, partitioning=None).to_pylist())


def check(found: Mapping[str, str], secrets: tuple[str, ...] = SECRETS) -> None:
    """See that no secret stands anywhere, in no form that JSON or a page would give it."""
    forms = {form for each in secrets for form in (each, json.dumps(each)[1:-1], repr(each)[1:-1])}
    leaks = [(where, form) for where, text in found.items() for form in forms if form in text]
    assert not leaks
    assert found


def told_by(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    chain = [error, *([error.__cause__] if error.__cause__ else [])]
    return "".join(lines) + "".join(f"{each}{each!r}{each.args}" for each in chain)


def shown_of(journal: str, checkpoint: Path, page: Path) -> dict[str, str]:
    """Return what all readers of a journal and of a checkpoint show."""
    runner = CliRunner()
    commands = {
        "report": ["report", journal, "--html", str(page)],
        "report --json": ["report", journal, "--json"],
        "inspect": ["inspect", str(checkpoint)],
        "inspect --json": ["inspect", str(checkpoint), "--json"],
    }
    shown = {name: runner.invoke(app, line).output for name, line in commands.items()}
    shown["metrics"] = as_text(JournalCollector([Path(journal)]))
    assert all(shown.values())
    return {**shown, "page": page.read_text()}


def explained(query: Any) -> dict[str, str]:
    formats = ("text", "mermaid", "html")
    return {
        **{f"explain {each}": query.explain(each) for each in formats},
        "query": f"{query!r} {query.status()!r} {query.decisions()!r}",
    }


def test_a_run_that_ends_well(session: SparkSession, tmp_path: Path) -> None:
    rows = source(session, tmp_path / "in")
    mapped = rows.map(logged_in, ROWS, on_error="dead_letter", name="logged_in")
    kept = mapped.filter(f"'password={OF_FUNCTION}' != concat('x', id)")
    query = ps.run(
        kept.to(ps.sinks.parquet(str(tmp_path / "out"))),
        checkpoint=tmp_path / "ck",
        available_now=True,
        name="well",
    )
    query.await_termination()
    letters = [text for name, text in left_in(tmp_path / "ck") if "rows of" in name]
    assert any("no login at amqp://***@mq with password=***" in text for text in letters)
    found = explained(query) | shown_of(query.journal_dir, tmp_path / "ck", tmp_path / "page.html")
    check(found | dict(left_in(tmp_path / "ck")))


def test_a_run_that_fails(session: SparkSession, tmp_path: Path) -> None:
    rows = source(session, tmp_path / "in")
    query = ps.run(
        rows.to(ps.sinks.call(telling)),
        checkpoint=tmp_path / "ck",
        available_now=True,
        name="badly",
    )
    with pytest.raises(PenstockError, match=r"refused for \*\*\*, \*\*\* and \*\*\*") as caught:
        query.await_termination()
    found = explained(query) | shown_of(query.journal_dir, tmp_path / "ck", tmp_path / "page.html")
    assert "refused for ***" in found["page"]
    java = str(query._spark_query.exception())
    check(found | {"error": told_by(caught.value), "Spark": java} | dict(left_in(tmp_path / "ck")))


def test_a_function_that_stops_the_query(session: SparkSession, tmp_path: Path) -> None:
    rows = source(session, tmp_path / "in").map(logged_in, ROWS, name="logged_in")
    query = ps.run(
        rows.to(ps.sinks.memory()),
        checkpoint=tmp_path / "ck",
        available_now=True,
    )
    with pytest.raises(PenstockError, match=r"no login at amqp://\*\*\*@mq") as caught:
        query.await_termination()
    check({"error": told_by(caught.value)} | dict(left_in(tmp_path / "ck")))


def test_a_sink_whose_driver_is_missing(session: SparkSession) -> None:
    password = "jdbc-Zr90k-password"
    given: dict[str, Any] = {"password": password, "driver": "no.such.Driver"}
    sink = ps.sinks.jdbc("jdbc:postgresql://db.example/shop", "hits", ["id"], **given)
    with pytest.raises(SinkError) as caught:
        sink.open("q")
    check({"error": told_by(caught.value), "sink": f"{sink!r} {sink.describe()}"}, (password,))


@pytest.mark.slow
def test_the_command_line_and_its_log(tmp_path: Path) -> None:
    """What Spark says goes to a log as it is, so that is looked through at the end."""
    job = tmp_path / "job.py"
    job.write_text(
        textwrap.dedent(f"""
        import penstock as ps

        def shout(df, batch_id):
            import sys
            jvm = df.sparkSession._jvm
            jvm.System.err.println("java says {OF_SESSION}")
            jvm.System.err.println("java says password={OF_FUNCTION}")
            raise OSError("refused for {OF_SESSION}, token: {OF_FUNCTION}")

        def build(spark):
            rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
            return [ps.Stream.read(rows).to(ps.sinks.call(shout))]
        """)
    )
    checkpoint = tmp_path / "ck"
    command = [sys.executable, "-m", "penstock", "run", str(job), "--json"]
    command += ["--checkpoint", str(checkpoint), "--master", "local[1]"]
    command += ["--conf", f"spark.hadoop.fs.s3a.secret.key={OF_SESSION}"]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=os.environ.copy()
    )
    assert ended.returncode == 2, ended.stderr
    assert "refused for ***, token: ***" in ended.stderr
    log = checkpoint / "spark.log"
    assert "java says ***" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    check({"said": ended.stdout + ended.stderr} | dict(left_in(checkpoint)))
