"""What a micro-batch shows of a source's event times, measured on the way."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.changing import changing
from penstock.engine.observations import Measures, count_rows
from penstock.engine.partials import BEFORE_ALL_TIMES
from penstock.engine.schemas import quoted
from penstock.topology.operators import Source
from penstock.windows.watermark import NOTHING_SEEN, Mark, Seen


def measure_source(df: DataFrame, source: Source, mark: Mark | None) -> tuple[Measures, DataFrame]:
    """Count a source's rows, and look at their times where a watermark follows them."""
    measures: list[Column] = [count_rows()]
    if source.time is not None and source.watermark is not None:
        time = F.unix_micros(F.col(quoted(source.time)))
        measures += [F.max(time), F.min(time)]
        if source.watermark.counts_late:
            known = mark.micros if mark and mark.micros is not None else BEFORE_ALL_TIMES
            measures.append(F.count_if(time <= changing(known, time)))
    return Measures.on(df, *measures)


def seen(measures: Measures, places: Sequence[DataFrame]) -> Seen:
    """Return what was measured of a source; nothing where no job read its rows."""
    values = measures.read(places)
    if values is None or not values[0]:
        return NOTHING_SEEN
    rows, newest, oldest, late = (*values, None, None, None)[:4]
    return Seen(int(rows), newest, oldest, int(late or 0))
