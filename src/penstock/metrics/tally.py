"""The numbers of one query: counters that only grow, gauges, and histograms."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.metrics.label_values import OTHER, LabelValues
from penstock.metrics.metric import Metric

MOST_VALUES: Mapping[str, int] = {
    "operator": 200,
    "source": 50,
    "error": 50,
    "kind": 50,
    "rail": 20,
}
MOST_SERIES = 500
_LARGEST = 1e18

Labels = tuple[str, ...]
Number = int | float


@dataclass(slots=True)
class Distribution:
    """How many values lay up to each bucket's limit and above that of the one before."""

    buckets: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.buckets) + 1)

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.buckets, value)] += 1
        self.total += value

    def spread(self, least: float, most: float, count: int) -> None:
        """Count many values that lie evenly between two limits, each whole."""
        before = 0
        for place, limit in enumerate((*self.buckets, math.inf)):
            below = count if limit >= most else 0
            if least < limit < most:
                below = round(count * (limit - least) / (most - least))
            self.counts[place] += below - before
            before = below
        self.total += count * (least + most) / 2

    def cumulative(self) -> list[tuple[str, float]]:
        """Return how many lay up to each limit, as Prometheus has them."""
        limits = [*map(str, self.buckets), "+Inf"]
        sums: list[tuple[str, float]] = []
        so_far = 0
        for limit, count in zip(limits, self.counts, strict=True):
            so_far += count
            sums.append((limit, so_far))
        return sums


class Tally:
    """Adds up one query's numbers; labels are given without the query, which the reader adds.

    What no metric can hold, such as NaN or a negative number of rows, is left out.

    >>> from penstock.metrics.catalogue import BATCHES, SOURCE_ROWS
    >>> tally = Tally()
    >>> tally.add(SOURCE_ROWS, 5, "clicks"); tally.add(SOURCE_ROWS, 3, "clicks")
    >>> list(tally.of(SOURCE_ROWS)), list(tally.of(BATCHES))
    ([(('clicks',), 8)], [])
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Labels, Number]] = {}
        self._distributions: dict[str, Distribution] = {}
        self._values = {label: LabelValues(most) for label, most in MOST_VALUES.items()}
        self._gauges: set[str] = set()
        self._shared: set[tuple[str, Labels]] = set()

    def add(self, metric: Metric, amount: Number, *labels: str) -> None:
        """Count on."""
        if 0 <= amount <= _LARGEST:
            series = self._series(metric)
            key = self._key(metric, labels)
            series[key] = series.get(key, 0) + amount

    def observe(self, metric: Metric, seconds: float) -> None:
        """Put one value into a histogram."""
        if 0 <= seconds <= _LARGEST:
            self.distribution(metric).add(seconds)

    def distribution(self, metric: Metric) -> Distribution:
        """Return the values of a histogram."""
        return self._distributions.setdefault(metric.name, Distribution(metric.buckets))

    def put(self, metric: Metric, value: Number | None, *labels: str) -> None:
        """Set a gauge; None leaves it as it is."""
        if value is None or not -_LARGEST <= value <= _LARGEST:
            return
        self._gauges.add(metric.name)
        series = self._series(metric)
        key = self._key(metric, labels)
        if OTHER in key:
            # Many share it: those that told since the batch began count together.
            place = (metric.name, key)
            value = _together(metric, series[key], value) if place in self._shared else value
            self._shared.add(place)
        series[key] = value

    def put_all(self, metric: Metric, values: Iterable[tuple[str, Number | None]]) -> None:
        """Set a gauge for all values of its label; those that are not named go."""
        self._series(metric).clear()
        self._shared = {place for place in self._shared if place[0] != metric.name}
        for label, value in values:
            self.put(metric, value, label)

    def begin_batch(self) -> None:
        """Forget which operators told of themselves in the batch before."""
        self._shared.clear()

    def drop(self, metric: Metric) -> None:
        """Have no value for a gauge any more."""
        self._numbers.pop(metric.name, None)

    def drop_gauges(self) -> None:
        """Forget what is only true of a run that has ended; counters count on."""
        for name in self._gauges:
            self._numbers.pop(name, None)
        self._shared.clear()

    def of(self, metric: Metric) -> Iterator[tuple[Labels, Number]]:
        """Return the values of a metric, by the values of its labels."""
        yield from self._numbers.get(metric.name, {}).items()

    def histogram_of(self, metric: Metric) -> Distribution | None:
        """Return the values of a histogram, if there are any."""
        return self._distributions.get(metric.name)

    def _series(self, metric: Metric) -> dict[Labels, Number]:
        return self._numbers.setdefault(metric.name, {})

    def _key(self, metric: Metric, labels: Labels) -> Labels:
        if not labels:
            return ()
        values, names = self._values, metric.labels[1:]
        key = tuple([values[name].of(text) for name, text in zip(names, labels, strict=True)])
        series = self._numbers.get(metric.name, {})
        if key in series or len(series) < MOST_SERIES:
            return key
        return (OTHER,) * len(key)


def _together(metric: Metric, one: Number, other: Number) -> Number:
    return one + other if metric.together == "sum" else max(one, other)
