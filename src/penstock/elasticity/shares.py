"""How many rows an operator gets per row that its parent takes in, learnt batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.elasticity.observation import Observation
from penstock.elasticity.propagation import Node

MEMORY = 0.7

Flow = tuple[float, float]  # rows that a parent took in, and what became of them


class Shares:
    """Learns the shares of every edge of the topology from what was observed.

    All rows that a parent puts out go to each of its children, so a share is the parent's rows out
    per row in (PSPS's equation 2c, AutoScale+'s mean selectivity). A child that says what it
    received from each parent gets other rows than those, and so a share of its own: dead letters
    are the rows that a parent did not put out. Old batches count ``memory`` times less with every
    new one, rows and not batches being averaged. A parent that got no rows says nothing new: its
    shares are held. Before a parent got any, its share is 1.

    >>> from penstock.elasticity.observation import OperatorObservation
    >>> parse = OperatorObservation("parse", 200, 50, 0.1, 2, 0.06, 0.05)
    >>> score = OperatorObservation("score", 50, 50, 0.1, 2, 0.06, 0.05, inputs=("parse",))
    >>> shares = Shares()
    >>> shares.observe(Observation(0, 1.0, 0.5, None, slots=2, operators=(parse, score)))
    >>> shares.nodes()
    (Node(name='parse', shares={}), Node(name='score', shares={'parse': 0.25}))
    >>> failed = OperatorObservation(
    ...     "failed", 2, 2, 0.1, 2, 0.06, 0.05, inputs=("parse",), received_rows=(2,)
    ... )
    >>> shares.observe(Observation(1, 2.0, 0.5, None, slots=2, operators=(parse, failed)))
    >>> shares.nodes()[1]
    Node(name='failed', shares={'parse': 0.01})
    """

    def __init__(self, memory: float = MEMORY) -> None:
        self._memory = memory
        self._rows: dict[str, Flow] = {}
        self._received: dict[str, dict[str, Flow]] = {}  # by child and parent
        self._inputs: dict[str, tuple[str, ...]] = {}
        self._nodes: tuple[Node, ...] | None = None  # asked for several times between two batches

    def observe(self, observation: Observation) -> None:
        """Take in a batch; operators that it does not name are forgotten."""
        names = {operator.name for operator in observation.operators}
        if not names:
            return
        self._nodes = None
        self._inputs = {
            # What was read but not observed can't be carried on: the reader counts as a source.
            operator.name: tuple(each for each in operator.inputs if each in names)
            for operator in observation.operators
        }
        self._rows = {name: sums for name, sums in self._rows.items() if name in names}
        for operator in observation.operators:
            if operator.rows_in > 0:
                self._rows[operator.name] = self._with(
                    self._rows.get(operator.name), operator.rows_in, operator.rows_out
                )
        self._received = self._received_since(observation)

    def share(self, parent: str, child: str | None = None) -> float:
        """Return the rows that ``child``, or any, gets per row that ``parent`` takes in."""
        own = self._received.get(child, {}).get(parent) if child is not None else None
        came, went = own or self._rows.get(parent, (1.0, 1.0))
        return went / came

    def _received_since(self, observation: Observation) -> dict[str, dict[str, Flow]]:
        """Return what those children got of each parent that say so."""
        came = {operator.name: operator.rows_in for operator in observation.operators}
        received = {}
        for child in observation.operators:
            known = self._received.get(child.name, {})
            flows = {}
            for parent, rows in zip(child.inputs, child.received_rows, strict=False):
                if came.get(parent, 0) > 0:
                    flows[parent] = self._with(known.get(parent), came[parent], rows)
                elif parent in known and parent in came:
                    flows[parent] = known[parent]
            if flows:
                received[child.name] = flows
        return received

    def _with(self, known: Flow | None, came: float, went: float) -> Flow:
        old_came, old_went = known or (0.0, 0.0)
        return self._memory * old_came + came, self._memory * old_went + went

    def nodes(self) -> tuple[Node, ...]:
        """Return the topology with what was learnt, as ``estimate_inputs`` takes it."""
        if self._nodes is None:
            self._nodes = tuple(
                Node(name, {parent: self.share(parent, name) for parent in parents})
                for name, parents in self._inputs.items()
            )
        return self._nodes

    def save(self) -> dict[str, Any]:
        """Return all that was learnt, in what JSON knows."""
        return {
            "rows": {name: list(sums) for name, sums in self._rows.items()},
            "inputs": {name: list(parents) for name, parents in self._inputs.items()},
            "received": {
                child: {parent: list(flow) for parent, flow in flows.items()}
                for child, flows in self._received.items()
            },
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        try:
            rows = {str(name): _pair(sums) for name, sums in state["rows"].items()}
            inputs = {str(name): tuple(map(str, each)) for name, each in state["inputs"].items()}
            received = {
                str(child): {str(parent): _pair(flow) for parent, flow in flows.items()}
                for child, flows in state.get("received", {}).items()
            }
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"no saved shares: {error!r}") from error
        self._rows, self._inputs, self._received, self._nodes = rows, inputs, received, None


def _pair(sums: Iterable[float]) -> Flow:
    came, went = sums
    return float(came), float(went)
