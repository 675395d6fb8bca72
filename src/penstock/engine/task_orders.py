"""What a task of a keyed operator has to know of its batch.

The step itself is made once for all batches; this travels in a local property of Spark's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from uuid import uuid4

from penstock.engine.state_manifest import Manifest


@dataclass(frozen=True, slots=True)
class Orders:
    """What changes from batch to batch for a step that is made once.

    ``timers`` are, for every group, a time before which no timer of it comes. ``owners`` are the
    tasks of the groups, of ``tasks`` there are, where rows are already with their key when they
    come: no row then says which groups have timers, and the task, whose number is ``task``, has to
    know.
    """

    batch: int
    watermark_micros: int | None
    manifest: Manifest
    timers: tuple[int | None, ...]
    owners: tuple[int, ...] | None = None
    tasks: int = 1
    task: int = 0

    def to_json(self) -> str:
        """Write them as JSON."""
        document = {
            "batch": self.batch,
            "watermark": self.watermark_micros,
            "files": self.manifest.to_json(),
            "timers": self.timers,
            "owners": self.owners,
            "tasks": self.tasks,
        }
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Orders:
        """Read what ``to_json`` wrote."""
        document = json.loads(text)
        manifest = Manifest.from_json(document["files"])
        owners = document["owners"]
        return cls(
            document["batch"],
            document["watermark"],
            manifest,
            tuple(document["timers"]),
            None if owners is None else tuple(owners),
            document["tasks"],
        )

    def is_due(self, group: int) -> bool:
        """Whether timers of a group may have come."""
        timer = self.timers[group]
        mark = self.watermark_micros
        return timer is not None and mark is not None and timer <= mark

    @property
    def due_here(self) -> list[int]:
        """The groups of this task of which timers may have come, where it has to know by itself."""
        owners = self.owners or ()
        return [g for g, owner in enumerate(owners) if owner == self.task and self.is_due(g)]


@dataclass(frozen=True, slots=True)
class OrdersOfTask:
    """Reads the orders where a task runs; travels to the workers with the step."""

    property: str

    def __call__(self) -> tuple[Orders, int]:
        """Return the orders, and a number that no other attempt of any task has."""
        from pyspark import TaskContext

        context = TaskContext.get()
        text = context.getLocalProperty(self.property) if context is not None else None
        if context is None or text is None:
            raise RuntimeError("the task came without the orders of its batch")
        orders = Orders.from_json(text)
        # In a union of the same rows, some older and some newer, Spark goes on counting. Where a
        # task has rows, those say which one it is.
        task = context.partitionId() % orders.tasks
        # Spark counts attempts from 0 again after a restart, when one of before may still be at it.
        return replace(orders, task=task), uuid4().int >> 64
