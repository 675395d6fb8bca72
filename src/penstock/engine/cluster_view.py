"""The executors of a Spark application, seen and steered through the driver's JVM."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from penstock.engine.executors import Executor

_DRIVER = "driver"


class ClusterView:
    """Asks Spark's scheduler which executors there are, for more of them, and to let some go.

    The calls are those that Spark's own dynamic allocation makes, the same for all cluster
    managers. Each may wait for the cluster manager: none of them belongs in a batch's way.
    """

    def __init__(self, context: SparkContext) -> None:
        jvm: Any = context._jvm
        java: Any = context._jsc
        self._spark: Any = java.sc()
        self._backend: Any = self._spark.schedulerBackend()
        self._store: Any = self._spark.statusStore()
        self._tracker: Any = self._spark.statusTracker()
        self._collections: Any = jvm.org.apache.spark.api.python.PythonUtils
        # One text instead of a call for each field of each executor.
        self._json: Any = jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
        self._task_cores = int(context.getConf().get("spark.task.cpus", "1") or 1)

    @property
    def is_stopped(self) -> bool:
        """Whether the Spark context has ended, or Spark is gone altogether."""
        try:
            return bool(self._spark.isStopped())
        except (Py4JError, OSError):
            return True

    def executors(self) -> dict[str, Executor]:
        """Return the executors that are registered with the driver now, by id."""
        # The scheduler knows at once who is there; the store, a moment later, what they do.
        registered = self.registered()
        told = json.loads(self._json.writeValueAsString(self._store.executorList(True)))
        return {
            each["id"]: Executor(
                id=each["id"],
                host=each["hostPort"].rsplit(":", 1)[0],
                slots=max(1, each["totalCores"] // self._task_cores),
                running_tasks=each["activeTasks"],
                cached_blocks=each["rddBlocks"],
            )
            for each in told
            if each["id"] in registered and each["id"] != _DRIVER
        }

    def registered(self) -> Set[str]:
        """Return the ids of the executors that are registered, which asks for no more than that."""
        return set(_split(self._backend.getExecutorIds().mkString(",")))

    def cached_blocks(self) -> Mapping[str, Set[str]]:
        """Return, for each block of cached data, the executors that hold it."""
        told = json.loads(self._json.writeValueAsString(self._store.rddList(True)))
        return {
            part["blockName"]: set(part["executors"])
            for cached in told
            for part in cached.get("partitions") or ()
        }

    def runs_jobs(self) -> bool:
        """Whether any Spark job is running."""
        return len(self._tracker.getActiveJobIds()) > 0

    def request(self, executors: int) -> bool:
        """Ask the cluster manager to have so many executors in all; say whether it took it."""
        local_tasks, by_host = 0, self._collections.toScalaMap({})
        return bool(self._spark.requestTotalExecutors(executors, local_tasks, by_host))

    def release(self, executor_ids: Iterable[str]) -> tuple[str, ...]:
        """Let executors go, those apart that run a task; return which are going.

        Spark looks at their tasks and closes them to new ones in one step.
        """
        ids = self._collections.toSeq(list(executor_ids))
        adjust_target, count_failures, force = False, False, False
        going = self._backend.killExecutors(ids, adjust_target, count_failures, force)
        return _split(going.mkString(","))

    def ran_on(self, tag: str) -> tuple[str, ...]:
        """Return the executor of each task that ended well in the jobs under a tag."""
        stages: list[int] = []
        for job_id in self._tracker.getJobIdsForTag(tag):
            info = self._tracker.getJobInfo(job_id)
            if info.isDefined():
                stages += list(info.get().stageIds())
        return tuple(executor for stage in stages for executor in self._tasks_of(stage))

    def _tasks_of(self, stage_id: int) -> Sequence[str]:
        tasks = self._store.taskList(stage_id, 0, 1_000)
        told = json.loads(self._json.writeValueAsString(tasks))
        return [task["executorId"] for task in told if task["status"] == "SUCCESS"]


def _split(text: str) -> tuple[str, ...]:
    return tuple(each for each in text.split(",") if each)
