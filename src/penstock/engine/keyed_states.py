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
from penstock.topology.components import Components, owner_of_groups
from penstock.topology.dag import Topology
from penstock.topology.operators import Operator, Process


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
        self._led: dict[str, list[KeyedOperator]] = {}

    def begin(
        self, context: SparkContext, batch_id: int, plan: Plan, components: Components
    ) -> None:
        """Say who owns which key group in a batch, and send it along with every task.

        In a component the key groups of its first keyed operator serve all.
        """
        self._led = {}
        for component in components:
            keyed = [self.operators[op.name] for op in component.operators if _is_keyed(op)]
            if not keyed:
                continue
            leader, *others = keyed
            leader.lead(plan.tasks[component.name])
            for other in others:
                other.follow(leader)
            self._led[leader.operator.name] = keyed
            entering = component.steps[0] if _is_keyed(component.entrance) else ()
            at_entrance = {operator.name for operator in entering}
            due: set[int] = set()
            for each in keyed:
                name = each.operator.name
                low = plan.lows.get(name)
                orders = each.orders(batch_id, low, knows_owners=name not in at_entrance)
                context.setLocalProperty(orders_property(name), orders.to_json())
                due |= each.due(low) if name in at_entrance else set()
            self.routes[component.name] = Route(leader.table, due)

    @property
    def state_bytes(self) -> dict[str, int]:
        """How large the states of each operator's keys are."""
        return {name: each.next_state.manifest.bytes for name, each in self.operators.items()}

    def rebalance(self, component: str, components: Components) -> None:
        """Share the key groups of a component out anew, before its next batch."""
        keyed = owner_of_groups(components[component])
        if keyed is not None:
            self.operators[keyed.name].rebalance()

    def absorb(self, tallies: Mapping[str, Sequence[Tally]]) -> None:
        """Take in what the tasks of the batch told."""
        for keyed in self._led.values():
            loads: dict[int, float] = {}
            for each in keyed:
                for group, load in each.absorb(tallies.get(each.operator.name, ())).items():
                    loads[group] = loads.get(group, 0.0) + load
            keyed[0].balance(loads)

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


def _is_keyed(operator: Operator) -> bool:
    return isinstance(operator, Process)
