"""Aggregates that follow event time: the first and last value, and all of them in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.windows.aggregates.base import (
    Part,
    Recipe,
    Setting,
    WindowAggregate,
    check_expression,
    refuse_shares,
)

_ENTRY = "struct({time} AS time, {x} AS value)"


@dataclass(frozen=True, slots=True, eq=False)
class First(WindowAggregate):
    """The value of the earliest row."""

    function: ClassVar[str] = "first"
    extreme: ClassVar[str] = "min"
    needs_time: ClassVar[bool] = True
    column: Any
    ignore_nulls: bool = False

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        name = self.function
        check_expression(self.column, f"the column of {name}", f"{name}('rate')")

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of the extreme of (time, value), which never depends on arrival."""
        kept = " FILTER (WHERE {x} IS NOT NULL)" if self.ignore_nulls else "{where}"
        entry = f"{self.extreme}({_ENTRY}){kept}"
        part = Part("entry", entry, f"{self.extreme}({{entry}})")
        return Recipe((part,), "{entry}.value", f"({entry}).value")


@dataclass(frozen=True, slots=True, eq=False)
class Last(First):
    """The value of the latest row."""

    function: ClassVar[str] = "last"
    extreme: ClassVar[str] = "max"


def first(column: Any, *, ignore_nulls: bool = False, where: Any = None) -> First:
    """Return the value in the row that is earliest by event time.

    Of rows of the same time, the one with the smallest value (null is the smallest).

    >>> first("rate", ignore_nulls=True).describe()
    'first(rate, ignore_nulls=True)'
    """
    return First(column, ignore_nulls, where=where)


def last(column: Any, *, ignore_nulls: bool = False, where: Any = None) -> Last:
    """Return the value in the row that is latest by event time.

    Of rows of the same time, the one with the largest value (null is the smallest).

    >>> last("rate").describe()
    'last(rate)'
    """
    return Last(column, ignore_nulls, where=where)


@dataclass(frozen=True, slots=True, eq=False)
class Collect(WindowAggregate):
    """All values, in the order of event time."""

    function: ClassVar[str] = "collect"
    needs_time: ClassVar[bool] = True
    column: Any

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        check_expression(self.column, "the column of collect", "collect('rate')")

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of arrays of (time, value), sorted at the end."""
        refuse_shares(self, setting)
        entries = f"collect_list({_ENTRY}) FILTER (WHERE {{x}} IS NOT NULL)"
        part = Part("entries", entries, "flatten(collect_list({entries}))")
        ordered = "transform(sort_array({entries}), entry -> entry.value)"
        return Recipe((part,), ordered, ordered.replace("{entries}", entries))


def collect(column: Any, *, where: Any = None) -> Collect:
    """Return all values as an array, in the order of event time, then of value; no nulls.

    >>> collect("page").describe()
    'collect(page)'
    """
    return Collect(column, where=where)
