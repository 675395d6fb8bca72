"""What every operator will have to take in, from what comes into the topology.

AutoScale+ carries forecasts down the whole DAG (equations 3 to 5), PSPS what its sources sent
(equations 2 to 4). Both begin at the operators without a parent, in whatever order they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import ceil
from typing import Literal

from penstock.errors import ConfigurationError

Combine = Literal["max", "min"]


@dataclass(frozen=True, slots=True)
class Node:
    """An operator and, by parent, how many rows it gets per row that the parent takes in.

    >>> Node("score", {"parse": 0.7}).shares["parse"]
    0.7
    """

    name: str
    shares: Mapping[str, float] = field(default_factory=dict)


def estimate_inputs(
    nodes: Iterable[Node],
    own: Mapping[str, float],
    pending: Mapping[str, float] | None = None,
    combine: Combine = "max",
) -> dict[str, float]:
    """Estimate the rows that each operator will have to process (AutoScale+, equations 4 and 5).

    ``own`` is what an operator's own history makes expect (EstimR, equation 3), ``pending`` the
    rows that wait at it already. An operator with parents takes the ``combine`` of its own estimate
    and of what its parents will put out; with no estimate of its own it goes by its parents. An
    operator without parents goes by its own. Rows that wait reach the operators below as well,
    whichever estimate is taken; while they do, these operators' own histories tell what was held
    back above rather than what comes, and don't count. The result is in topological order.

    >>> nodes = [Node("score", {"parse": 0.5}), Node("parse")]
    >>> estimate_inputs(nodes, {"parse": 100.0, "score": 30.0}, pending={"parse": 20.0})
    {'parse': 120.0, 'score': 60.0}
    >>> estimate_inputs(nodes, {"parse": 100.0, "score": 30.0}, combine="min")
    {'parse': 100.0, 'score': 30.0}
    """
    if combine not in ("max", "min"):
        raise ConfigurationError(
            f"combine={combine!r} is no way to combine two estimates. "
            "Write combine='max' (cautious) or combine='min' (sparing)."
        )
    choose = max if combine == "max" else min
    waiting = pending or {}
    coming: dict[str, float] = {}
    backlog: dict[str, float] = {}
    for node in in_order(nodes):
        expected = own.get(node.name)
        upstream = sum(backlog[each] * share for each, share in node.shares.items())
        if node.shares:
            from_parents = sum(coming[each] * share for each, share in node.shares.items())
            held_back = expected is None or upstream > 0
            expected = from_parents if held_back else choose(expected or 0.0, from_parents)
        coming[node.name] = expected or 0.0
        backlog[node.name] = upstream + waiting.get(node.name, 0.0)
    return {name: rows + backlog[name] for name, rows in coming.items()}


def thetas(nodes: Iterable[Node]) -> dict[str, float]:
    """Return the share of the topology's input that reaches each operator (PSPS, equation 2b).

    It is 1 for an operator without parents. Fig. 5 of the paper:

    >>> fork = [Node("1"), Node("2", {"1": 0.7}), Node("3", {"1": 0.3})]
    >>> round(thetas([*fork, Node("4", {"2": 0.4, "3": 1.0})])["4"], 2)
    0.58
    """
    reached: dict[str, float] = {}
    for node in in_order(nodes):
        reached[node.name] = (
            sum(reached[each] * share for each, share in node.shares.items())
            if node.shares
            else 1.0
        )
    return reached


def replica_inputs(
    nodes: Iterable[Node], received: float, queued: Mapping[str, float] | None = None
) -> dict[str, int]:
    """Predict the rows of each operator in the next interval (PSPS, equations 2a, 3 and 4).

    ``received`` is what the sources sent in the last interval, ``queued`` the rows that wait at
    each operator. Rows are whole: every prediction is rounded up. Table II of the paper:

    >>> nodes = [Node("1"), Node("2", {"1": 117 / 140}), Node("3", {"2": 90 / 120})]
    >>> replica_inputs(nodes, 100, {"2": 7, "3": 20})
    {'1': 100, '2': 91, '3': 83}
    """
    waiting = queued or {}
    return {
        name: ceil(received * theta - _ROUNDING) + ceil(waiting.get(name, 0.0))
        for name, theta in thetas(nodes).items()
    }


# Products of shares are off by some 1e-16; a row more for that would be wrong.
_ROUNDING = 1e-9


def in_order(nodes: Iterable[Node]) -> Sequence[Node]:
    """Return the nodes so that parents come before their children, whatever order they come in."""
    by_name = {node.name: node for node in nodes}
    seen: set[str] = set()
    ordered = True
    for node in by_name.values():
        for parent in node.shares:
            ordered = ordered and parent in seen
            if parent not in by_name:
                raise ConfigurationError(
                    f"operator '{node.name}' reads '{parent}', which is not among the operators "
                    f"{', '.join(sorted(by_name))}. Add a Node for it, or leave the share out."
                )
        seen.add(node.name)
    if ordered:  # as observations mostly are; with thousands of operators sorting takes long
        return list(by_name.values())
    graph = {node.name: list(node.shares) for node in by_name.values()}
    try:
        return [by_name[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        raise ConfigurationError(
            f"operators feed each other in a circle: {' -> '.join(reversed(error.args[1]))}. "
            "A topology runs one way: leave one of these shares out."
        ) from error
