"""All keyed operators of a query, and the states of their keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark import SparkContext

from penstock.engine.commit_log import CommitRecord
from penstock.engine.compiled_batch import Plan
from penstock.engine.compiled_step import orders_property
from penstock.engine.keyed_operator import KeyedOperator
from penstock.engine.keyed_rows import Route
from penstock.engine.keyed_state import KeyedState
from penstock.engine.python_step import Tally
from penstock.engine.state_files import state_directory
from penstock.journal.events import KnownEvent
from penstock.placement.key_groups import KeyGroups
from penstock.placement.placement import Placement
from penstock.sinks.filesystem import HadoopFiles
from penstock.topology.dag import Topology


class KeyedStates:
    """Gives every batch its routes and orders, and hands what it leaves to the commit log."""

    def __init__(
        self,
        topology: Topology,
        files: HadoopFiles,
        checkpoint: str,
        record: CommitRecord | None,
        placement: Placement,
    ) -> None:
        rule = placement if isinstance(placement, KeyGroups) else KeyGroups()
        states = record.keyed if record else {}
        self.operators = {
            operator.name: KeyedOperator(
                operator,
                files,
                state_directory(checkpoint, operator.name),
                states.get(operator.name),
                rule,
            )
            for operator in topology.processes
        }
        self.routes: dict[str, Route] = {}

    def begin(self, context: SparkContext, batch_id: int, plan: Plan) -> None:
        """Say who owns which key group in a batch, and send it along with every task."""
        for name, operator in self.operators.items():
            tasks, low = plan.tasks[name], plan.lows.get(name)
            self.routes[name], orders = operator.begin(batch_id, tasks, low)
            context.setLocalProperty(orders_property(name), orders.to_json())

    def absorb(self, tallies: Mapping[str, Sequence[Tally]]) -> None:
        """Take in what the tasks of the batch told."""
        for name, operator in self.operators.items():
            operator.absorb(tallies.get(name, ()))

    def states(self) -> dict[str, KeyedState]:
        """Return what the batch leaves for the next one."""
        return {name: operator.next_state for name, operator in self.operators.items()}

    def has_committed(self, batch_id: int) -> None:
        """Adopt what the batch made of the states, now that it is committed."""
        for operator in self.operators.values():
            operator.committed(batch_id)

    def events(self, batch_id: int) -> Iterator[KnownEvent]:
        """Yield what the journal should know of the batch."""
        for operator in self.operators.values():
            yield from operator.events(batch_id)
