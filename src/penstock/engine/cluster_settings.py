"""What the settings of a Spark application mean for executors that come and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark import SparkContext

from penstock.errors import ConfigurationError
from penstock.shipping import is_local

_DYNAMIC = "spark.dynamicAllocation.enabled"
_EXECUTOR_CORES = "spark.executor.cores"
_MOST_CORES = "spark.cores.max"
# With which YARN and Kubernetes begin where nothing is said.
_SPARKS_OWN_INSTANCES = "2"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The master and the settings of an application."""

    master: str
    conf: Mapping[str, str]

    @classmethod
    def of(cls, context: SparkContext) -> ClusterSettings:
        """Read those of a running application."""
        return cls(str(context.master), dict(context.getConf().getAll()))

    def check(self, most_slots: int) -> None:
        """Refuse an application in which executors can't be asked for, saying what to set."""
        if is_local(self.master):
            raise ConfigurationError(
                "ExecutorSlots asks a cluster for executors, and this session's master is "
                f"{self.master}. Use LocalSlots here, or a session on a cluster (spark://..., "
                "yarn, k8s://...)."
            )
        if self.conf.get(_DYNAMIC, "false").lower() == "true":
            raise ConfigurationError(
                f"{_DYNAMIC} is true: Spark would take back the executors that ExecutorSlots asks "
                f"for. Start the session with .config('{_DYNAMIC}', 'false')."
            )
        limit = self.conf.get(_MOST_CORES) if self._is_standalone else None
        if limit is not None and int(limit) < most_slots * self._task_cores:
            raise ConfigurationError(
                f"{_MOST_CORES} is {limit}, and ExecutorSlots(max={most_slots}) asks for more. "
                f"Raise {_MOST_CORES}, leave it out, or write a smaller max."
            )

    def slots_each(self, cores_per_executor: int | None) -> int:
        """Return how many tasks an executor runs at once, by Spark's settings or the user's word.

        >>> yarn = ClusterSettings("yarn", {"spark.executor.cores": "8", "spark.task.cpus": "2"})
        >>> yarn.slots_each(cores_per_executor=None)
        4
        """
        told = self.conf.get(_EXECUTOR_CORES)
        if told is not None and cores_per_executor not in (None, int(told)):
            raise ConfigurationError(
                f"cores_per_executor={cores_per_executor}, but {_EXECUTOR_CORES} is {told}, which "
                "is what counts. Leave cores_per_executor out."
            )
        if told is None and cores_per_executor is None and self._is_standalone:
            raise ConfigurationError(
                f"{_EXECUTOR_CORES} is not set: an executor would take all cores of its worker. "
                f"Start the session with .config('{_EXECUTOR_CORES}', '1'), or say how many a "
                "worker has with ExecutorSlots(cores_per_executor=...)."
            )
        cores = int(told) if told is not None else cores_per_executor or 1
        return max(1, cores // self._task_cores)

    @property
    def initial_executors(self) -> int | None:
        """How many executors the application begins with; None where it takes all there are."""
        # A standalone cluster gives all that its workers have, whatever the setting says.
        if self._is_standalone:
            return None
        return int(self.conf.get("spark.executor.instances", _SPARKS_OWN_INSTANCES))

    @property
    def _task_cores(self) -> int:
        return int(self.conf.get("spark.task.cpus", "1"))

    @property
    def _is_standalone(self) -> bool:
        return self.master.startswith(("spark://", "local-cluster"))
