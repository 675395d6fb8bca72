"""Where rows go, such as ``ps.sinks.parquet("out")``.

A sink of your own is any object with the three methods of `Sink`; it may have `check` as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame

from penstock.arguments import checked
from penstock.errors import ConfigurationError
from penstock.sinks.call_sink import CallSink
from penstock.sinks.console_sink import ConsoleSink
from penstock.sinks.files import FileSink
from penstock.sinks.jdbc_sink import JdbcSink
from penstock.sinks.kafka_records import RecordShape
from penstock.sinks.kafka_sink import KafkaSink
from penstock.sinks.memory_sink import MemorySink
from penstock.sinks.sink import RETRIES, RETRY_SECONDS, Sink

__all__ = ["Sink", "call", "console", "jdbc", "json", "kafka", "memory", "parquet"]


def parquet(
    path: str | os.PathLike[str],
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> FileSink:
    """Parquet files in ``path/batch_id=N/``; ``options`` are those of Spark's Parquet writer.

    >>> parquet("out", partition_by=["area"]).describe()
    'parquet(out)'
    """
    return FileSink(path, "parquet", partition_by, options)


def json(
    path: str | os.PathLike[str],
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> FileSink:
    """JSON lines in ``path/batch_id=N/``; ``options`` are those of Spark's JSON writer.

    >>> json("out").describe()
    'json(out)'
    """
    return FileSink(path, "json", partition_by, options)


def memory() -> MemorySink:
    """Rows in the driver's memory, for tests: see ``rows()`` and ``batches``.

    >>> memory().rows()
    []
    """
    return MemorySink()


def console(rows: int = 20, truncate: int | None = 40) -> ConsoleSink:
    """A table of the first rows of each batch; values are cut to ``truncate`` characters.

    >>> console(rows=5).describe()
    'console(rows=5)'
    """
    return ConsoleSink(rows, truncate)


def call(function: Callable[[DataFrame, int], object]) -> CallSink:
    """Your own ``function(df, batch_id)``, which may see a batch again after a crash.

    >>> call(print).describe()
    'call(print)'
    """
    return CallSink(function)


def jdbc(
    url: str,
    table: str,
    keys: Sequence[str],
    *,
    order_by: str | None = None,
    user: str | None = None,
    password: str | None = None,
    options: Mapping[str, str] | None = None,
    driver: str = "org.postgresql.Driver",
    retries: int = RETRIES,
    retry_seconds: float = RETRY_SECONDS,
) -> JdbcSink:
    """Upsert into a PostgreSQL table that has ``keys`` as its primary key or a unique index.

    Of several rows of a batch with the same key, the one with the greatest ``order_by`` is taken;
    without ``order_by`` such a batch is refused. ``options`` are those of Spark's JDBC writer and
    the driver's connection properties.

    While the database can't be reached, the query waits and sends the batch again, ``retries``
    times: the first wait is ``retry_seconds``, each next twice that, 30 s at most; two minutes in
    all unless set. Each is a ``FaultSeen`` in the journal. Errors in SQL are never tried again.

    >>> jdbc("jdbc:postgresql://db/shop", "hits", keys=["id"], password="secret").describe()
    'jdbc(jdbc:postgresql://db/shop, hits)'
    """
    return JdbcSink(
        url,
        table,
        keys,
        order_by=order_by,
        user=user,
        password=password,
        options=options,
        driver=driver,
        retries=retries,
        retry_seconds=retry_seconds,
    )


@checked
def kafka(
    servers: str,
    topic: str,
    *,
    key: str | None = None,
    value: str | None = None,
    headers: Sequence[str] = (),
    unique_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> KafkaSink:
    """Records in a Kafka topic, each with an id by which a consumer knows it when it comes again.

    ``key``, ``value`` and ``headers`` are columns: binary ones go as they are, structs, arrays and
    maps as JSON, others as text. Without ``value`` it is the whole row as JSON. The id is in the
    header ``penstock-id``; it is made of all that the record holds, or of the columns
    ``unique_by``, which must then be different in every row of a batch and save a shuffle. Floats
    are no part of it, since sums of them may end in other bits when a batch is sent again.
    ``options`` are those of a Kafka producer, as ``kafka.`` and their name.

    >>> secret = {"kafka.sasl.jaas.config": "... password='x';"}
    >>> kafka("broker-1:9092", "hot-clicks", key="user", options=secret).describe()
    'kafka(broker-1:9092, hot-clicks)'
    """
    for name, columns in (("headers", headers), ("unique_by", unique_by)):
        if isinstance(columns, str):
            raise ConfigurationError(
                f"{name}={columns!r} of the kafka sink must be a list, such as {name}=[{columns!r}]"
            )
    shape = RecordShape(key, value, tuple(headers), tuple(unique_by))
    return KafkaSink(servers, topic, shape, options)
