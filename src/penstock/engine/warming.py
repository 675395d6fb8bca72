"""Makes new executors ready before they count: Python runs there, and has what steps need.

The first Python task on a fresh executor starts an interpreter, fetches this package and the user's
files and imports them, which takes seconds. A small job does that ahead of any batch, aside.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.engine.cluster_view import ClusterView
from penstock.engine.executors import Executor
from penstock.engine.pinning import pinned
from penstock.engine.warm_task import warm_task
from penstock.shipping import ship_package

# How many executors are made ready at the same time, each from a thread that mostly waits.
_AT_ONCE = 8
_TRY_AGAIN_SECONDS = 0.5
_BOOKED_WITHIN_SECONDS = 2.0
_MOST_FAILURES = 3
_STOP_WITHIN_SECONDS = 5.0
_TAG = "penstock-warm"

OnReady = Callable[[str, str | None], None]


class Warming:
    """Runs as many Python tasks on executors as they have slots, beside whatever else runs.

    An idle executor starts them all at once, each with an interpreter of its own. On one that is
    busy they may take turns in the slots that are free, so that it starts fewer interpreters.

    ``on_done`` is called, in a thread of its own, with the executor's id and with None, or with
    what kept it from being made ready within ``patience_seconds``.
    """

    def __init__(
        self,
        spark: SparkSession,
        view: ClusterView,
        on_done: OnReady,
        patience_seconds: float,
    ) -> None:
        self._spark = spark
        self._view = view
        self._on_done = on_done
        self._patience_seconds = patience_seconds
        self._tag = f"{_TAG}:{id(self)}"
        self._wanted: frozenset[str] = frozenset()
        self._threads: dict[str, threading.Thread] = {}
        self._turns = threading.BoundedSemaphore(_AT_ONCE)

    def make_ready(self, executors: Collection[Executor]) -> None:
        """Make these executors ready, and no others any more: they left, or were lost."""
        self._wanted = frozenset(executor.id for executor in executors)
        self._threads = {name: each for name, each in self._threads.items() if each.is_alive()}
        for executor in executors:
            if executor.id not in self._threads:
                ship_package(self._spark)
                thread = threading.Thread(
                    target=self._take_turn, args=(executor,), name="penstock-warm", daemon=True
                )
                self._threads[executor.id] = thread
                thread.start()

    def stop(self) -> None:
        """Break off what runs, and leave no thread."""
        self._wanted = frozenset()
        if not self._view.is_stopped:
            self._spark.sparkContext.cancelJobsWithTag(self._tag)
        for thread in self._threads.values():
            thread.join(_STOP_WITHIN_SECONDS)

    def _take_turn(self, executor: Executor) -> None:
        with self._turns:
            self._make_ready(executor)

    def _make_ready(self, executor: Executor) -> None:
        deadline = time.monotonic() + self._patience_seconds
        problem: str | None = None
        attempts = failures = 0
        while executor.id in self._wanted:
            attempts += 1
            try:
                problem = self._run_there(executor, f"{self._tag}:{executor.id}:{attempts}")
            except Exception as error:
                if self._view.is_stopped:
                    return
                failures += 1
                problem = f"{type(error).__name__}: {str(error)[:200]}"
            if problem is None or failures == _MOST_FAILURES or time.monotonic() > deadline:
                break
            time.sleep(_TRY_AGAIN_SECONDS)
        if executor.id in self._wanted:
            self._on_done(executor.id, problem)

    def _run_there(self, executor: Executor, tag: str) -> str | None:
        """Run as many tasks on an executor as it has slots; say what went wrong, or None."""
        context = self._spark.sparkContext
        context.addJobTag(self._tag)
        context.addJobTag(tag)
        try:
            rows = _pinned_rows(self._spark, executor)
            rows.mapInArrow(warm_task, "n bigint").write.format("noop").mode("overwrite").save()
        finally:
            context.clearJobTags()
        # Spark prefers the executor, but sends a task elsewhere if it stays busy for seconds.
        deadline = time.monotonic() + _BOOKED_WITHIN_SECONDS
        while len(ran := self._view.ran_on(tag)) < executor.slots and time.monotonic() < deadline:
            time.sleep(0.05)
        return what_is_missing(executor, ran)


def what_is_missing(executor: Executor, ran_on: Sequence[str]) -> str | None:
    """Say what an executor lacks to be ready, by where its tasks ran; None: it is ready.

    >>> what_is_missing(Executor("7", "host", slots=4), ran_on=["7", "3", "7", "7"])
    'it was busy, so that 1 of its 4 tasks ran elsewhere'
    """
    missing = executor.slots - ran_on.count(executor.id)
    if missing <= 0:
        return None
    return f"it was busy, so that {missing} of its {executor.slots} tasks ran elsewhere"


def _pinned_rows(spark: SparkSession, executor: Executor) -> DataFrame:
    """Return a row for each slot of an executor, in a partition that is best computed there."""
    jvm: Any = spark._jvm
    context: Any = spark.sparkContext
    empty = jvm.org.apache.spark.sql.RowFactory.create(context._gateway.new_array(jvm.Object, 1))
    rows = pinned(spark, empty, "org.apache.spark.sql.Row", [executor] * executor.slots)
    java: Any = spark
    schema = jvm.org.apache.spark.sql.types.StructType.fromDDL("n bigint")
    return DataFrame(java._jsparkSession.createDataFrame(rows, schema), spark)
