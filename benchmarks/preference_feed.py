"""The streams of Elastic-PPQ (its Table 3), played in real time, with eight random attributes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from preference_paper import PUBLISHED
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.reproduction.ppq_streams import VARIATION
from penstock.simulation.workloads.map2 import Map2
from penstock.simulation.workloads.random_walk import RandomWalk
from penstock.simulation.workloads.self_similar import SelfSimilar
from penstock.sources.delays import Delays
from penstock.sources.rows import RowMaker
from penstock.sources.schedule import Schedule
from penstock.sources.trace import MICROS, Trace, whole_counts

ATTRIBUTES = tuple(f"a{number}" for number in range(8))
# Event time is the same in every run, so windows have the same rows in all of them.
ORIGIN = "2026-01-01T00:00:00Z"
ORIGIN_MICROS = 1_767_225_600 * MICROS
# How far ahead the closing row is: further than a window and any delay.
CLOSING_SECONDS = 3
_BURST_SECONDS = 0.01  # a burst of a MAP is over in some hundredths of a second
_WHOLE = 1 << 52
# The mean delays of the match that Table 3 prints; its rare ones of a minute are left out.
_GAME_DELAYS_SECONDS = {"Game1": 0.0171, "Game2": 0.0141, "Game3": 0.0132}


@dataclass(frozen=True)
class Feed:
    """A stream and its closing row: one more, due when the stream ends and ahead in event time.

    Rows alone move a watermark, so without it the last windows would wait for ever.
    """

    name: str
    trace: Trace
    delays: Delays

    @property
    def rows(self) -> int:
        """The rows of the stream; the number of the closing row comes after theirs."""
        return self.trace.rows - 1

    @property
    def seconds(self) -> float:
        """How long the stream lasts."""
        return sum(self.trace.step_micros[:-1]) / MICROS

    @property
    def rate(self) -> float:
        """Rows a second, on average."""
        return self.rows / self.seconds

    def live(self, spark: SparkSession, partitions: int) -> DataFrame:
        """Play it in real time, from when a query over it starts."""
        rows = ps.sources.replay(
            self.trace, delays=self.delays, partitions=partitions, origin=ORIGIN, spark=spark
        )
        return rows.selectExpr(*self.columns())

    def columns(self) -> list[str]:
        """Write the columns of a row in SQL, over its number and its event time."""
        ahead = f"ts + INTERVAL {CLOSING_SECONDS} SECONDS"
        ts = f"CASE WHEN id = {self.rows} THEN {ahead} ELSE ts END AS ts"
        return ["id", ts, *attribute_columns()]

    def event_micros(self) -> NDArray[np.int64]:
        """Give the event time of each row by its number, the closing row left out."""
        maker = RowMaker(
            schedule=Schedule(self.trace),
            keys=ps.sources.UniformKeys(1),
            delays=self.delays,
            cost=ps.sources.KeyCost(1.0, 1.0),
            seed=0,
            origin_micros=ORIGIN_MICROS,
        )
        times = pa.chunked_array([batch["ts"] for batch in maker.batches(0, self.rows)])
        return np.asarray(times.cast("int64").to_numpy())


def attribute_columns() -> list[str]:
    """Write the attributes in SQL: uniform on [0, 1), each a function of the row's number."""
    return [
        f"(xxhash64(id, {number}) & {_WHOLE - 1}L) / {_WHOLE}D AS {name}"
        for number, name in enumerate(ATTRIBUTES)
    ]


def feed(name: str, seconds: int, *, data: Path | None = None, scale: float = 1.0) -> Feed:
    """Make a stream of Table 3 that lasts so long, at ``scale`` times its mean rate.

    A short piece of a bursty stream has another mean than the whole: it is brought to the printed
    one. A match is played from its start, and needs the folder of its rates.
    """
    rate = PUBLISHED[name].rate
    if name in _GAME_DELAYS_SECONDS:
        assert data is not None
        counts = ps.sources.read_trace(data / f"ppq_{name.lower()}.txt").counts[:seconds]
        trace = Trace((MICROS,) * len(counts), counts)
        delays: Delays = ps.sources.ExponentialDelay(_GAME_DELAYS_SECONDS[name])
    else:
        trace = _workload(name, rate, seconds).load().trace
        delays = ps.sources.UniformDelay(0.4)
    return Feed(name, _closed(_at_rate(trace, scale * rate)), delays)


def present(names: list[str], data: Path | None) -> list[str]:
    """Leave out the matches whose rates are not in the folder."""
    return [
        name
        for name in names
        if name not in _GAME_DELAYS_SECONDS
        or (data is not None and (data / f"ppq_{name.lower()}.txt").is_file())
    ]


def _workload(name: str, rate: float, seconds: int) -> Map2 | SelfSimilar | RandomWalk:
    kind, _, parameter = name.partition("-")
    if kind == "RW":
        return RandomWalk(rate, volatility=0.4, every_seconds=5, seconds=seconds)
    if kind == "MAP":
        dispersion = 1000 * int(parameter.removesuffix("K"))
        return Map2(rate, dispersion, seconds, step_seconds=_BURST_SECONDS)
    return SelfSimilar(rate, float(parameter), VARIATION, seconds)


def _at_rate(trace: Trace, rate: float) -> Trace:
    factor = rate * trace.duration_seconds / trace.rows
    return Trace(trace.step_micros, whole_counts([factor * count for count in trace.counts]))


def _closed(trace: Trace) -> Trace:
    return Trace((*trace.step_micros, 1), (*trace.counts, 1))
