"""Checks what users say of columns that are kept, of cardinalities, and of components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import TopologyError
from penstock.topology.operators import Consolidate, Operator, PythonOperator
from penstock.topology.schema import Schema


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


def check_component(name: str, operator: Operator) -> None:
    """Raise where an operator has no component to choose: its rows come as they come."""
    if not isinstance(operator, PythonOperator | Consolidate):
        raise TopologyError(
            operator.name,
            f"a {operator.kind} runs where its rows are, so it can't be put into '{name}'",
            "Say .component(...) of a map, map_batches, process or aggregate.",
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
