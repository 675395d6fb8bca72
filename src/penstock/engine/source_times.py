"""What a micro-batch shows of a source's event times, measured on the way."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.changing import BEFORE_ALL_TIMES, any_index, changing
from penstock.engine.observations import Measures, counting
from penstock.engine.schemas import quoted
from penstock.topology.operators import Source
from penstock.windows.watermark import NOTHING_SEEN, Mark, Seen


class SourceTimes:
    """Looks at the times of one source, where a watermark follows them; prepared once."""

    def __init__(self, source: Source) -> None:
        assert source.time is not None
        assert source.watermark is not None
        self._counts_late = source.watermark.counts_late
        self._time = F.unix_micros(F.col(quoted(source.time)))
        self._measures = _measures(self._time)

    def measure(
        self, df: DataFrame, mark: Mark | None, only: Column | None = None
    ) -> tuple[Measures, DataFrame]:
        """Measure the rows of a batch; ``mark`` is where the watermark stands.

        ``only`` are the rows that are looked at, all unless given.
        """
        time = self._time if only is None else F.when(only, self._time)
        measures = self._measures if only is None else _measures(time, only)
        if not self._counts_late:
            return Measures.on(df, *measures)
        known = mark.micros if mark and mark.micros is not None else BEFORE_ALL_TIMES
        late = F.count_if(time <= changing(known, any_index(time))).alias("late")
        return Measures.on(df, *measures, late)


def _measures(time: Column, only: Column | None = None) -> list[Column]:
    return [counting(only=only), F.max(time).alias("newest"), F.min(time).alias("oldest")]


def seen(source: Source, measures: Measures, places: Sequence[DataFrame]) -> Seen:
    """Return what was measured of a source; nothing where its job had no use for its rows.

    Raises where a watermark follows the times and Spark never told them.
    """
    values = measures.told(places) if source.watermark else measures.read(places)
    if values is None or not values[0]:
        return NOTHING_SEEN
    rows, newest, oldest, late = (*values, None, None, None)[:4]
    return Seen(int(rows), newest, oldest, int(late or 0))
