"""Finds the highest rate of rows that the demo's topology keeps up with."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import penstock as ps
from penstock.demo.job import SENSORS, UNEVEN, policy, topology
from penstock.journal import BatchFinished, read
from penstock.sources.patterns import trace_of_pattern

TRIGGER_SECONDS = 2
# Rows that wait for no longer than this many triggers are not a backlog.
MOST_TRIGGERS_WAITING = 2
CLOSE_ENOUGH = 1.15


@dataclass(frozen=True, slots=True)
class Trial:
    """One rate, tried: the most rows that waited in the last half, and whether it was held."""

    rate: float
    waiting_rows: int
    batches: int
    is_held: bool


def highest(is_held: Callable[[float], bool], first: float, close_enough: float) -> float | None:
    """Search the highest rate that is held: double it until one is not, then halve the gap.

    Rates are taken to be held up to some point and not beyond. Returns None where not even an
    eighth of ``first`` is.

    >>> tried = []
    >>> round(highest(lambda rate: tried.append(rate) or rate <= 330, 100, 1.1))
    308
    >>> [round(rate) for rate in tried]
    [100, 200, 400, 283, 336, 308]
    """
    low, high = first, 2 * first
    if is_held(first):
        while is_held(high):
            low, high = high, 2 * high
    else:
        low, high = first / 2, first
        while not is_held(low):
            if low <= first / 8:
                return None
            low, high = low / 2, low
    while high / low > close_enough:
        middle = (low * high) ** 0.5
        if is_held(middle):
            low = middle
        else:
            high = middle
    return low


def search(spark: SparkSession, first: float, seconds: int) -> list[dict[str, Any]]:
    """Try rates with the demo's topology; return a row for each trial, the result last."""
    trials: list[Trial] = []

    def is_held(rate: float) -> bool:
        trials.append(try_rate(spark, rate, seconds))
        print(trials[-1], file=sys.stderr, flush=True)
        return trials[-1].is_held

    try_rate(spark, first / 2, seconds)  # not counted: the JVM compiles what it runs often
    found = highest(is_held, first, CLOSE_ENOUGH)
    rows = [
        {
            "rate": round(each.rate),
            "most_waiting_rows": each.waiting_rows,
            "batches": each.batches,
            "held": "yes" if each.is_held else "no",
        }
        for each in sorted(trials, key=lambda each: each.rate)
    ]
    told = "none" if found is None else round(found)
    return [*rows, {"rate": told, "most_waiting_rows": "", "batches": "", "held": "the highest"}]


def try_rate(spark: SparkSession, rate: float, seconds: int) -> Trial:
    """Run the topology at a steady rate for so long, and look at what waited."""
    where = Path(tempfile.mkdtemp(prefix="penstock-load-"))
    trace = trace_of_pattern(ps.sources.Steady(rate), seconds + 60)
    df = ps.sources.replay(trace, keys=SENSORS, cost=UNEVEN, spark=spark)
    stream = ps.Stream.read(df, time="ts", watermark="2 seconds", name="sensors")
    query = ps.run(
        *topology(stream, str(where)),
        checkpoint=str(where / "checkpoint"),
        placement=ps.CostAware(),
        policy=policy(),
        trigger=TRIGGER_SECONDS,
    )
    try:
        time.sleep(seconds)
        query.stop()
        failure = query.exception()
        if failure is not None:  # what ended before its rows came has held no rate
            raise failure
        bodies = [event.body for event in read(query.journal_dir)]
    finally:
        query.stop()
        shutil.rmtree(where, ignore_errors=True)
    return judged(rate, [body for body in bodies if isinstance(body, BatchFinished)])


def judged(rate: float, batches: list[BatchFinished]) -> Trial:
    """Judge a trial by its last half: rows that came and were not taken within two triggers."""
    last = [body.observation for body in batches[len(batches) // 2 :]]
    waiting = max((each.waiting_rows or 0 for each in last), default=0)
    taken = max((each.rows_in for each in last), default=0)
    # What a batch takes has waited too: one that lasts longer than the trigger takes more.
    most = rate * TRIGGER_SECONDS * MOST_TRIGGERS_WAITING
    is_held = len(batches) >= 4 and max(waiting, taken) <= most
    return Trial(rate, max(waiting, taken), len(batches), is_held)
