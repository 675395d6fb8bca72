"""The oracle: runs a case through Spark's own ``withWatermark().groupBy(window()).agg()``.

The rows of a cut are added to a source in memory and processed to the end, so that Spark's
no-data batch follows each data batch that moved the watermark. All specs are branches of one query.
"""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any, Literal

from pyspark.sql import Column, DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F

from exactness.case import SCHEMA, Case, Event, Measure, Second
from penstock.windows.durations import in_words
from penstock.windows.specs import WindowSpec

# Most of the time of a tiny query is file handling, planning and code generation, not its rows.
# The default way to write checkpoint files on a local disk starts ten processes for each of them.
QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.pollingDelay": "1",
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_names = itertools.count()
Mode = Literal["append", "update"]
FIRST_LEVEL = {"n": "count(1)", "top": "max(whole)"}
SECOND_LEVEL = {"windows": "count(1)", "n": "sum(n)", "top": "max(top)"}


@dataclass(frozen=True, slots=True)
class Emitted:
    """One result row: the cut after which it came out, its window, its keys and its values."""

    cut: int
    window_name: str
    start: int
    end: int
    keys: tuple[Any, ...]
    values: tuple[Any, ...]
    ids: tuple[int, ...] = ()  # of the rows that Spark counted in it
    is_final: bool = True


@dataclass(frozen=True, slots=True)
class NativeRun:
    """What Spark gave, and what it says of each cut: groups (not rows) dropped, its watermark."""

    emitted: list[Emitted]
    groups_dropped: list[int]
    watermarks: list[int]  # after each cut


def quick_session(spark: SparkSession) -> SparkSession:
    """Return a session of its own on the same context, set for many tiny queries."""
    session = spark.newSession()
    for key, value in QUICK.items():
        session.conf.set(key, value)
    return session


def run_native(session: SparkSession, case: Case, mode: Mode = "append") -> NativeRun:
    """Run a case cut by cut; in mode ``update`` every cut shows the windows that it changed."""
    source = MemorySource(session)
    windows = [_branch(source.frame, case, spec) for spec in case.specs]
    run = _run(session, source, reduce(DataFrame.unionAll, windows), case.cuts, mode)
    emitted = [_emitted(cut, row, len(case.keys), len(case.measures)) for cut, row in run.rows]
    return NativeRun(emitted, run.groups_dropped, run.watermarks)


def run_native_again(session: SparkSession, case: Case, second: Second) -> list[Emitted]:
    """Run windows over the windows of a case's first spec.

    One query for each spec: of two chains of windows in a union, Spark gives only the first one's.
    """
    emitted = []
    for spec in second.specs:
        source = MemorySource(session)
        first = _grouped(source.frame, case, case.specs[0]).agg(*map(F.expr, FIRST_LEVEL.values()))
        first = first.toDF("window", *case.keys, *FIRST_LEVEL)
        again = first.groupBy(window_column(spec, "window"), *map(quoted, second.keys))
        results = again.agg(*map(F.expr, SECOND_LEVEL.values()))
        results = results.toDF("window", *second.keys, *SECOND_LEVEL)
        shown = _shown(results, spec, second.keys, tuple(SECOND_LEVEL))
        run = _run(session, source, shown, case.cuts, "append")
        width = len(second.keys), len(SECOND_LEVEL)
        emitted += [_emitted(cut, row, *width) for cut, row in run.rows]
    return emitted


@dataclass(frozen=True, slots=True)
class _Run:
    rows: list[tuple[int, Any]]  # each with its cut
    groups_dropped: list[int]
    watermarks: list[int]


def _run(
    session: SparkSession,
    source: MemorySource,
    results: DataFrame,
    cuts: Sequence[Sequence[Event]],
    mode: Mode,
) -> _Run:
    with _running(session, results, mode) as (query, sink, name):
        sizes, dropped, watermarks, seen = [0], [], [], -1
        for cut in cuts:
            source.add(cut)
            query.processAllAvailable()
            sizes.append(sink.allData().size())
            # Spark reports idle moments too, under the number of the batch to come.
            done = [p for p in query.recentProgress if "addBatch" in p["durationMs"]]
            new = [p for p in done if p["batchId"] > seen]
            seen = new[-1]["batchId"]
            dropped.append(_dropped(new))
            watermarks.append(_watermark(new[-1]))
        rows = session.table(name).collect()
    counts = [after - before for before, after in itertools.pairwise(sizes)]
    cut_of = [cut for cut, count in enumerate(counts) for _ in range(count)]
    return _Run(list(zip(cut_of, rows, strict=True)), dropped, watermarks)


