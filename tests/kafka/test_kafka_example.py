from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kafka_reading import WITHIN_SECONDS, table
from pyspark.sql import SparkSession

import penstock as ps
from penstock.cli.job_file import JobFile

if TYPE_CHECKING:
    from kafka_broker import KafkaBroker

pytestmark = pytest.mark.kafka

EXAMPLE = Path(__file__).parents[2] / "examples" / "kafka_clicks.py"
START = 1_767_225_600  # 2026 begins


def test_kafka_clicks(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = broker.make_topic("clicks")
    made = [broker.make_topic(f"{topic}-{name}", exact=True) for name in ("by-page", "failed")]
    monkeypatch.setenv("KAFKA_SERVERS", broker.servers)
    monkeypatch.setenv("KAFKA_TOPIC", topic)
    pages = ["home", "cart", "home", "search"]
    expected: Counter[tuple[int, str]] = Counter()

    def run(minutes: range) -> None:
        for minute in minutes:
            clicks = [{"user": f"u{n}", "page": pages[n % 4]} for n in range(10 + minute)]
            expected.update((minute, click["page"]) for click in clicks)
            broker.send(
                topic, [json.dumps(each) for each in clicks], at_seconds=START + 60 * minute
            )
        outlets = JobFile.parse(str(EXAMPLE)).load().build(spark)
        query = ps.run(*outlets, checkpoint=str(tmp_path / "checkpoint"), available_now=True)
        assert query.await_termination(WITHIN_SECONDS)

    broker.send(topic, ["poison"], at_seconds=START)
    run(range(3))
    run(range(3, 6))
    once = ps.sources.kafka_once(table(spark, broker, made[0])).selectExpr("string(value) AS v")
    rows = [json.loads(row.v) for row in once.collect()]
    found = {(_minute(row["minute"]), row["page"]): row["clicks"] for row in rows}
    assert len(found) == len(rows)
    assert found.items() <= expected.items()
    # A minute that ended a minute before the newest click of the first run is closed for sure.
    assert 0 in {minute for minute, _ in found}
    letters = [json.loads(record.value()) for record in broker.records(made[1])]
    assert [letter["error"] for letter in letters] == ["JSONDecodeError"]


def _minute(start: str) -> int:
    return int(datetime.fromisoformat(start).timestamp() - START) // 60
