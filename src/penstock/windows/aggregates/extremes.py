"""The smallest and the largest value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.windows.aggregates.base import (
    Part,
    Recipe,
    Setting,
    WindowAggregate,
    check_expression,
)


@dataclass(frozen=True, slots=True, eq=False)
class Minimum(WindowAggregate):
    """The smallest value that is not null."""

    function: ClassVar[str] = "min"
    column: Any

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        name = self.function
        check_expression(self.column, f"the column of {name}", f"{name}('rate')")

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of an extreme, which is its own merge."""
        name = self.function
        part = Part(name, f"{name}({{x}})", f"{name}({{{name}}})")
        return Recipe((part,), f"{{{name}}}", f"{name}({{x}})")


@dataclass(frozen=True, slots=True, eq=False)
class Maximum(Minimum):
    """The largest value that is not null."""

    function: ClassVar[str] = "max"


def min(column: Any, *, where: Any = None) -> Minimum:
    """Return the smallest value of a column: any type that Spark can order.

    >>> min("rate").describe()
    'min(rate)'
    """
    return Minimum(column, where=where)


def max(column: Any, *, where: Any = None) -> Maximum:
    """Return the largest value of a column: any type that Spark can order. NaN is the largest.

    >>> max("rate", where="rate < 1000").describe()
    "max(rate, where='rate < 1000')"
    """
    return Maximum(column, where=where)
