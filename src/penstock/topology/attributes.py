"""Partition attributes: the columns on which the rows of an operator may be shared out.

Enorm's PA(O), section 4.3. A row function may be given any row anywhere: all attributes. A keyed
operator needs the rows of a key together: its keys. A global aggregate needs all rows together:
none. Attributes are known by where they come from, so that a renamed column is still the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod

from penstock.topology.dag import Topology
from penstock.topology.operators import (
    Compute,
    Consolidate,
    Filter,
    LateRows,
    Operator,
    Output,
    Process,
)


@dataclass(frozen=True, slots=True, order=True)
class Attribute:
    """A column, by the operator that made it and the name that it gave it."""

    origin: str
    column: str

    def __str__(self) -> str:
        return self.column


class Lineage:
    """Where the columns of a topology come from."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._outputs: dict[str, Mapping[str, Attribute]] = {}
        for operator in topology:
            self._outputs[operator.name] = self._made(operator)

    def outputs(self, operator: str) -> Mapping[str, Attribute]:
        """Return the attributes of an operator's rows by the names of their columns."""
        return self._outputs[operator]

    def inputs(self, operator: str) -> Mapping[str, Attribute]:
        """Return the attributes of the rows that go into an operator, by their columns.

        Those of a source, and of an operator that reads several streams, are what comes out.
        """
        reads = self._topology[operator].inputs
        return self._outputs[reads[0] if len(reads) == 1 else operator]

    def columns(self, operator: str, attributes: Iterable[Attribute]) -> tuple[str, ...] | None:
        """Name the columns of what goes into an operator that hold some attributes.

        None where one of them is not there.
        """
        at_hand = {attribute: column for column, attribute in self.inputs(operator).items()}
        found = [at_hand.get(attribute) for attribute in sorted(attributes)]
        return None if None in found else tuple(column for column in found if column is not None)

    @cached_property
    def cardinalities(self) -> Mapping[Attribute, int]:
        """How many values attributes have, as far as the user said so."""
        return {
            self._outputs[operator.name][column]: values
            for operator in self._topology
            for column, values in operator.cardinalities.items()
            if column in self._outputs[operator.name]
        }

    def cardinality(self, attributes: Iterable[Attribute]) -> float:
        """Return how many partitions some attributes make at most: PA^c, infinite where unknown."""
        return prod((self.cardinalities.get(each, inf) for each in attributes), start=1.0)

    def _made(self, operator: Operator) -> dict[str, Attribute]:
        before = self._outputs[operator.inputs[0]] if len(operator.inputs) == 1 else {}
        kept = _kept(operator, self._topology)
        return {
            column: before.get(kept.get(column, ""), Attribute(operator.name, column))
            for column in operator.schema.names
        }


def keys_of(operator: Operator, topology: Topology) -> tuple[str, ...] | None:
    """Return the columns whose values must stay together; None where no rows must."""
    if isinstance(operator, Compute | Process):
        return operator.keys
    if isinstance(operator, Consolidate):
        compute = topology[operator.inputs[0]]
        assert isinstance(compute, Compute)
        return compute.keys
    return None


def _kept(operator: Operator, topology: Topology) -> Mapping[str, str]:
    """Return the columns that come out as they went in, by the name they come out with."""
    if isinstance(operator, Filter | LateRows | Output):
        return {name: name for name in operator.schema.names}
    if isinstance(operator, Compute | Consolidate):
        keys = keys_of(operator, topology) or ()
        return {name: name for name in keys}
    return operator.kept
