"""Which way rows go: the children of every source and operator, with their shares."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.simulation.topology import SimulatedTopology


@dataclass(frozen=True, slots=True)
class Route:
    """A child takes the rows that are drawn from ``low`` to ``low`` + ``share``, on a circle."""

    child: int
    low: float
    share: float


def routes(topology: SimulatedTopology) -> list[tuple[Route, ...]]:
    """Return the children of every source and then every operator; all are numbered so.

    >>> from penstock.simulation.laws import Constant
    >>> from penstock.simulation.topology import SimulatedOperator, SimulatedSource
    >>> left = SimulatedOperator("left", {"tweets": 0.75}, Constant(0.1))
    >>> right = SimulatedOperator("right", {"tweets": 0.25}, Constant(0.1))
    >>> routes(SimulatedTopology("fork", (SimulatedSource("tweets"),), (left, right)))[0]
    (Route(child=1, low=0.0, share=0.75), Route(child=2, low=0.75, share=0.25))
    """
    names = [each.name for each in topology.sources]
    names += [each.name for each in topology.operators]
    numbers = {name: number for number, name in enumerate(names)}
    found: list[list[Route]] = [[] for _ in names]
    for operator in topology.operators:
        for parent, share in operator.inputs.items():
            before = found[numbers[parent]]
            low = (before[-1].low + before[-1].share) % 1.0 if before else 0.0
            if share > 0:
                before.append(Route(numbers[operator.name], low, float(share)))
    return [tuple(each) for each in found]