class MemorySource:
    """Rows in the driver's memory, as a streaming DataFrame of the suite's schema."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        runtime = jvm.org.apache.spark.sql.execution.streaming.runtime
        text = jvm.org.apache.spark.sql.Encoders.STRING()
        self._stream = runtime.MemoryStream.apply(session._jsparkSession, 1, text)
        self._to_seq = jvm.PythonUtils.toSeq
        schema = SCHEMA.replace("ts timestamp", "ts bigint")
        row = F.from_json("value", schema).alias("row")
        rows = DataFrame(self._stream.toDF(), session).select(row).select("row.*")
        self.frame = rows.withColumn("ts", F.timestamp_micros("ts"))

    def add(self, events: Sequence[Event]) -> None:
        """Add the rows of one micro-batch; none is a micro-batch too."""
        names = [part.split()[0].strip("`") for part in SCHEMA.split(", ")]
        lines = [json.dumps(dict(zip(names, e.fields(), strict=True)), default=str) for e in events]
        self._stream.addData(self._to_seq(lines))


@contextmanager
def _running(
    session: SparkSession, results: DataFrame, mode: Mode
) -> Iterator[tuple[Any, Any, str]]:
    """Run a query into Spark's memory sink; yields the query, the sink, and its table's name."""
    name = f"native_{next(_names)}"
    checkpoint = tempfile.mkdtemp(prefix="native")
    writer = results.writeStream.format("memory").queryName(name).outputMode(mode)
    query = writer.option("checkpointLocation", checkpoint).start()
    try:
        yield query, query._jsq.streamingQuery().sink(), name
    finally:
        query.stop()
        session.catalog.dropTempView(name)
        shutil.rmtree(checkpoint, ignore_errors=True)


def _branch(rows: DataFrame, case: Case, spec: WindowSpec) -> DataFrame:
    measures = [F.expr(native_sql(m)).alias(m.name) for m in case.measures]
    results = _grouped(rows, case, spec).agg(*measures, F.collect_list("id").alias("_ids"))
    return _shown(results, spec, case.keys, (*(m.name for m in case.measures), "_ids"))


def _grouped(rows: DataFrame, case: Case, spec: WindowSpec) -> GroupedData:
    late = rows.withWatermark("ts", f"{case.delay_micros} microseconds")
    return late.groupBy(window_column(spec).alias("window"), *map(quoted, case.keys))


def _shown(
    results: DataFrame, spec: WindowSpec, keys: tuple[str, ...], values: tuple[str, ...]
) -> DataFrame:
    """Times as whole microseconds, which no time zone of this machine can shift."""
    return results.select(
        F.lit(spec.name),
        F.unix_micros("window.start"),
        F.unix_micros("window.end"),
        *[F.col(quoted(name)).alias(f"_{i}") for i, name in enumerate((*keys, *values))],
    )


def window_column(spec: WindowSpec, time: str | Column = "ts") -> Column:
    """Return Spark's own window of a spec."""
    length, slide = in_words(spec.length_micros), in_words(spec.slide_micros)
    return F.window(time, length, slide, f"{spec.offset_micros} microseconds")


def quoted(name: str) -> str:
    """Quote a column's name for Spark."""
    return f"`{name}`"


def native_sql(measure: Measure) -> str:
    """Return Spark's own aggregate, or an exact one made of Spark's own where it has none.

    Streaming queries have no count(DISTINCT), and sketches are exact on as few rows as here.
    """
    conditions = [measure.where] if measure.where else []
    v, k = measure.column, measure.setting
    if measure.kind == "quantile":
        conditions.append(f"NOT isnan({v})")
    where = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
    of = "bigint" if v == "whole" else "double"
    together = {
        "count": f"count({v or 1}){where}",
        "variance": f"var_samp({v}){where}",
        "stddev": f"stddev_samp({v}){where}",
        "count_distinct": f"CAST(size(collect_set({v}){where}) AS BIGINT)",
        "quantile": f"CAST(percentile_disc({k}) WITHIN GROUP (ORDER BY {v}){where} AS {of})",
        "top_k": f"slice(sort_array(collect_list({v}){where}, false), 1, {k})",
        "first": f"(min(struct(ts, {v} AS v)){where}).v",
        "last": f"(max(struct(ts, {v} AS v)){where}).v",
        "collect": (
            f"filter(transform(sort_array(collect_list(struct(ts, {v} AS v)){where}), s -> s.v), "
            "v -> v IS NOT NULL)"
        ),
    }
    return together.get(measure.kind, f"{measure.kind}({v}){where}")


def _emitted(cut: int, row: Any, keys: int, values: int) -> Emitted:
    name, start, end, *rest = row
    ids = tuple(sorted(rest[keys + values])) if len(rest) > keys + values else ()
    return Emitted(cut, name, start, end, tuple(rest[:keys]), tuple(rest[keys:][:values]), ids)


def _dropped(progress: list[Any]) -> int:
    operators = [operator for p in progress for operator in p["stateOperators"]]
    return sum(int(operator["numRowsDroppedByWatermark"]) for operator in operators)


def _watermark(progress: Any) -> int:
    stamp = datetime.fromisoformat(progress["eventTime"]["watermark"])
    return (stamp - EPOCH) // timedelta(microseconds=1)
