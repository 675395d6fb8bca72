"""Follows journals and hands their numbers to Prometheus' client."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from penstock.errors import ConfigurationError
from penstock.journal.file_follower import follower_of
from penstock.journal.segments import segment_numbers, segment_path
from penstock.metrics import catalogue
from penstock.metrics.journal_metrics import JournalMetrics
from penstock.metrics.label_values import LONGEST, clean
from penstock.metrics.metric import Metric
from penstock.metrics.query_metrics import QueryMetrics
from penstock.secrets import logger

_log = logger("penstock.metrics")


class _Followed:
    """One journal that is being read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics = JournalMetrics(_place(path))
        self.problem: str | None = None
        self._follower = follower_of(path)
        self._is_too_new = False

    def read_on(self, most_lines: int | None, *, log: bool) -> bool:
        """Read so many lines at most; say whether that was all there is."""
        if self._is_too_new:
            return True
        lines = 0
        try:
            for event in islice(self._follower.poll(), most_lines):
                self.metrics.take(event)
                lines += 1
        except (ConfigurationError, OSError) as error:
            self._is_too_new = isinstance(error, ConfigurationError)
            if log and self.problem is None:
                _log.warning("the journal %s can't be read on: %s", self.path, error)
            self.problem = str(error)
            return True
        self.problem = None
        return most_lines is None or lines < most_lines

    def bytes_read(self) -> tuple[int, int]:
        """Return how many bytes were read by now, and how many there are."""
        files = [self.path]
        if self.path.is_dir():
            numbers = segment_numbers(self.path)
            files = [segment_path(self.path, number) for number in numbers]
            before = sum(number < self._follower.cursor.segment for number in numbers)
        else:
            before = 0
        sizes = [file.stat().st_size if file.exists() else 0 for file in files]
        return sum(sizes[:before]) + self._follower.cursor.offset, sum(sizes)

    def close(self) -> None:
        self._follower.close()


class JournalCollector(Collector):
    """Reads journals once from their start, and then only what is new.

    ``read_on`` reads; ``collect`` is what Prometheus' client asks for. Both may be called from any
    thread. No journal is ever written to, and a query does not notice that it is read.
    """

    def __init__(self, journals: Sequence[Path]) -> None:
        self._journals = [_Followed(path) for path in journals]
        self._names = _unique([_end_of(str(path)) for path in journals])
        self._lock = threading.Lock()
        self._caught_up = threading.Event()

    @property
    def problems(self) -> list[str]:
        """Why journals could not be read on, those where that is so."""
        return [each.problem for each in self._journals if each.problem is not None]

    def read_on(self, most_lines: int | None = None, *, log: bool = True) -> bool:
        """Read what is new, so many lines of each journal at most; say whether that was all.

        A journal that can't be read on is logged, unless whoever asks tells its ``problems``.
        """
        with self._lock:
            # Of each of them, also where the first is not read to its end.
            is_all = min(
                [each.read_on(most_lines, log=log) for each in self._journals], default=True
            )
        if is_all:
            self._caught_up.set()
        return is_all

    def share_read(self) -> float:
        """Return which share of the journals was read by now."""
        with self._lock:
            read = [each.bytes_read() for each in self._journals]
        return min(1.0, sum(got for got, _ in read) / max(1, sum(all_ for _, all_ in read)))

    def wait_caught_up(self, timeout_seconds: float) -> bool:
        """Wait until the journals were once read to their end; say whether they were.

        Until then counters would show the whole past as something that happens now.
        """
        return self._caught_up.wait(timeout_seconds)

    def close(self, within_seconds: float = -1.0) -> None:
        """Close the journals' files, unless somebody reads them for longer than that."""
        if self._lock.acquire(timeout=within_seconds):
            for each in self._journals:
                each.close()
            self._lock.release()

    def describe(self) -> Iterable[Family]:
        """Name all metrics, without reading."""
        return [_family(metric) for metric in catalogue.METRICS]

    def collect(self) -> Iterator[Family]:
        """Return all metrics as of now."""
        self.read_on()
        with self._lock:
            families = [_family(metric) for metric in catalogue.METRICS]
            queries = self._queries()
            for family, metric in zip(families, catalogue.METRICS, strict=True):
                if metric.labels[0] == "query":
                    for name, query in queries:
                        _fill(family, metric, name, query)
            self._fill_journals(dict(zip(catalogue.METRICS, families, strict=True)))
        yield from families

    def _queries(self) -> list[tuple[str, QueryMetrics]]:
        found = list(self._found())
        names = _unique(
            [name for _, name, _ in found], [journal.metrics.place for journal, _, _ in found]
        )
        return [(name, query) for name, (_, _, query) in zip(names, found, strict=True)]

    def _found(self) -> Iterator[tuple[_Followed, str, QueryMetrics]]:
        for journal in self._journals:
            for name, query in journal.metrics.queries():
                yield journal, name, query

    def _fill_journals(self, families: dict[Metric, Family]) -> None:
        for name, journal in zip(self._names, self._journals, strict=True):
            read = journal.metrics
            for metric, value in (
                (catalogue.JOURNAL_LINES, read.lines),
                (catalogue.JOURNAL_CORRUPT, read.corrupt_lines),
                (catalogue.JOURNAL_MISSED, read.missed_events),
                (catalogue.JOURNAL_READABLE, int(journal.problem is None)),
            ):
                _add(families[metric], (name,), value)


