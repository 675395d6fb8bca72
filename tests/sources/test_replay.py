"""The source on a real Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.errors import ConfigurationError
from penstock.shipping import archive_package
from penstock.sources import (
    KeyCost,
    Steady,
    UniformDelay,
    ZipfKeys,
    generate,
    replay,
    waiting_rows,
)
from penstock.sources.rows import ARROW_SCHEMA

ORIGIN = "2026-01-01T00:00:00Z"


class Collected:
    """Takes batches as a sink would: a batch sent again replaces its first try."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.batches: dict[int, list[tuple[Any, ...]]] = {}
        self.fail_at = fail_at

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        self.batches[batch_id] = [tuple(row) for row in df.collect()]
        if batch_id == self.fail_at:
            raise RuntimeError("the power went out")

    def rows(self) -> list[tuple[Any, ...]]:
        return [row for batch_id in sorted(self.batches) for row in self.batches[batch_id]]


def run(df: DataFrame, checkpoint: Path, sink: Collected, **trigger: Any) -> list[Any]:
    """Run a query until it ends or, with a paced trigger, until what is due has been read."""
    query = (
        df.writeStream.foreachBatch(sink)
        .option("checkpointLocation", str(checkpoint))
        .trigger(**(trigger or {"availableNow": True}))
        .start()
    )
    try:
        if "availableNow" in (trigger or {"availableNow": True}):
            query.awaitTermination()
        else:
            query.processAllAvailable()
    finally:
        query.stop()
    return list(query.recentProgress)


def test_the_arrow_and_spark_schemas_agree(spark: SparkSession) -> None:
    assert to_arrow_schema(replay([1], spark=spark).schema, timezone="UTC") == ARROW_SCHEMA


