"""Metrics of queries that run on Spark, over HTTP, against what Spark wrote."""

from __future__ import annotations

import socket
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from metrics.written import Samples, parsed, value

Events = Callable[..., DataFrame]


def scraped(address: str | None) -> Samples:
    assert address is not None
    with urllib.request.urlopen(address) as answer:
        return parsed(answer.read().decode())


def _parse(row: dict[str, Any]) -> dict[str, Any]:
    if row["id"] % 10 == 0:
        raise ValueError("no tens")
    return {"user": row["user"], "ts": row["ts"], "rate": 1.0 / (row["id"] % 25)}


def _topology(data: DataFrame, out: Path) -> list[ps.Outlet]:
    stream = ps.Stream.read(data, time="ts", watermark="10 seconds", name="clicks")
    parsed_rows = stream.map(
        _parse, "user string, ts timestamp, rate double", on_error="dead_letter", name="parse"
    )
    counts = parsed_rows.group_by("user").window(ps.tumbling("20 seconds")).aggregate(n=ps.count())
    return [
        parsed_rows.to(ps.sinks.parquet(str(out / "rows"))),
        counts.to(ps.sinks.parquet(str(out / "counts"))),
        parsed_rows.dead_letters().to(ps.sinks.parquet(str(out / "letters"))),
    ]


def _run(data: DataFrame, where: Path, **options: Any) -> ps.Query:
    return ps.run(*_topology(data, where / "out"), checkpoint=where / "ck", name="taxis", **options)


def _settle(query: ps.Query) -> None:
    """Wait until all rows there are were processed, and that is in the journal."""
    query._spark_query.processAllAvailable()
    query._runner.busy.acquire()
    query._runner.busy.release()
    assert query._journal.flush(60)


def _until(look: Callable[[], Samples], is_there: Callable[[Samples], bool]) -> Samples:
    """Look until something has come, which another thread brings."""
    deadline = time.monotonic() + 60
    while not is_there(seen := look()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
    return seen


def test_counters_are_what_spark_wrote(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    query = _run(events(3, 100), tmp_path, metrics_port=0)
    try:
        _settle(query)
        found = scraped(query.metrics_address)
    finally:
        query.stop()

    def number(name: str, **labels: str) -> float | None:
        return value(found, name, query="taxis", **labels)

    wrote = {
        name: spark.read.parquet(str(tmp_path / "out" / name)).count()
        for name in ("rows", "counts", "letters")
    }
    errors = {"operator": "parse", "error": "ValueError"}
    assert number("penstock_source_rows_total", source="clicks") == 300
    assert number("penstock_operator_input_rows_total", operator="parse") == 300
    assert number("penstock_operator_output_rows_total", operator="parse") == wrote["rows"] > 0
    assert (
        number("penstock_dead_letter_rows_total", **errors)
        + number(  # type: ignore[operator]
            "penstock_dead_letter_rows_total", operator="parse", error="ZeroDivisionError"
        )
        == wrote["letters"]
    )
    windows = {
        dict(labels)["operator"]: n
        for (name, labels), n in found.items()
        if name == "penstock_window_rows_total"
    }
    assert sum(windows.values()) == wrote["counts"] > 0
    assert number("penstock_batches_total") == 3
    assert number("penstock_batch_duration_seconds_count") == 3
    assert number("penstock_row_latency_seconds_count") == 300
    assert number("penstock_query_up") == 1
    assert number("penstock_slots_observed") == 4
    assert number("penstock_operator_tasks", operator="parse") is not None
    assert number("penstock_watermark_lag_seconds") is not None
    with pytest.raises(URLError):
        scraped(query.metrics_address)


def test_counters_go_on_after_a_restart(events: Events, tmp_path: Path) -> None:
    first = _run(events(2, 50), tmp_path, available_now=True, metrics_port=0)
    assert first.await_termination(120)
    with pytest.raises(URLError):
        scraped(first.metrics_address)
    second = _run(events(1, 50), tmp_path, metrics_port=0)
    try:
        _settle(second)
        found = scraped(second.metrics_address)
    finally:
        second.stop()
    rows = sum(n for (name, _), n in found.items() if name == "penstock_source_rows_total")
    assert rows == 150
    assert value(found, "penstock_query_restarts_total", query="taxis") == 1


def test_a_port_that_is_taken_keeps_the_query_from_starting(events: Events, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ps.ConfigurationError, match="Address already in use"):
            _run(events(1, 5), tmp_path, metrics_port=port)
    assert not (tmp_path / "ck").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics_port": "9108"}, "metrics_port='9108' is no port"),
        ({"metrics_port": True}, "metrics_port=True is no port"),
        ({"metrics_port": 0, "metrics_host": ""}, "metrics_host='' is no address"),
        ({"metrics_host": "0.0.0.0"}, "Write metrics_port=9108 too"),
    ],
)
def test_mistakes_are_said_before_anything_starts(
    events: Events, tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ps.ConfigurationError, match=said):
        _run(events(1, 5), tmp_path, **options)
    assert not (tmp_path / "ck").exists()


def test_autoscale_serves_its_journal_until_it_is_stopped(
    spark: SparkSession, events: Events, tmp_path: Path
) -> None:
    with pytest.raises(ps.ConfigurationError, match="has no journal to read"):
        ps.autoscale(spark, dry_run=True, metrics_port=0)
    with ps.autoscale(spark, dry_run=True, journal=tmp_path / "j", metrics_port=0) as scaler:
        query = (
            events(2, 30)
            .writeStream.foreachBatch(lambda data, batch_id: data.count() and None)
            .option("checkpointLocation", str(tmp_path / "plain"))
            .queryName("plain")
            .start()
        )
        query.processAllAvailable()
        query.stop()
        found = _until(
            lambda: scraped(scaler.metrics_address),
            lambda seen: value(seen, "penstock_batches_total", query="plain") == 2,
        )
    rows = sum(n for (name, _), n in found.items() if name == "penstock_source_rows_total")
    assert rows == 60
    with pytest.raises(URLError):
        scraped(scaler.metrics_address)
