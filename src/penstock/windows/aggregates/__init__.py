"""Aggregates over windows, one small file per family."""

from penstock.windows.aggregates.base import WindowAggregate
from penstock.windows.aggregates.counts import count, count_distinct
from penstock.windows.aggregates.extremes import max, min
from penstock.windows.aggregates.frequent import frequent
from penstock.windows.aggregates.moments import stddev, variance
from penstock.windows.aggregates.ordered import collect, first, last
from penstock.windows.aggregates.quantiles import quantile
from penstock.windows.aggregates.ranking import top_k
from penstock.windows.aggregates.sums import avg, sum

__all__ = [
    "WindowAggregate",
    "avg",
    "collect",
    "count",
    "count_distinct",
    "first",
    "frequent",
    "last",
    "max",
    "min",
    "quantile",
    "stddev",
    "sum",
    "top_k",
    "variance",
]