def test_available_now_reads_everything_in_batches_of_the_limit(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = Collected()
    df = replay([100] * 40, max_rows_per_batch=100, spark=spark)
    progress = run(df, tmp_path, sink)
    assert [len(rows) for _, rows in sorted(sink.batches.items())] == [100] * 40
    assert [row[0] for row in sink.rows()] == list(range(4_000))
    waiting = [waiting_rows(p.sources[0].endOffset, p.sources[0].latestOffset) for p in progress]
    assert waiting == list(range(3_900, -1, -100))


def test_a_batch_has_the_partitions_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    counts = []

    def sink(df: DataFrame, batch_id: int) -> None:
        counts.append(
            sorted(Counter(r[0] for r in df.select(F.spark_partition_id()).collect()).items())
        )

    df = replay([10], max_rows_per_batch=8, partitions=4, spark=spark)
    query = df.writeStream.foreachBatch(sink).trigger(availableNow=True).start()
    query.awaitTermination()
    assert counts == [[(0, 2), (1, 2), (2, 2), (3, 2)], [(0, 1), (1, 1)]]


def test_one_second_windows_give_the_trace_back(spark: SparkSession, tmp_path: Path) -> None:
    trace = [7, 0, 250, 31, 1]
    sink = Collected()
    run(replay(trace, origin=ORIGIN, spark=spark), tmp_path, sink)
    start = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    seconds = Counter(int(row[1].timestamp() - start) for row in sink.rows())
    assert [seconds[second] for second in range(5)] == trace


def test_a_crash_loses_and_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
    def stream() -> DataFrame:
        return replay(
            [100] * 20,
            max_rows_per_batch=300,
            keys=ZipfKeys(50, 1.0),
            delays=UniformDelay(30, fraction=0.5),
            seed=11,
            origin=ORIGIN,
            spark=spark,
        )

    undisturbed = Collected()
    run(stream(), tmp_path / "undisturbed", undisturbed)

    sink = Collected(fail_at=3)
    with pytest.raises(StreamingQueryException, match="the power went out"):
        run(stream(), tmp_path / "crashed", sink)
    first_try = sink.batches[3]
    sink.fail_at = None
    run(stream(), tmp_path / "crashed", sink)
    assert sink.batches[3] == first_try
    assert sink.batches == undisturbed.batches
    assert [row[0] for row in sink.rows()] == list(range(2_000))


def test_event_times_survive_a_crash_of_the_very_first_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    """No fixed origin here: event times come from the moment of the first start."""
    df = replay([100] * 10, max_rows_per_batch=500, spark=spark)
    sink = Collected(fail_at=0)
    with pytest.raises(StreamingQueryException, match="the power went out"):
        run(df, tmp_path, sink)
    first_try = sink.batches[0]
    sink.fail_at = None
    run(df, tmp_path, sink)
    assert sink.batches[0] == first_try
    gaps = {(b[1] - a[1]).total_seconds() for a, b in pairwise(sink.rows())}
    assert gaps == {0.01}


def test_a_paced_query_stopped_and_restarted_goes_on_with_its_backlog(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A million trace seconds a second: all is due at once, and read 400 rows at a time."""
    df = replay([100] * 40, speedup=1e6, max_rows_per_batch=400, spark=spark)
    sink = Collected(fail_at=3)
    with pytest.raises(StreamingQueryException, match="the power went out"):
        run(df, tmp_path, sink, processingTime="0 seconds")
    sink.fail_at = None
    progress = run(df, tmp_path, sink, processingTime="0 seconds")
    assert [row[0] for row in sink.rows()] == list(range(4_000))
    sources = [p.sources[0] for p in progress if p.numInputRows]
    # Spark does not ask what is due for the batch that it does again.
    assert waiting_rows(sources[0].endOffset, sources[0].latestOffset) is None
    assert {json.loads(s.latestOffset)["row"] for s in sources[1:]} == {4_000}
    assert waiting_rows(sources[-1].endOffset, sources[-1].latestOffset) == 0
    origins = {json.loads(s.endOffset)["origin_ms"] for s in sources}
    logged = [
        json.loads(path.read_text().splitlines()[-1])["origin_ms"]
        for path in (tmp_path / "offsets").iterdir()
        if path.name.isdigit()
    ]
    assert origins == set(logged)
    assert len(origins) == 1


def test_generate_is_a_replay_of_the_pattern(spark: SparkSession, tmp_path: Path) -> None:
    options: dict[str, Any] = {"seed": 4, "cost": KeyCost(1, 8, levels=8), "origin": ORIGIN}
    generated, replayed = Collected(), Collected()
    df = generate(Steady(2.5), duration_seconds=6, loop=True, spark=spark, **options)
    run(df, tmp_path / "generated", generated)
    run(replay([2, 3] * 3, spark=spark, **options), tmp_path / "replayed", replayed)
    assert len(generated.rows()) == 15
    assert generated.rows() == replayed.rows()


def test_the_checkpoint_of_another_replay_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    run(replay([5], spark=spark), tmp_path, Collected())
    with pytest.raises(StreamingQueryException, match="give this query a checkpoint of its own"):
        run(replay([6], spark=spark), tmp_path, Collected())


def test_mistakes_are_told_before_spark_is_asked(spark: SparkSession) -> None:
    with pytest.raises(ConfigurationError, match="speedup is 0"):
        replay([1], speedup=0, spark=spark)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        replay("nowhere.csv", spark=spark)
    with pytest.raises(ConfigurationError, match="is not a pattern"):
        generate([1, 2], duration_seconds=5, spark=spark)  # type: ignore[arg-type]


def test_the_source_loads_from_the_archive_that_executors_get_and_needs_little_of_it(
    tmp_path: Path,
) -> None:
    """What addPyFile does to an executor: a zip on the path, and nothing installed."""
    archive = archive_package(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {archive!r})\n"
        "import penstock.sources.datasource as source\n"
        "print('.zip' in source.__file__, 'numba' in sys.modules, 'pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.split() == ["True", "False", "False"]
