"""Whether the windows that came out are all there, and have the rows that they should have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from preference_feed import ATTRIBUTES, ORIGIN_MICROS, Feed, attribute_columns
from preference_run import DELTA, SLIDE_MICROS, WINDOW_MICROS, Played, Question
from pyspark.sql import SparkSession

import penstock as ps
from penstock.sources.trace import MICROS

# K-slack learns the delays from the first rows; what comes too late for it goes elsewhere.
_SETTLED_MICROS = 2 * MICROS


@dataclass(frozen=True)
class Check:
    """Windows that did not come out or should not have, and those of a sample that were wrong."""

    windows: int
    missing: int
    surplus: int
    compared: int
    wrong: int


def check(
    spark: SparkSession, feed: Feed, question: Question, played: Played, sample: int
) -> Check:
    """Compare a sample of the windows with the batch query over their rows."""
    event_micros = feed.event_micros() - ORIGIN_MICROS
    expected = windows_with_rows(event_micros)
    settled = sorted(each for each in expected if each >= _SETTLED_MICROS)
    chosen = [settled[n] for n in np.linspace(0, len(settled) - 1, sample).astype(int)]
    wrong = 0
    for window in chosen:
        within = (event_micros >= window) & (event_micros < window + WINDOW_MICROS)
        best = _best(spark, question, np.flatnonzero(within))
        wrong += not np.array_equal(best, played.rows.get(window, np.array([])))
    return Check(
        windows=len(played.rows),
        missing=len(expected - played.rows.keys()),
        surplus=len(played.rows.keys() - expected),
        compared=len(chosen),
        wrong=wrong,
    )


def windows_with_rows(event_micros: NDArray[np.int64]) -> set[int]:
    """Return the starts of the windows that have rows; all in micros since the stream's start."""
    panes = np.unique(event_micros // SLIDE_MICROS)
    per_window = WINDOW_MICROS // SLIDE_MICROS
    return {(int(pane) - back) * SLIDE_MICROS for pane in panes for back in range(per_window)}


def _best(spark: SparkSession, question: Question, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    rows = spark.createDataFrame(pa.table({"id": ids})).selectExpr("id", *attribute_columns())
    if question.query == "skyline":
        best = ps.skyline(rows, minimize=list(ATTRIBUTES))
    elif question.query == "top_dominant":
        best = ps.top_dominant(rows, DELTA, minimize=list(ATTRIBUTES))
    else:
        best = rows.selectExpr("max(id) AS id")
    return np.sort(best.select("id").toArrow()["id"].to_numpy())
