"""Shapes every micro-batch by the newest decision, within the slots that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pyspark import SparkContext

from penstock.elasticity.observation import Observation
from penstock.engine.commit_log import CommitRecord
from penstock.engine.compiled_batch import Plan
from penstock.engine.control_loop import ControlLoop, Remembered
from penstock.engine.setting import Setting
from penstock.engine.slots import ElasticSlots, local_cores
from penstock.engine.windowing import Watermarks
from penstock.journal.control_file import WatchedControl
from penstock.journal.events import KnownEvent
from penstock.topology.components import Component
from penstock.topology.dag import Topology


class Planning:
    """Plans micro-batches; ``shaping`` is the decision that shapes the one that runs."""

    def __init__(
        self,
        context: SparkContext,
        setting: Setting,
        topology: Topology,
        write: Callable[[KnownEvent], None],
        record: CommitRecord | None,
        watched: WatchedControl | None = None,
    ) -> None:
        self._context = context
        self._setting = setting
        self._computes = [compute.name for compute in topology.computes]
        self._cores = local_cores(context)
        self.loop = ControlLoop(
            setting.policy,
            setting.slots,
            write,
            self.frame(batch_id=-1, batch_seconds=0.0),
            Remembered(record.decision, record.policy) if record else None,
            watched,
        )
        self.shaping = self.loop.decision

    @property
    def slots_in_use(self) -> int:
        """How many slots the plan for the next batch uses."""
        return min(self.loop.decision.slots, self.available())

    def plan(
        self, marks: Watermarks, components: Iterable[Component], pinned: Mapping[str, int]
    ) -> Plan:
        """Return how the next batch runs: with executors lost or won since the decision.

        ``pinned`` components have as many tasks as somebody asked for.
        """
        self.loop.look_at_control()
        available, decision = self.available(), self.loop.decision
        self.shaping, tasks = decision, {}
        for component in components:
            if component.runs_python:
                named = [decision.tasks.get(op.name) for op in component.operators]
                wanted = max([n for n in named if n is not None], default=decision.slots)
                wanted = pinned.get(component.name, wanted)
                tasks[component.name] = min(wanted, available, component.most_tasks or available)
        panes = {name: self.tasks_of(name) for name in self._computes}
        return Plan(tasks, marks.marks, marks.lows, min(decision.slots, available), panes)

    def tasks_of(self, operator: str) -> int:
        """Return how many tasks an operator has in the batch that runs: as decided, or all."""
        wanted = self.shaping.tasks.get(operator, self.shaping.slots)
        return max(1, min(wanted, self.available()))

    def frame(
        self, batch_id: int, batch_seconds: float, used_slots: int | None = None
    ) -> Observation:
        """Return an observation with all but what the operators did."""
        slots, available = self._setting.slots, self.available()
        return Observation(
            batch_id=batch_id,
            at_seconds=self._setting.clock(),
            batch_seconds=batch_seconds,
            trigger_seconds=self._setting.trigger_seconds,
            slots=available,
            used_slots=used_slots,
            most_slots=slots.most if isinstance(slots, ElasticSlots) else available,
            cores=self._cores,
        )

    def close(self) -> None:
        """End the policy's thread, and leave the slots to themselves."""
        self.loop.close()
        if isinstance(self._setting.slots, ElasticSlots):
            self._setting.slots.detach()

    def available(self) -> int:
        """Return how many slots there are now."""
        return self._setting.slots.available(self._context)
