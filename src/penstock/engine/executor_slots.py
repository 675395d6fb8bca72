"""Slots on a cluster: executors that come and go while a query runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.arguments import is_finite
from penstock.engine.cluster_settings import ClusterSettings
from penstock.engine.cluster_view import ClusterView
from penstock.engine.executor_care import ExecutorCare
from penstock.engine.executors import ExecutorBounds, ExecutorLedger, SlotCounts
from penstock.engine.warming import Warming
from penstock.errors import ConfigurationError
from penstock.journal.events import KnownEvent

_looked_after: WeakSet[SparkContext] = WeakSet()
_claiming = threading.Lock()


class ExecutorSlots:
    """The cores of executors, of which there are as many as the policy asks for.

    Works on Spark's standalone clusters, YARN and Kubernetes, with Spark's own dynamic allocation
    off. One Spark session has one ``ExecutorSlots``, which one query is given, or
    :func:`penstock.autoscale` for all queries of the session together.

    Parameters
    ----------
    max, min
        How many slots there are at most and at least. A slot is a core of an executor, or
        ``spark.task.cpus`` of them. Executors come whole: at most as many as ``max`` holds, and
        at least as many as ``min`` takes. It is an error if no number of them lies in between.
    cores_per_executor
        Only needed on standalone clusters without ``spark.executor.cores``, where an executor
        takes all the cores that its worker has.
    warm
        Count a new executor only when Python has run on it, so that no batch waits for
        interpreters to start there.
    patience_seconds
        How long an executor may take to come, to become ready or to find a pause to leave in. Then
        the journal says so, and it is asked for again, counts as it is, or leaves without a pause.

    >>> ExecutorSlots(min=4, max=2)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: ExecutorSlots(min=4, max=2): min and max are whole \
numbers of slots, 1 or more, and min is not above max.

    """

    def __init__(
        self,
        *,
        max: int,
        min: int = 1,
        cores_per_executor: int | None = None,
        warm: bool = True,
        patience_seconds: float = 60.0,
    ) -> None:
        if not _is_count(min) or not _is_count(max) or min > max:
            raise ConfigurationError(
                f"ExecutorSlots(min={min!r}, max={max!r}): min and max are whole numbers of "
                "slots, 1 or more, and min is not above max."
            )
        if cores_per_executor is not None and not _is_count(cores_per_executor):
            raise ConfigurationError(
                f"cores_per_executor={cores_per_executor!r} is no number of cores. "
                "Write 1 or more, or leave it out."
            )
        if not is_finite(patience_seconds) or patience_seconds <= 0:
            raise ConfigurationError(
                f"patience_seconds={patience_seconds!r} is no time. Write for example 60."
            )
        self._least, self._most = min, max
        self._cores_per_executor = cores_per_executor
        self._warm = warm
        self._patience_seconds = float(patience_seconds)
        self._care: ExecutorCare | None = None
        self._bounds: ExecutorBounds | None = None
        self._context: SparkContext | None = None

    def __repr__(self) -> str:
        return f"ExecutorSlots(min={self._least}, max={self._most})"

    @property
    def most(self) -> int:
        """How many slots there may be at most: once attached, those of whole executors."""
        return self._bounds.most_slots if self._bounds is not None else self._most

    @property
    def counts(self) -> SlotCounts | None:
        """Slots as planned, requested, observed and warm; None while no query has them."""
        return self._care.counts if self._care is not None else None

    def attach(self, spark: SparkSession, write: Callable[[KnownEvent], None]) -> None:
        """Begin to look after the executors of a session.

        Those that are there count at once: the query's first batch makes them ready. Raises
        ConfigurationError where executors can't be asked for, or somebody else looks after them.
        """
        context = spark.sparkContext
        settings = ClusterSettings.of(context)
        settings.check(self._most)
        each = settings.slots_each(self._cores_per_executor)
        bounds = ExecutorBounds.within(self._least, self._most, each)
        self._claim(context)
        try:
            ledger = ExecutorLedger(bounds)
            view, patience = ClusterView(context), self._patience_seconds
            care = ExecutorCare(
                view,
                ledger,
                write,
                patience,
                (lambda done: Warming(spark, view, done, patience)) if self._warm else None,
            )
            care.start(settings.initial_executors)
        except BaseException:
            self._disclaim()
            raise
        self._care, self._bounds = care, bounds

    def ask(self, slots: int) -> None:
        """Have this many slots as soon as the cluster can; returns at once."""
        if self._care is not None:
            self._care.ask(slots)

    def available(self, context: SparkContext) -> int:
        """Return the slots of executors that are there, ready and to stay; at least 1."""
        return self._care.available() if self._care is not None else 1

    def detach(self) -> None:
        """Stop looking after the executors; ask for as many as the session had by itself."""
        care, self._care = self._care, None
        if care is not None:
            try:
                care.stop()
            finally:
                self._disclaim()

    def _claim(self, context: SparkContext) -> None:
        """Two that ask for executors in one application would undo each other's requests."""
        with _claiming:
            if self._context is not None or context in _looked_after:
                raise ConfigurationError(
                    "the executors of this application are already looked after, by the "
                    "ExecutorSlots of another query or of ps.autoscale. Give each query an "
                    "application of its own, or run this one with LocalSlots: it then uses the "
                    "executors that there are."
                )
            _looked_after.add(context)
            self._context = context

    def _disclaim(self) -> None:
        with _claiming:
            if self._context is not None:
                _looked_after.discard(self._context)
            self._context = None


def _is_count(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 1
