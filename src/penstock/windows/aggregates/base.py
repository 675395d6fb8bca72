"""What every aggregate is: parts of a state, and how they begin, merge and end, as Spark SQL text.

Nothing here touches Spark. A piece of SQL names what it needs in braces: ``{x}`` and other inputs
by the names that ``inputs`` gives them, ``{time}`` for the row's event time, ``{share}`` for the
share of a row that counts in a pane, ``{where}`` for the filter clause, ``{sign}`` for +1 or -1 of
a state to add or take away, and the aggregate's own parts by their names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Part:
    """One column of a state.

    ``partial`` makes it from rows, ``merge`` from states; both are aggregate expressions.
    ``subtract`` is ``merge`` for states of which some are taken away, where that is exact.
    """

    name: str
    partial: str
    merge: str
    subtract: str | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How Spark computes an aggregate in pieces.

    ``finish`` makes the result from a merged state. ``native`` is Spark's own aggregate of the
    same meaning, over rows: it says which type the result has.
    """

    parts: tuple[Part, ...]
    finish: str
    native: str

    @property
    def is_invertible(self) -> bool:
        """Whether states can be taken away again, exactly."""
        return all(part.subtract is not None for part in self.parts)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a recipe depends on besides the aggregate: the types of its inputs, and how rows count.

    ``is_shared``: rows count by their share in each pane. ``keeps_inverse``: the state is to hold
    what an inverse needs, where there is one.
    """

    types: Mapping[str, str]
    is_shared: bool = False
    keeps_inverse: bool = True


class UnsuitableColumn(Exception):
    """An aggregate can't be made of a column of this type, or not in this setting."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}. {remedy}")


@dataclass(frozen=True, slots=True, eq=False)
class WindowAggregate(ABC):
    """An aggregate over the rows of a window, as ``sum('v')`` and its like return it.

    Columns are SQL text or Spark Columns. With ``where``, only rows for which that condition is
    true count.
    """

    function: ClassVar[str]
    needs_time: ClassVar[bool] = False
    where: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.where is not None:
            check_expression(self.where, f"the filter of {self.function}", "where='a > 1'")

    def inputs(self) -> dict[str, Any]:
        """Return what is computed from each row, by the names that the recipe's SQL uses."""
        return {"x": getattr(self, "column")}  # noqa: B009 (only most members have a column)

    @abstractmethod
    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL for inputs of these types, or raise ``UnsuitableColumn``."""

    def describe(self) -> str:
        """Say the aggregate as it is written."""
        written = [_written(self, each.name) for each in fields(self) if each.name != "where"]
        filtered = [] if self.where is None else [f"where={self.where!r}"]
        return f"{self.function}({', '.join([text for text in written if text] + filtered)})"


def check_expression(value: Any, what: str, example: str) -> None:
    """Refuse what can't be an SQL expression or a Spark Column."""
    if isinstance(value, str):
        if value.strip():
            return
        problem = "is empty"
    elif value is None or isinstance(value, int | float | list | tuple | dict | set):
        problem = f"is {value!r}, neither SQL text nor a Column"
    else:
        return
    raise ConfigurationError(f"{what} {problem}. Write for example {example}.")


def check_whole(value: Any, what: str, example: str, at_most: int) -> None:
    """Refuse what is not a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= at_most:
        raise ConfigurationError(
            f"{what} is {value!r}, not a whole number from 1 to {at_most:,}. "
            f"Write for example {example}."
        )


def refuse_shares(aggregate: WindowAggregate, setting: Setting) -> None:
    """Refuse rows that count in parts, where an aggregate can't weigh them."""
    if setting.is_shared:
        raise UnsuitableColumn(
            f"{aggregate.describe()} can't weigh rows, which spans='split' asks for",
            "Write spans='start', 'end' or 'each', or another aggregate: count, sum, avg, min, "
            "max, count_distinct, first or last.",
        )


def _written(aggregate: WindowAggregate, name: str) -> str:
    value = getattr(aggregate, name)
    default = next(each.default for each in fields(aggregate) if each.name == name)
    if value is default or (isinstance(value, int | float | str) and value == default):
        return ""
    return str(value) if name == "column" else f"{name}={value!r}"
