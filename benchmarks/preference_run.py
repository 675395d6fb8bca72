"""Plays one stream into one preference query, and looks at everything that came out."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import await_rows, cpu_seconds
from numpy.typing import NDArray
from preference_feed import ATTRIBUTES, ORIGIN_MICROS, Feed
from preference_outcome import Course, course
from pyspark.sql import SparkSession

import penstock as ps
from penstock.journal import read
from penstock.sources.offset import ReplayOffset
from penstock.sources.trace import MICROS

WINDOW = ps.sliding("1 second", "200 milliseconds")
WINDOW_MICROS, SLIDE_MICROS = MICROS, MICROS // 5
DELTA = 100
PATIENCE_SECONDS = 120.0  # and three times the length of the stream


@dataclass(frozen=True)
class Question:
    """What is asked of the stream, and how its work is shared out."""

    query: str = "skyline"
    splitting: Literal["pid", "none", "even"] = "pid"
    merges: bool = True

    def asked(self, stream: ps.Stream) -> ps.Stream:
        """Add the query to a stream; ``count`` is what the same costs without preferences."""
        windows = stream.window(WINDOW)
        if self.query == "count":
            return windows.aggregate(id=ps.max("id"))
        how = ps.PaneSplitting(self.splitting, merges=self.merges)
        if self.query == "top_dominant":
            return windows.top_dominant(DELTA, minimize=ATTRIBUTES, splitting=how)
        return windows.skyline(minimize=ATTRIBUTES, splitting=how)


@dataclass(frozen=True)
class Played:
    """What came of a run: its course, and the rows of every window by the window's start."""

    course: Course
    rows: dict[int, NDArray[np.int64]]
    committed_seconds: dict[int, float]
    cpu_seconds: float

    def latencies(self) -> NDArray[np.float64]:
        """How long after its end in event time each window came out; those of the end left out.

        The closing row ends the last windows before their time.
        """
        start, lasts = self.course.start_seconds, self.course.lasts_seconds
        ends = {window: (window + WINDOW_MICROS) / MICROS for window in self.committed_seconds}
        took = [
            at - start - ends[window]
            for window, at in self.committed_seconds.items()
            if ends[window] <= lasts
        ]
        return np.array(took)


def play(
    spark: SparkSession,
    feed: Feed,
    question: Question,
    *,
    policy: ps.Policy,
    trigger: float | None,
    journal: Path | None = None,
    partitions: int = 2,
) -> Played:
    """Run a stream to its end, and return when its last window has come out."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as place:
        out = Path(place)
        stream = ps.Stream.read(feed.live(spark, partitions), time="ts", watermark=ps.KSlack())
        best = question.asked(stream).select("window", "id")
        before = cpu_seconds(os.getpid())
        query = ps.run(
            best.to(ps.sinks.parquet(str(out / "windows"))),
            checkpoint=str(out / "checkpoint"),
            policy=policy,
            slots=ps.LocalSlots(),
            trigger=trigger,
            journal=journal,
        )
        try:
            # The closing row is the last of all, and its batch has all windows.
            await_rows(query, feed.trace.rows, PATIENCE_SECONDS + 3 * feed.seconds)
        finally:
            query.stop()
        used = cpu_seconds(os.getpid()) - before
        started = _started_seconds(out / "checkpoint")
        rows, batches = _windows(out / "windows")
        windows = Counter(batches.values())
        seen = course(read(query.journal_dir), windows, started, feed.seconds)
    committed = {step.batch_id: step.committed_seconds for step in seen.steps}
    return Played(seen, rows, {each: committed[b] for each, b in batches.items()}, used)


def _started_seconds(checkpoint: Path) -> float:
    """Read when the stream's clock was started: Spark notes it with every batch that it keeps."""
    noted = next(checkpoint.glob("*/offsets/[0-9]*")).read_text().splitlines()[-1]
    return ReplayOffset.from_dict(json.loads(noted)).origin_ms / 1000


def _windows(directory: Path) -> tuple[dict[int, NDArray[np.int64]], dict[int, int]]:
    """Read the rows of every window, and the batch it came with; windows by start in micros."""
    found = pq.read_table(directory)
    starts = pa.compute.struct_field(found["window"], "start").cast(pa.timestamp("us", tz="UTC"))
    starts = starts.cast("int64").to_numpy() - ORIGIN_MICROS
    ids, batches = found["id"].to_numpy(), found["batch_id"].cast("int64").to_numpy()
    order = np.lexsort((ids, starts))
    windows, first = np.unique(starts[order], return_index=True)
    rows = np.split(ids[order], first[1:])
    return (
        dict(zip(windows.tolist(), rows, strict=True)),
        dict(zip(windows.tolist(), batches[order][first].tolist(), strict=True)),
    )
