"""The live runs that the agreement benchmark predicts: short, real, and of different kinds."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import penstock as ps

sys.path.append(str(Path(__file__).parent.parent / "examples"))
import opinions
import tweets

# Spark's workers can import neither the examples nor a benchmark.
cloudpickle.register_pickle_by_value(tweets)
cloudpickle.register_pickle_by_value(opinions)
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SLOTS = 8
"""Slots of the session; operators that wait can use more of them than there are cores."""
SCORE_ROUNDS = 1_500
SLOW_MS = ps.sources.KeyCost(1.0, 64.0, levels=64)

Build = Callable[[DataFrame, Path], list[ps.Outlet]]


def of_tweets(rows: DataFrame, out: Path) -> list[ps.Outlet]:
    """Four operators in a row, of which three wait."""
    stream = ps.Stream.read(rows.selectExpr(*tweets.tweet_columns()), name="tweets")
    return tweets.topology(stream, str(out))


def of_opinions(rows: DataFrame, out: Path) -> list[ps.Outlet]:
    """Two branches, with a look-up and windows."""
    rows = rows.selectExpr(*opinions.opinion_columns())
    stream = ps.Stream.read(rows, time="ts", watermark="1 second", name="opinions")
    return opinions.topology(stream, str(out))


def score(row: dict[str, Any]) -> dict[str, Any]:
    """Keep a core busy."""
    digest = str(row["id"]).encode()
    for _ in range(SCORE_ROUNDS):
        digest = hashlib.sha256(digest).digest()
    return {"id": row["id"], "score": digest[0]}


def of_scores(rows: DataFrame, out: Path) -> list[ps.Outlet]:
    """One operator that needs a core all the time."""
    scored = ps.Stream.read(rows, name="rows").map(score, "id bigint, score int")
    return [scored.to(ps.sinks.parquet(f"{out}/scores"), name="store")]


def look_up(row: dict[str, Any]) -> dict[str, Any]:
    """Wait as long as the key of the row says."""
    time.sleep(row["cost_ms"] / 1_000)
    return {"id": row["id"]}


def of_look_ups(rows: DataFrame, out: Path) -> list[ps.Outlet]:
    """One operator for which some keys are sixty times as dear as others."""
    found = ps.Stream.read(rows, name="rows").map(look_up, "id bigint")
    return [found.to(ps.sinks.parquet(f"{out}/found"), name="store")]


@dataclass(frozen=True)
class LiveRun:
    """One run: what it computes, the load, how many slots, and what is special about it."""

    name: str
    about: str
    build: Build
    pattern: Callable[[int], ps.sources.Pattern]
    policy: Callable[[], ps.Policy]
    keys: ps.sources.ZipfKeys | ps.sources.UniformKeys = tweets.AUTHORS
    trigger: str | None = "2 seconds"

    def play(self, spark: SparkSession, seconds: int, where: Path) -> Path:
        """Run it for so long, and return its journal."""
        rows = ps.sources.generate(
            self.pattern(seconds),
            duration_seconds=seconds,
            keys=self.keys,
            cost=SLOW_MS,
            spark=spark,
        )
        journal = where / "journal"
        query = ps.run(
            *self.build(rows, where),
            checkpoint=str(where / "checkpoint"),
            policy=self.policy(),
            slots=ps.LocalSlots(),
            trigger=self.trigger,
            journal=journal,
            name=self.name,
        )
        try:
            query.await_termination(seconds)
        finally:
            query.stop()
        return journal


def following() -> ps.Policy:
    """A policy quick enough for a load that turns within seconds."""
    return ps.AutoScalePlus(interval="4 seconds", horizon="8 seconds", window="30 seconds")


RUNS = (
    LiveRun(
        "steady",
        "waiting operators, steady, 4 slots",
        of_tweets,
        lambda seconds: ps.sources.Steady(70),
        lambda: ps.Static(4),
    ),
    LiveRun(
        "ramp",
        "waiting operators, ramp, 8 slots",
        of_tweets,
        lambda seconds: ps.sources.Ramp(20, 180),
        lambda: ps.Static(8),
    ),
    LiveRun(
        "bursts",
        "waiting operators, bursts, 6 slots",
        of_tweets,
        lambda seconds: ps.sources.Spikes(30, 180, every_seconds=12, width_seconds=3),
        lambda: ps.Static(6),
    ),
    LiveRun(
        "skewed",
        "costs of 1 to 64 ms by key, 4 slots",
        of_look_ups,
        lambda seconds: ps.sources.Sine(60, 40, seconds / 4),
        lambda: ps.Static(4),
        keys=ps.sources.ZipfKeys(500, 1.2),
    ),
    LiveRun(
        "one slot",
        "waiting operators, swinging, 1 slot",
        of_tweets,
        lambda seconds: ps.sources.Sine(22, 14, seconds / 5),
        lambda: ps.Static(1),
    ),
    LiveRun(
        "windows",
        "look-ups and windows in two branches, 4 slots",
        of_opinions,
        lambda seconds: ps.sources.Sine(60, 40, seconds / 4),
        lambda: ps.Static(4),
        trigger="3 seconds",
    ),
    LiveRun(
        "cpu",
        "an operator that needs its core, 2 slots",
        of_scores,
        lambda seconds: ps.sources.Sine(400, 250, seconds / 4),
        lambda: ps.Static(2),
    ),
    LiveRun(
        "following",
        "waiting operators, swinging, AutoScalePlus",
        of_tweets,
        lambda seconds: ps.sources.Sine(90, 70, seconds / 3),
        following,
    ),
    LiveRun(
        "no trigger",
        "waiting operators, bursts, 8 slots, batches end to end",
        of_tweets,
        lambda seconds: ps.sources.Spikes(30, 150, every_seconds=8, width_seconds=3),
        lambda: ps.Static(8),
        trigger=None,
    ),
)
