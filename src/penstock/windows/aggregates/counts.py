"""Counts of rows and of distinct values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import ConfigurationError
from penstock.windows.aggregates.base import (
    Part,
    Recipe,
    Setting,
    WindowAggregate,
    check_expression,
)
from penstock.windows.aggregates.types import WHOLE

SUM_OF = "sum({%s})"
SIGNED_SUM_OF = "sum(if({sign} < 0, -{%s}, {%s}))"


def count_part(name: str, partial: str) -> Part:
    """Return a part that counts: counts add up, and can be taken away again."""
    return Part(name, partial, SUM_OF % name, SIGNED_SUM_OF % (name, name))


@dataclass(frozen=True, slots=True, eq=False)
class Count(WindowAggregate):
    """The number of rows, or of values that are not null."""

    function: ClassVar[str] = "count"
    column: Any = None

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        if self.column is not None:
            check_expression(self.column, "the column of count", "count() or count('user')")

    def inputs(self) -> dict[str, Any]:
        """Return the counted column, where there is one."""
        return {} if self._counts_rows else {"x": self.column}

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of a count; of rows that count in parts, the sum of their shares."""
        counted = "1" if self._counts_rows else "{x}"
        native = f"count({counted}){{where}}"
        if not setting.is_shared:
            return Recipe((count_part("n", native),), "coalesce({n}, 0L)", native)
        share = "{share}" if self._counts_rows else "if({x} IS NULL, NULL, {share})"
        part = Part("n", f"sum({share}){{where}}", "sum({n})")
        finish = "coalesce({n}, 0D)"
        return Recipe((part,), finish, f"coalesce(sum({share}){{where}}, 0D)")

    @property
    def _counts_rows(self) -> bool:
        return self.column is None or (isinstance(self.column, str) and self.column.strip() == "*")


def count(column: Any = None, *, where: Any = None) -> Count:
    """Count rows; or, given a column, the rows in which it is not null.

    >>> count(where="amount > 100").describe()
    "count(where='amount > 100')"
    """
    return Count(column, where=where)


@dataclass(frozen=True, slots=True, eq=False)
class CountDistinct(WindowAggregate):
    """The number of distinct values, exactly or by a sketch."""

    function: ClassVar[str] = "count_distinct"
    column: Any
    exact: bool = False
    error: float = 0.02

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        check_expression(self.column, "the column of count_distinct", "count_distinct('user')")
        registers_log2(self.error)

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of a HyperLogLog sketch, or of a set."""
        native = "count(DISTINCT {x})"
        if self.exact:
            part = Part(
                "values",
                "collect_set({x})",
                "array_distinct(flatten(collect_list({values})))",
            )
            return Recipe((part,), "cast(size({values}) AS bigint)", native)
        value = "cast({x} AS bigint)"
        if setting.types["x"] not in WHOLE:
            # The sketch takes only some types, and leaves out empty strings.
            value = "if({x} IS NULL, NULL, xxhash64({x}))"
        size = registers_log2(self.error)
        part = Part("sketch", f"hll_sketch_agg({value}, {size})", "hll_union_agg({sketch})")
        return Recipe((part,), "hll_sketch_estimate({sketch})", native)


def count_distinct(
    column: Any, *, exact: bool = False, error: float = 0.02, where: Any = None
) -> CountDistinct:
    """Count the distinct values of a column; nulls are left out.

    By default a HyperLogLog sketch of a few kilobytes, whose standard error is at most ``error``
    (a share, from 0.001 to 0.25); small sets are counted exactly. ``exact=True`` keeps every
    value.

    >>> count_distinct("user", error=0.01).describe()
    'count_distinct(user, error=0.01)'
    """
    return CountDistinct(column, exact, error, where=where)


def registers_log2(error: float) -> int:
    """Return the size of a HyperLogLog sketch whose standard error, 1.04 / sqrt(m), is this small.

    >>> registers_log2(0.02), registers_log2(0.01)
    (12, 14)
    """
    wrong = isinstance(error, bool) or not isinstance(error, int | float)
    if wrong or not 0.001 <= error <= 0.25:
        raise ConfigurationError(
            f"the error of count_distinct is {error!r}. Write a share from 0.001 to 0.25, like "
            f"error=0.02 for two percent, or exact=True."
        )
    return max(4, math.ceil(2 * math.log2(1.04 / error)))
