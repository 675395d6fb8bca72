"""Columns and their types, as text, so that the topology needs no Spark to reason about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its type as Spark writes it, and whether it may be null."""

    name: str
    type: str
    nullable: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream, in order.

    >>> schema = Schema((Column("user", "string"), Column("ts", "timestamp")))
    >>> "ts" in schema, schema.names
    (True, ('user', 'ts'))
    """

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def type_of(self, name: str) -> str | None:
        """Return a column's type, or None where there is no such column."""
        return next((column.type for column in self.columns if column.name == name), None)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __str__(self) -> str:
        return ", ".join(str(column) for column in self.columns)


def union_problem(left: Schema, right: Schema) -> str | None:
    """Say why two streams cannot be united by column name, or None where they can.

    >>> a = Schema((Column("x", "int"), Column("y", "string")))
    >>> union_problem(a, Schema((Column("y", "string"), Column("x", "bigint"))))
    "column 'x' is int on one side and bigint on the other"
    >>> union_problem(a, Schema((Column("x", "int"),)))
    "column 'y' is on one side only"
    """
    for name in (*left.names, *right.names):
        here, there = left.type_of(name), right.type_of(name)
        if here is None or there is None:
            return f"column '{name}' is on one side only"
        if here != there:
            return f"column '{name}' is {here} on one side and {there} on the other"
    return None
