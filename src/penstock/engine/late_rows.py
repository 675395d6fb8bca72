"""Rows that came too late: behind the watermark, or after a window they belong to had closed."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.engine.changing import BEFORE_ALL_TIMES, any_index, changing
from penstock.engine.columns import MISSED, MISSED_TYPE, WATERMARK
from penstock.engine.schemas import quoted
from penstock.engine.windowed_operator import WindowedOperator


def late_rows(
    df: DataFrame, time_column: str, low_micros: int | None, windowed: Sequence[WindowedOperator]
) -> DataFrame:
    """Return the rows of a stream that are late for a watermark, or for the windows that read it.

    ``low_micros`` is where the watermark stands, None before there is one.
    """
    time = F.unix_micros(F.col(quoted(time_column)))
    index = any_index(time)
    if not windowed:
        # Before there is a watermark nothing is late, as if it stood before all times.
        mark = changing(BEFORE_ALL_TIMES if low_micros is None else low_micros, index)
        none = F.array().cast(MISSED_TYPE)
        shown = {WATERMARK: F.timestamp_micros(mark), MISSED: none}
        return df.filter(time <= mark).withColumns(shown)
    late, missed = F.lit(False), []
    for each in windowed:
        late = late | each.partials.is_late(each.state.closed)
        missed.append(each.partials.missed(each.state.closed))
    mark = changing(max(0, low_micros or 0), index)  # windows are closed up to 1970 from the start
    shown = {WATERMARK: F.timestamp_micros(mark), MISSED: F.concat(*missed)}
    return df.filter(late).withColumns(shown)


def as_late_rows(df: DataFrame) -> DataFrame:
    """Return rows that were shed as late rows are; no watermark had to do with them."""
    none = F.array().cast(MISSED_TYPE)
    return df.withColumns({WATERMARK: F.lit(None).cast("timestamp"), MISSED: none})
