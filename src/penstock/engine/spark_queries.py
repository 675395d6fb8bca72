"""What Spark knows of a streaming query that somebody else started."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.elasticity.query_progress import QueryProgress, TaskTimes
from penstock.engine.stage_times import StageTimes

_PROCESSING_TIME = re.compile(r"ProcessingTimeTrigger\((\d+)\)")

# A decision that comes late is worth less than one by a few tasks too few.
_SETTLE_SECONDS = 2.0


class SparkQueries:
    """Asks Spark about the queries of a session. Not quick: for a thread that nobody waits for."""

    def __init__(self, spark: SparkSession) -> None:
        self._streams: Any = spark.streams._jsqm
        self._times = StageTimes(spark.sparkContext)

    def trigger(self, run_id: str) -> tuple[bool, float | None]:
        """Say whether a query's trigger is known, and how many seconds it is; None: always."""
        try:
            for query in self._streams.active():
                if str(query.runId().toString()) == run_id:
                    execution = query.streamingQuery()
                    found = _PROCESSING_TIME.match(str(execution.trigger().toString()))
                    return True, int(found.group(1)) / 1_000 or None if found else None
        except (Py4JError, TypeError):  # it has no such thing, or Spark is gone
            pass
        return False, None

    def settle(self) -> None:
        """Let Spark book all that has run so far; waits for up to 2 seconds."""
        with suppress(Py4JError):
            self._times.settle(_SETTLE_SECONDS)

    def task_times(self, progress: QueryProgress) -> TaskTimes | None:
        """Return what the tasks of a micro-batch took; None where Spark can't say.

        Spark runs the jobs of a query in a group that has the name of its run. ``settle`` first, or
        the last tasks may be missing.
        """
        if not progress.ran_batch:
            return None
        try:
            end = progress.started_seconds + progress.batch_seconds
            jobs = self._times.of_group(progress.run_id, progress.started_seconds, end)
        except Py4JError:
            return None
        if not jobs.tasks:
            return None
        mean = jobs.run_seconds / jobs.tasks
        return TaskTimes(jobs.run_seconds, jobs.tasks, mean * jobs.skew, jobs.spark_jobs)
