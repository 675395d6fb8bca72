"""The rows that come out of windows: their columns, and the windows in them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.engine.columns import IS_FINAL, WINDOW, WINDOW_NAME
from penstock.topology.operators import Emit
from penstock.windows.panes import Panes

_WINDOW = StructType(
    [StructField("start", TimestampType(), False), StructField("end", TimestampType(), False)]
)


def result_type(
    panes: Panes, keys: Sequence[StructField], results: StructType, emit: Emit
) -> StructType:
    """Return the columns of complete windows: the window, its name, keys, aggregates."""
    fields = [StructField(WINDOW, _WINDOW, False)]
    if len(panes.specs) > 1:
        fields.append(StructField(WINDOW_NAME, StringType(), False))
    fields += [*keys, *results.fields]
    if emit == "every_batch":
        fields.append(StructField(IS_FINAL, BooleanType(), False))
    return StructType(fields)


def window_column(start_micros: str, end_micros: str) -> Column:
    """Return a window as Spark's ``window`` function shows it, from SQL for its two times."""
    start, end = (f"timestamp_micros({micros})" for micros in (start_micros, end_micros))
    return F.expr(f"named_struct('start', {start}, 'end', {end})")
