"""What Spark's own bookkeeping says about the stages of a job: tasks and their run time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

_MILLIS = 1_000.0
_NANOS = 1e9
_SETTLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class JobTimes:
    """The stages of one planned job, taken together.

    ``run_seconds`` sums the tasks' run time over all stages, ``cpu_seconds`` the time for which
    they had a core in the JVM; ``tasks``, ``skew`` (the slowest
    task's time over the mean) are those of the stage with the most run time. ``exchanged_rows`` is
    what the last stage that exchanged rows handed on.
    """

    spark_jobs: int = 0
    run_seconds: float = 0.0
    tasks: int = 0
    skew: float = 1.0
    exchanged_rows: int = 0
    cpu_seconds: float = 0.0


class StageTimes:
    """Reads Spark's status store, which is there with or without its web page."""

    def __init__(self, context: SparkContext) -> None:
        gateway: Any = context._gateway
        java: Any = context._jsc
        self._spark: Any = java.sc()
        self._store: Any = self._spark.statusStore()
        self._tracker: Any = self._spark.statusTracker()
        self._slowest: Any = gateway.new_array(gateway.jvm.double, 1)
        self._slowest[0] = 1.0
        self._queues = _queues_of_bookkeeping(self._spark.listenerBus())

    def of(self, tag: str) -> JobTimes:
        """Return the times of all Spark jobs that ran under a tag."""
        return self._together(list(self._tracker.getJobIdsForTag(tag)))

    def of_group(self, group: str, since_seconds: float, until_seconds: float) -> JobTimes:
        """Return the times of a group's Spark jobs that began between two times (epoch)."""
        job_ids = []
        # The newest first: a long-lived group has hundreds of jobs, of which few are wanted.
        for job_id in sorted(self._tracker.getJobIdsForGroup(group), reverse=True):
            began = self._began_seconds(job_id)
            if began is not None and began < since_seconds:
                break
            if began is not None and began <= until_seconds:
                job_ids.append(job_id)
        return self._together(sorted(job_ids))

    def _began_seconds(self, job_id: int) -> float | None:
        try:
            submitted = self._store.job(job_id).submissionTime()
        except Py4JJavaError:  # long forgotten
            return None
        return submitted.get().getTime() / _MILLIS if submitted.isDefined() else None

    def _together(self, job_ids: list[int]) -> JobTimes:
        stages = []
        for job_id in job_ids:
            info = self._tracker.getJobInfo(job_id)
            if info.isDefined():
                stages += [self._stage(stage_id) for stage_id in sorted(info.get().stageIds())]
        ran = [stage for stage in stages if stage is not None]
        if not ran:
            return JobTimes(spark_jobs=len(job_ids))
        longest = max(ran, key=lambda stage: stage.run_seconds)
        return JobTimes(
            spark_jobs=len(job_ids),
            run_seconds=sum(stage.run_seconds for stage in ran),
            tasks=longest.tasks,
            skew=longest.skew,
            exchanged_rows=next((s.exchanged_rows for s in reversed(ran) if s.exchanged_rows), 0),
            cpu_seconds=sum(stage.cpu_seconds for stage in ran),
        )

    def _stage(self, stage_id: int) -> JobTimes | None:
        try:
            data = self._store.lastStageAttempt(stage_id)
        except Py4JJavaError:  # a stage that was skipped, or is long forgotten
            return None
        tasks, run_millis = data.numCompleteTasks(), data.executorRunTime()
        if tasks == 0:
            return None
        skew = 1.0
        if tasks > 1 and run_millis > 0:
            summary = self._store.taskSummary(stage_id, data.attemptId(), self._slowest)
            if summary.isDefined():
                slowest = summary.get().executorRunTime().apply(0)
                skew = max(1.0, float(slowest) * tasks / run_millis)
        return JobTimes(
            run_seconds=run_millis / _MILLIS,
            tasks=tasks,
            skew=skew,
            exchanged_rows=int(data.shuffleWriteRecords()),
            cpu_seconds=data.executorCpuTime() / _NANOS,
        )

    def settle(self, most_seconds: float = _SETTLE_SECONDS) -> bool:
        """Wait until Spark has booked everything that has already run; say whether it has.

        Only the queues of the status store and of observations are waited for: a slow listener of
        the user's, which has a queue of its own, must not slow a batch.
        """
        deadline = int((time.time() + most_seconds) * _MILLIS)
        return all(bool(queue.waitUntilEmpty(deadline)) for queue in self._queues)


def _queues_of_bookkeeping(bus: Any) -> list[Any]:
    field = bus.getClass().getDeclaredField("queues")
    field.setAccessible(True)
    queues = list(field.get(bus))
    return [queue for queue in queues if str(queue.name()) in ("appStatus", "shared")]
