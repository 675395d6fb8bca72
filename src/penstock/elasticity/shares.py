"""How many rows an operator gets per row that its parent takes in, learnt batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.elasticity.observation import Observation
from penstock.elasticity.propagation import Node

MEMORY = 0.7


class Shares:
    """Learns the shares of every edge of the topology from what was observed.

    All rows that a parent puts out go to each of its children, so a share is the parent's rows out
    per row in (PSPS's equation 2c, AutoScale+'s mean selectivity). Old batches count ``memory``
    times less with every new one, rows and not batches being averaged. A parent that got no rows
    says nothing new: its shares are held. Before a parent got any, its share is 1.

    >>> from penstock.elasticity.observation import OperatorObservation
    >>> parse = OperatorObservation("parse", 200, 50, 0.1, 2, 0.06, 0.05)
    >>> score = OperatorObservation("score", 50, 50, 0.1, 2, 0.06, 0.05, inputs=("parse",))
    >>> shares = Shares()
    >>> shares.observe(Observation(0, 1.0, 0.5, None, slots=2, operators=(parse, score)))
    >>> shares.nodes()
    (Node(name='parse', shares={}), Node(name='score', shares={'parse': 0.25}))
    """

    def __init__(self, memory: float = MEMORY) -> None:
        self._memory = memory
        self._rows: dict[str, tuple[float, float]] = {}
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
                came, went = self._rows.get(operator.name, (0.0, 0.0))
                self._rows[operator.name] = (
                    self._memory * came + operator.rows_in,
                    self._memory * went + operator.rows_out,
                )

    def share(self, parent: str) -> float:
        """Return the rows that each child of ``parent`` gets per row that it takes in."""
        came, went = self._rows.get(parent, (1.0, 1.0))
        return went / came

    def nodes(self) -> tuple[Node, ...]:
        """Return the topology with what was learnt, as ``estimate_inputs`` takes it."""
        if self._nodes is None:
            self._nodes = tuple(
                Node(name, {parent: self.share(parent) for parent in parents})
                for name, parents in self._inputs.items()
            )
        return self._nodes

    def save(self) -> dict[str, Any]:
        """Return all that was learnt, in what JSON knows."""
        return {
            "rows": {name: list(sums) for name, sums in self._rows.items()},
            "inputs": {name: list(parents) for name, parents in self._inputs.items()},
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        try:
            rows = {str(name): _pair(sums) for name, sums in state["rows"].items()}
            inputs = {str(name): tuple(map(str, each)) for name, each in state["inputs"].items()}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"no saved shares: {error!r}") from error
        self._rows, self._inputs, self._nodes = rows, inputs, None


def _pair(sums: Iterable[float]) -> tuple[float, float]:
    came, went = sums
    return float(came), float(went)
