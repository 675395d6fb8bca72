"""Streams made of a trace or of a pattern."""

from __future__ import annotations

from weakref import WeakSet

from pyspark.sql import DataFrame, SparkSession

from penstock.classic_session import require_session
from penstock.errors import ConfigurationError
from penstock.shipping import ship_package
from penstock.sources.cost import KeyCost
from penstock.sources.datasource import ReplaySource
from penstock.sources.delays import Delays, NoDelay
from penstock.sources.keys import Keys, UniformKeys
from penstock.sources.options import ReplayOptions
from penstock.sources.patterns import Pattern, trace_of_pattern
from penstock.sources.trace import Trace
from penstock.sources.trace_reading import TraceLike, read_trace

_SOME_KEYS = UniformKeys(1_000)
_NO_DELAY = NoDelay()
_SOME_COST = KeyCost(low_ms=1.0, high_ms=64.0)

# Spark warns each time a source is registered again, and has no way to ask whether it is.
_sessions_that_know: WeakSet[SparkSession] = WeakSet()


def replay(
    trace: TraceLike | Trace,
    rate_column: str | None = None,
    speedup: float = 1.0,
    loop: bool = False,
    *,
    max_rows_per_batch: int | None = None,
    keys: Keys = _SOME_KEYS,
    delays: Delays = _NO_DELAY,
    cost: KeyCost = _SOME_COST,
    partitions: int = 2,
    seed: int = 0,
    origin: str | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """Play a rate trace as a stream, at the pace of the trace.

    The rows are ``id bigint, ts timestamp, key bigint, value double, cost_ms double``, each a
    function of its number, so a query goes on exactly where it was after a crash. With
    ``trigger(availableNow=True)`` the whole trace, one pass of it if it loops, is read at once in
    batches of ``max_rows_per_batch``.

    Parameters
    ----------
    trace
        The path of a file on the driver, counts per second, or (seconds, count) pairs.
    rate_column
        The column of the counts, where the file has several.
    speedup
        Trace seconds per second: 60 plays a minute of the trace per second.
    loop
        Start over at the end; row numbers and event times go on growing.
    max_rows_per_batch
        The most rows a micro-batch takes; what is due beyond it waits.
    keys, delays, cost
        Which keys come how often, how late rows are, and what each key costs.
    partitions
        Into how many input partitions a batch is cut.
    seed
        Another seed gives other keys, delays and values.
    origin
        The event time at which the trace starts, as ISO 8601; the moment the query first starts
        unless given. The pace always follows the wall clock.
    spark
        The session; the active one unless given.

    """
    options = ReplayOptions(
        trace=read_trace(trace, rate_column),
        speedup=speedup,
        loop=loop,
        max_rows_per_batch=max_rows_per_batch,
        keys=keys,
        delays=delays,
        cost=cost,
        partitions=partitions,
        seed=seed,
        origin=origin,
    )
    session = SparkSession.getActiveSession() if spark is None else spark
    if session is None:
        raise ConfigurationError("no Spark session is active; start one, or pass it as spark=")
    session = require_session(session, "replay", "spark=SparkSession.builder.getOrCreate()")
    if session not in _sessions_that_know:
        ship_package(session)
        session.dataSource.register(ReplaySource)
        _sessions_that_know.add(session)
    return session.readStream.format(ReplaySource.name()).options(**options.as_options()).load()


def generate(
    pattern: Pattern,
    *,
    duration_seconds: int,
    speedup: float = 1.0,
    loop: bool = False,
    max_rows_per_batch: int | None = None,
    keys: Keys = _SOME_KEYS,
    delays: Delays = _NO_DELAY,
    cost: KeyCost = _SOME_COST,
    partitions: int = 2,
    seed: int = 0,
    origin: str | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """Play a pattern, such as ``Ramp(100, 5_000)``, as a stream.

    The pattern gives whole rows for each of ``duration_seconds``; from there on all is as in
    ``replay``.
    """
    return replay(
        trace_of_pattern(pattern, duration_seconds),
        speedup=speedup,
        loop=loop,
        max_rows_per_batch=max_rows_per_batch,
        keys=keys,
        delays=delays,
        cost=cost,
        partitions=partitions,
        seed=seed,
        origin=origin,
        spark=spark,
    )
