"""Checks that a sink of one's own counts each batch once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.sinks.sink import Sink
from penstock.testing.assertions import Rows, assert_rows
from penstock.testing.session import spark_session

_ROWS = {
    0: [{"id": 0, "v": "a"}, {"id": 1, "v": "b"}],
    1: [{"id": 10, "v": "c"}, {"id": 11, "v": "d"}],
    2: [{"id": 20, "v": "e"}],
}


def check_sink(sink: Sink, read: Callable[[], Rows], *, spark: SparkSession | None = None) -> None:
    """Fail unless a sink keeps what every sink promises.

    It holds every batch; a batch that comes again changes nothing, also after it was opened again
    as by a restart; an empty batch is no error; and a batch that fails on its way leaves what was
    there. The rows have the columns ``id bigint`` and ``v string``, and no two the same ``id``.

    Parameters
    ----------
    sink
        The sink, empty, and as it is given to ``to``.
    read
        Returns what the sink holds now, with columns ``id`` and ``v``, read in another way than
        through the sink where there is one.
    spark
        The session; that of ``spark_session()`` unless said.

    Examples
    --------
    >>> import penstock as ps
    >>> memory = ps.sinks.memory()
    >>> check_sink(memory, memory.rows)

    """
    spark = spark or spark_session()
    assert isinstance(sink, Sink), (
        f"{type(sink).__name__} is no sink: it needs open(query_id), write(df, batch_id) and "
        "describe()"
    )
    assert sink.describe(), "describe() is empty; it names the sink for people"
    sink.open("check")
    for batch in (0, 1):
        sink.write(_df(spark, _ROWS[batch]), batch)
    _expect(read, [0, 1], "two batches were written")
    sink.write(_df(spark, _ROWS[1]), 1)
    _expect(read, [0, 1], "batch 1 came a second time")
    sink.open("check")
    sink.write(_df(spark, _ROWS[1]), 1)
    _expect(read, [0, 1], "the sink was opened again and batch 1 came once more")
    _fail(sink, spark, 2)
    _expect(read, [0, 1], "batch 2 failed half-way")
    sink.write(_df(spark, _ROWS[2]), 2)
    sink.write(_df(spark, []), 3)
    _expect(read, [0, 1, 2], "batch 2 came after it had failed, and an empty batch followed")


def _df(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(rows, "id bigint, v string")


def _fail(sink: Sink, spark: SparkSession, batch: int) -> None:
    """Send a batch of which one task fails after it gave rows, while another is fine."""
    rows = spark.range(0, 8, 1, 4).selectExpr(
        "id + 100 AS id", "IF(id = 5, raise_error('on purpose'), string(id)) AS v"
    )
    try:
        sink.write(rows, batch)
    except Exception:
        return
    raise AssertionError(
        "the sink took a batch whose rows could not be computed; let write raise what Spark raises"
    )


def _expect(read: Callable[[], Rows], batches: list[int], when: str) -> None:
    expected = [row for batch in batches for row in _ROWS[batch]]
    try:
        assert_rows(_only_known(read()), expected)
    except AssertionError as error:
        raise AssertionError(f"after {when} the sink holds other rows: {error}") from None


def _only_known(rows: Rows) -> Any:
    """Leave out what a sink adds of its own, such as the number of the batch."""
    return rows.select("id", "v") if isinstance(rows, DataFrame) else rows
