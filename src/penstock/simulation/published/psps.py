"""PSPS as its paper prints it: every operator its replicas, from what came and what waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from penstock.elasticity.observation import Observation
from penstock.elasticity.propagation import Node, replica_inputs
from penstock.errors import ConfigurationError
from penstock.simulation.topology import SimulatedTopology

# A replica more for what rounding adds to a whole number would be wrong.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PublishedPsps:
    """Equations 1 to 4: replicas for the rows of the last interval and those that wait.

    ``execution_seconds`` is et, by operator: the paper measures it once, in a benchmark before the
    application is deployed. The interval td is that of the observations. What an operator gets of
    each row that its parent processes (equation 2c) is measured in every interval, and held where
    the parent processed nothing. With several sources, their rows count together (equation 2a
    knows one input), by the share of it that each sent.

    >>> from penstock.elasticity.observation import OperatorObservation, SourceObservation
    >>> policy = PublishedPsps({"parse": 0.01})
    >>> parse = OperatorObservation("parse", 900, 900, 9.0, 1, 9.0, 9.0,
    ...     inputs=("tweets",), waiting_rows=100, received_rows=(1_000,))
    >>> tweets = SourceObservation("tweets", 1_000)
    >>> policy.plan(Observation(0, 10.0, 10.0, 10.0, 1, (parse,), (tweets,)))
    {'parse': 2}
    """

    execution_seconds: Mapping[str, float]
    _shares: dict[tuple[str, str], float] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def knowing(cls, topology: SimulatedTopology, execution_factor: float = 1.0) -> PublishedPsps:
        """Return the policy whose benchmark found the mean times, times a factor."""
        means = topology.row_seconds()
        return cls({name: seconds * execution_factor for name, seconds in means.items()})

    def plan(self, seen: Observation) -> Mapping[str, int]:
        """Return the replicas of the next interval (equation 1, rounded up)."""
        for each in seen.operators:
            if each.name not in self.execution_seconds:
                raise ConfigurationError(
                    f"PublishedPsps doesn't know how long a row takes in '{each.name}'. "
                    "Give its execution_seconds."
                )
        nodes = self._nodes(seen)
        waiting = {each.name: float(each.waiting_rows) for each in seen.operators}
        rows = replica_inputs(nodes, seen.rows_in, waiting)
        interval = seen.batch_seconds
        return {
            each.name: max(
                1, ceil(rows[each.name] * self.execution_seconds[each.name] / interval - _ROUNDING)
            )
            for each in seen.operators
        }

    def _nodes(self, seen: Observation) -> list[Node]:
        """Return what each operator got of each parent's rows; sources are one input together."""
        processed = {each.name: each.rows_in for each in seen.operators}
        sources = {each.name for each in seen.sources}
        nodes = [Node(_INPUT)]
        for each in seen.operators:
            shares: dict[str, float] = {}
            for parent, rows in zip(each.inputs, each.received_rows, strict=True):
                of = seen.rows_in if parent in sources else processed[parent]
                known = self._shares.get((each.name, parent), 0.0)
                share = self._shares[each.name, parent] = rows / of if of else known
                name = _INPUT if parent in sources else parent
                shares[name] = shares.get(name, 0.0) + share
            nodes.append(Node(each.name, shares))
        return nodes


_INPUT = ""
"""All sources together, under a name that no operator has."""
