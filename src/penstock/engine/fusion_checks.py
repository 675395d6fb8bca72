"""Checks what users say of columns that are kept, of cardinalities, and of components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import TopologyError
from penstock.topology.dag import NAMES, is_name
from penstock.topology.operators import Consolidate, Operator, PythonOperator
from penstock.topology.schema import Schema
from penstock.windows.aggregates.base import WindowAggregate


def kept(operator: str, before: Schema, after: Schema, given: Any) -> dict[str, str]:
    """Return the columns that come out as they went in; they must be there, with the same type."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, tuple | list):
        raise TopologyError(operator, f"keeps is {given!r}", "Write keeps=['area'].")
    for name in names:
        for schema, where in ((before, "goes in"), (after, "comes out")):
            if not isinstance(name, str) or name not in schema:
                raise TopologyError(
                    operator,
                    f"keeps {name!r}, which is no column of what {where}",
                    f"Columns there: {', '.join(schema.names)}.",
                )
        if before.type_of(name) != after.type_of(name):
            raise TopologyError(
                operator,
                f"keeps '{name}', which goes in as {before.type_of(name)} and comes out as "
                f"{after.type_of(name)}",
                "Declare it with the type that it has, or leave it out of keeps.",
            )
    return {name: name for name in names}


def cardinalities(operator: str, schema: Schema, given: Any) -> dict[str, int]:
    """Return how many values columns have; each must be a column, each number from 1 up."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TopologyError(operator, f"cardinality is {given!r}", "Write {'area': 50}.")
    for name, values in given.items():
        if not isinstance(name, str) or name not in schema:
            raise TopologyError(
                operator,
                f"cardinality of {name!r}, which is no column",
                f"Columns here: {', '.join(schema.names)}.",
            )
        if type(values) is not int or values < 1:
            raise TopologyError(
                operator,
                f"cardinality of '{name}' is {values!r}",
                "Write a whole number from 1 up: how many values it has.",
            )
    return dict(given)


def check_fuse(operator: str, fuse: object) -> None:
    """Raise unless this says whether an operator may be fused."""
    if isinstance(fuse, WindowAggregate):
        raise TopologyError(
            operator,
            f"fuse={fuse.describe()} is an aggregate, and 'fuse' says whether operators run "
            "together",
            "Give that column another name.",
        )
    if type(fuse) is not bool:
        raise TopologyError(operator, f"fuse is {fuse!r}", "Write fuse=False, or leave it out.")


def check_component(name: object, operator: Operator, readers: Sequence[str]) -> None:
    """Raise where an operator has no component to choose, or others know it as it is."""
    if not is_name(name):
        raise TopologyError(operator.name, f"{name!r} can't name a component", f"{NAMES}.")
    if not isinstance(operator, PythonOperator | Consolidate):
        raise TopologyError(
            operator.name,
            f"a {operator.kind} runs where its rows are, so it can't be put into '{name}'",
            "Say .component(...) of a map, map_batches, process or aggregate.",
        )
    if readers:
        raise TopologyError(
            operator.name,
            f"'{readers[0]}' already reads it, without the component '{name}'",
            "Say .component(...) before anything else of the stream, and go on from what it "
            "returns.",
        )


def kept_columns(before: DataFrame, after: DataFrame) -> dict[str, str]:
    """Return the columns of a projection that are columns of what it reads, by their new names."""
    plan: Any = after._jdf.queryExecution().analyzed()
    given = before._jdf.queryExecution().analyzed().output()
    known = {given.apply(i).exprId().id(): str(given.apply(i).name()) for i in range(given.size())}
    if plan.getClass().getSimpleName() != "Project":
        return {}
    columns = plan.projectList()
    found = {}
    for number in range(columns.size()):
        column = columns.apply(number)
        source = column
        if column.getClass().getSimpleName() == "Alias":
            source = column.child()
        if source.getClass().getSimpleName() == "AttributeReference":
            name = known.get(source.exprId().id())
            if name is not None:
                found[str(column.name())] = name
    return found
