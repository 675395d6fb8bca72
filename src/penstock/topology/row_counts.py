"""Where rows must be counted, and what the counts say about every operator.

Python operators count their rows as they go. A projection keeps its rows, so its count is its
input's. Only where nothing else tells does Spark have to count, which costs time for every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.topology.dag import Topology
from penstock.topology.operators import DeadLetters, PythonOperator, Union


@dataclass(frozen=True, slots=True)
class PythonCount:
    """Rows that a Python operator took, gave and failed on."""

    rows_in: int
    rows_out: int
    failed: int = 0


def counted_by_spark(topology: Topology) -> frozenset[str]:
    """Name the operators whose output only Spark can count."""
    groups = _groups(topology)
    return frozenset(
        leader
        for leader, members in groups.items()
        if not any(_counted_otherwise(topology, name) for name in members)
    )


def rows_out(
    topology: Topology, python: Mapping[str, PythonCount], spark: Mapping[str, int]
) -> dict[str, int]:
    """Return the rows that came out of every operator.

    ``python`` and ``spark`` are the counts of the Python operators and of those that
    ``counted_by_spark`` names; a count that is missing is taken as 0.
    """
    counts: dict[str, int] = {}
    for leader, members in _groups(topology).items():
        count = _count(topology, leader, members, python, spark, counts)
        counts.update(dict.fromkeys(members, count))
    return counts


def rows_in(topology: Topology, out: Mapping[str, int], name: str) -> int:
    """Return the rows that went into an operator; for a source, those that it gave."""
    operator = topology[name]
    if isinstance(operator, DeadLetters) or not operator.inputs:
        return out[name]
    return sum(out[each] for each in operator.inputs)


def rows_received(
    topology: Topology, python: Mapping[str, PythonCount], name: str
) -> tuple[int, ...]:
    """Return what came from each input where that is not all it puts out; otherwise nothing."""
    operator = topology[name]
    if not isinstance(operator, DeadLetters):
        return ()
    return tuple(python[each].failed if each in python else 0 for each in operator.inputs)


def _groups(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Group operators whose outputs have equally many rows, by the first of each group."""
    leader: dict[str, str] = {}
    for operator in topology:
        same = operator.keeps_rows and len(operator.inputs) == 1
        leader[operator.name] = leader[operator.inputs[0]] if same else operator.name
    return {
        name: tuple(each for each in leader if leader[each] == name)
        for name in dict.fromkeys(leader.values())
    }


def _counted_otherwise(topology: Topology, name: str) -> bool:
    operator = topology[name]
    return isinstance(operator, PythonOperator | DeadLetters | Union) or any(
        isinstance(consumer, PythonOperator) for consumer in topology.consumers[name]
    )


def _count(
    topology: Topology,
    leader: str,
    members: tuple[str, ...],
    python: Mapping[str, PythonCount],
    spark: Mapping[str, int],
    known: Mapping[str, int],
) -> int:
    operator = topology[leader]
    if isinstance(operator, PythonOperator):
        return python[leader].rows_out if leader in python else 0
    if isinstance(operator, DeadLetters):
        return sum(python[name].failed for name in operator.inputs if name in python)
    for name in members:
        for consumer in topology.consumers[name]:
            if consumer.name in python:
                return python[consumer.name].rows_in
    if isinstance(operator, Union):
        return sum(known[name] for name in operator.inputs)
    return spark.get(leader, 0)