def registry_of(collector: JournalCollector) -> CollectorRegistry:
    """Return a registry with these metrics and no others: not Python's, not another query's."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return registry


def _fill(family: Family, metric: Metric, name: str, query: QueryMetrics) -> None:
    if metric.kind == "info":
        if query.info is not None:
            values = (name, *query.info)
            family.add_sample(metric.name, dict(zip(metric.labels, values, strict=True)), 1)
    elif metric.kind == "histogram":
        seen = query.tally.histogram_of(metric)
        if seen is not None and isinstance(family, HistogramMetricFamily):
            family.add_metric([name], seen.cumulative(), seen.total)
    else:
        for labels, value in query.tally.of(metric):
            _add(family, (name, *labels), value)


def _add(family: Family, labels: Sequence[str], value: float) -> None:
    assert isinstance(family, CounterMetricFamily | GaugeMetricFamily)
    family.add_metric(labels, value)


def _family(metric: Metric) -> Family:
    if metric.kind == "counter":
        return CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    if metric.kind == "histogram":
        return HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    if metric.kind == "info":
        return InfoMetricFamily(metric.name.removesuffix("_info"), metric.help)
    return GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)


def _end_of(path: str) -> str:
    """Cut a long path at its beginning: its end tells journals apart."""
    return path if len(path) <= LONGEST else f"...{path[3 - LONGEST :]}"


def _place(path: Path) -> str:
    """Name where a journal is: by its directory, or the checkpoint that it is in."""
    whole = path.absolute()
    return whole.parent.name if whole.name == "journal" else whole.name


def _unique(names: Sequence[str], places: Sequence[str] = ()) -> list[str]:
    """Tell equal names apart: by their places, and then by numbers, the same way every time.

    >>> _unique(["clicks", "penstock", "penstock"], ["a", "b", "c"])
    ['clicks', 'penstock@b', 'penstock@c']
    >>> _unique(["penstock", "penstock"])
    ['penstock', 'penstock#2']
    """
    shown = [clean(name) for name in names]
    if places:
        often = Counter(shown)
        both = zip(shown, places, strict=True)
        shown = [clean(f"{n}@{place}") if often[n] > 1 else n for n, place in both]
    taken: set[str] = set()
    unique = []
    for name in shown:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}#{number}"
        taken.add(free)
        unique.append(free)
    return unique
