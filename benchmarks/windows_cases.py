"""The cases of the streaming benchmark of windows: which rows, which windows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

EPOCH_SECONDS = 1_700_006_400  # a midnight, so that windows of a day start with the stream
WATERMARK = "10 seconds"
PARTITIONS = 2
HOUR, DAY = 3_600, 86_400


@dataclass(frozen=True, slots=True)
class Span:
    """One window: its length, and how often it starts; tumbling where the two are the same."""

    length: str
    every: str


@dataclass(frozen=True, slots=True)
class Case:
    """A stream and the windows over it.

    The first micro-batch holds ``history_seconds`` of event time, so that windows are full from the
    second on; each of the others holds ``batch_event_seconds``.
    """

    name: str
    windows: tuple[Span, ...]
    rows: int
    keys: int
    batch_event_seconds: int
    history_seconds: int
    heap: str = "3g"

    def with_rows(self, rows: int | None) -> Case:
        """Return the same case with another number of rows a micro-batch."""
        return self if rows is None else replace(self, rows=rows)

    @property
    def micros_sql(self) -> str:
        """The time of a row in microseconds, from its number, in SQL that all engines know."""
        history, step = self.history_seconds * 1_000_000, self.batch_event_seconds * 1_000_000
        return (
            f"{EPOCH_SECONDS * 1_000_000} + CASE WHEN `value` < {self.rows} "
            f"THEN CAST(`value` * {history / self.rows:E} AS BIGINT) - {history} "
            f"ELSE CAST((`value` - {self.rows}) * {step / self.rows:E} AS BIGINT) END"
        )

    @property
    def key_sql(self) -> str:
        """The key of a row from its number; neighbours have different keys."""
        return f"MOD(`value` * 7919, {self.keys})"


HOURLY = (Span("60 minutes", "1 minute"),)
TENFOLD = (Span("10 minutes", "1 minute"),)
MINUTES = (Span("1 minute", "1 minute"),)
FIVE = tuple(Span(x, x) for x in ("10 minutes", "30 minutes", "1 hour", "6 hours", "24 hours"))
OFTEN = (Span("1 hour", "10 seconds"),)

CASES = {
    case.name: case
    for case in (
        Case("sliding60", HOURLY, 1_000_000, 1_000, 60, HOUR),
        Case("sliding60_5min", HOURLY, 1_000_000, 1_000, 300, HOUR),
        Case("five", FIVE, 1_000_000, 1_000, 600, DAY),
        # Natively there are four million groups in memory, twice.
        Case("keys200k", TENFOLD, 1_000_000, 200_000, 60, 600, heap="8g"),
        Case("tumbling", MINUTES, 1_000_000, 1_000, 60, 60),
    )
}
FLAT = Case("flat", OFTEN, 2_000, 100, 10, HOUR, heap="1g")


def stream(spark: SparkSession, case: Case) -> DataFrame:
    """Read the rows of a case: ``k``, ``v`` and ``ts``, made in the JVM from a running number.

    All rows of a micro-batch of Spark's source have the same time; here they are spread evenly
    over the event time of the batch.
    """
    numbered = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", case.rows)
        .option("numPartitions", PARTITIONS)
        .load()
    )
    return numbered.selectExpr(
        f"{case.key_sql} AS k",
        "MOD(value * 31, 10007) * 0.25D AS v",
        f"timestamp_micros({case.micros_sql}) AS ts",
    )
