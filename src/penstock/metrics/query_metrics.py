"""One query as metrics see it: what it is, whether it runs, and its numbers."""

from __future__ import annotations

from penstock.elasticity.arrived_rows import ArrivedRows
from penstock.elasticity.observation import Observation
from penstock.journal.events import QueryStarted, QueryStopped
from penstock.journal.topology_events import StartedQuery
from penstock.metrics import catalogue as m
from penstock.metrics.label_values import clean
from penstock.metrics.tally import Tally

_MOST_ROWS = 10**15


class QueryMetrics:
    """The numbers of one query, over all its runs that its journal tells of."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.started: QueryStarted | StartedQuery | None = None
        self.sources_told: set[str] = set()
        self.is_slots_told = False
        self._arrived = ArrivedRows()

    @property
    def info(self) -> tuple[str, str, str] | None:
        """The query's id, Penstock's version and Spark's, once it has started."""
        began = self.started
        if began is None:
            return None
        return (
            clean(began.query_id),
            clean(began.penstock_version),
            clean(began.spark_version),
        )

    def start(self, body: QueryStarted, is_restart: bool) -> None:
        """Begin a run: what was true of the one before only is forgotten."""
        self.tally.drop_gauges()
        self._be_up(body)
        self.tally.add(m.RESTARTS, 1 if is_restart else 0)
        self.tally.put(m.SLOTS_OBSERVED, body.slots)
        self.is_slots_told = False
        self.sources_told = set()
        self._arrived = ArrivedRows()

    def go_on(self, body: StartedQuery) -> None:
        """Learn of a run whose start was deleted as too old, and that it has not ended."""
        if self.started is None:
            self._be_up(body)

    def _be_up(self, body: QueryStarted | StartedQuery) -> None:
        for counter in (
            m.RESTARTS,
            m.FAILURES,
            m.BATCHES,
            m.BATCHES_SKIPPED,
            m.DECISIONS,
            m.PLAN_CHANGES,
        ):
            # A counter that is there from the start lets its first step be seen as one.
            self.tally.add(counter, 0)
        self.tally.put(m.QUERY_UP, 1)
        self.started = body

    def stop(self, body: QueryStopped) -> None:
        """End a run; gauges keep what was last known."""
        self.tally.put(m.QUERY_UP, 0)
        self.tally.add(m.FAILURES, 0 if body.error is None else 1)

    def count_latency(self, seen: Observation) -> None:
        """Count how long the rows of a micro-batch took."""
        rows, waiting = seen.rows_in, seen.waiting_rows or 0
        times = (seen.at_seconds, seen.batch_seconds, seen.trigger_seconds or 0.0)
        if all(abs(each) < _MOST_ROWS for each in (rows, waiting, *times)):
            latency = self.tally.distribution(m.ROW_LATENCY)
            ended = seen.at_seconds
            for since, until, count in self._arrived.take(
                seen.started_seconds, ended, rows, waiting, seen.trigger_seconds
            ):
                latency.spread(max(0.0, ended - until), max(0.0, ended - since), count)
