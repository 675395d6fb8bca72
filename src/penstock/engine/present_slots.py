"""The slots that a session has, counted and left alone."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import SparkContext

from penstock.engine.cluster_view import ClusterView
from penstock.engine.slots import LocalSlots
from penstock.shipping import is_local


@dataclass(frozen=True, slots=True)
class PresentSlots:
    """The cores of a local Spark, or of the executors that are there. Asks Spark each time."""

    def available(self, context: SparkContext) -> int:
        """Return how many slots there are."""
        if is_local(str(context.master)):
            return LocalSlots().available(context)
        return sum(executor.slots for executor in ClusterView(context).executors().values())
