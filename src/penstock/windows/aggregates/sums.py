"""Sums and averages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.windows.aggregates.base import (
    Part,
    Recipe,
    Setting,
    UnsuitableColumn,
    WindowAggregate,
    check_expression,
)
from penstock.windows.aggregates.counts import SIGNED_SUM_OF, SUM_OF, count_part
from penstock.windows.aggregates.types import (
    ADDED_AS_DOUBLE,
    MAX_DIGITS,
    SMALL_WHOLE,
    WHOLE,
    decimal_digits,
    is_interval,
    is_number,
)

_COUNT = count_part("n", "count({x})")
_WEIGHT = Part("weight", "sum(if({x} IS NULL, NULL, {share}))", "sum({weight})")
_WEIGHED = Part("total", "sum(cast({x} AS double) * {share})", "sum({total})")


@dataclass(frozen=True, slots=True, eq=False)
class Sum(WindowAggregate):
    """The sum of the values that are not null; null where there is none."""

    function: ClassVar[str] = "sum"
    column: Any

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        check_expression(self.column, "the column of sum", "sum('rate')")

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of a sum, which has an inverse where adding up is exact."""
        kind = _addable(self, setting)
        if setting.is_shared:
            return Recipe((_WEIGHED,), "{total}", "sum(cast({x} AS double) * {share})")
        decimal = decimal_digits(kind)
        if decimal:
            parts = (_decimal_sum(decimal), _COUNT)
            return Recipe(parts, "if({n} > 0, {total}, NULL)", "sum({x})")
        if kind in WHOLE and setting.keeps_inverse:
            # Zero is left when all is taken away again; the count tells it from no value.
            return Recipe((_WHOLE_SUM, _COUNT), "if({n} > 0, {total}, NULL)", "sum({x})")
        return Recipe((Part("total", "sum({x})", "sum({total})"),), "{total}", "sum({x})")


def sum(column: Any, *, where: Any = None) -> Sum:
    """Add up a column.

    >>> sum("price * pieces").describe()
    'sum(price * pieces)'
    """
    return Sum(column, where=where)


@dataclass(frozen=True, slots=True, eq=False)
class Average(WindowAggregate):
    """The mean of the values that are not null; null where there is none."""

    function: ClassVar[str] = "avg"
    column: Any

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        check_expression(self.column, "the column of avg", "avg('rate')")

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of a sum and a count."""
        kind = _addable(self, setting)
        if setting.is_shared:
            mean = "if({weight} > 0, {total} / {weight}, NULL)"
            native = (
                "try_divide(sum(cast({x} AS double) * {share}), "
                "sum(if({x} IS NULL, NULL, {share})))"
            )
            return Recipe((_WEIGHED, _WEIGHT), mean, native)
        decimal = decimal_digits(kind)
        if decimal:
            return Recipe((_decimal_sum(decimal), _COUNT), _decimal_mean(decimal), "avg({x})")
        if kind in SMALL_WHOLE:
            total = _WHOLE_SUM
        elif is_interval(kind):
            total = Part("total", "sum({x})", "sum({total})")
        else:
            total = Part("total", "sum(cast({x} AS double))", "sum({total})")
        return Recipe((total, _COUNT), "if({n} > 0, {total} / {n}, NULL)", "avg({x})")


def avg(column: Any, *, where: Any = None) -> Average:
    """Return the mean of a column.

    >>> avg("rate").describe()
    'avg(rate)'
    """
    return Average(column, where=where)


_WHOLE_SUM = Part("total", "sum({x})", SUM_OF % "total", SIGNED_SUM_OF % ("total", "total"))


def _addable(aggregate: Sum | Average, setting: Setting) -> str:
    kind, name = setting.types["x"], aggregate.function
    if kind == "boolean":
        raise UnsuitableColumn(
            f"{aggregate.describe()} is over a boolean, which can't be added up",
            f"To count the rows where it is true, write count(where={aggregate.column!r}).",
        )
    interval = is_interval(kind) and not setting.is_shared
    if kind not in WHOLE and kind not in ADDED_AS_DOUBLE and not is_number(kind) and not interval:
        raise UnsuitableColumn(
            f"{aggregate.describe()} is over a column of type {kind}",
            f"Write {name} of a number, such as {name}('cast(... AS double)').",
        )
    return kind


def _decimal_sum(digits: tuple[int, int]) -> Part:
    """Return a sum of decimals that keeps Spark's type, and is null for good once it overflowed.

    So it has an inverse only where there is room for ten digits more, and it can't overflow.
    """
    kind = f"decimal({min(MAX_DIGITS, digits[0] + 10)},{digits[1]})"
    overflowed = "count_if({total} IS NULL AND {n} > 0) > 0"

    def merged(sum_of: str) -> str:
        return f"if({overflowed}, NULL, cast({sum_of} AS {kind}))"

    return Part(
        "total",
        "sum({x})",
        merged(SUM_OF % "total"),
        merged(SIGNED_SUM_OF % ("total", "total")) if digits[0] + 10 <= MAX_DIGITS else None,
    )


def _decimal_mean(digits: tuple[int, int]) -> str:
    """Divide in two steps: Spark's plain division gives up digits after the point too early.

    First the whole multiple of the count, then the remainder, which is small.
    """
    whole, scale = digits[0] - digits[1], digits[1]
    kind = f"decimal({min(MAX_DIGITS, digits[0] + 4)},{min(MAX_DIGITS, scale + 4)})"
    count = "cast({n} AS decimal(12,0))"
    rest = f"cast({{total}} % {count} AS decimal({min(MAX_DIGITS, 12 + scale)},{scale}))"
    quotient = f"cast(({{total}} - {rest}) / {count} AS decimal({max(1, whole)},0))"
    return f"if({{n}} > 0, cast({quotient} + {rest} / {count} AS {kind}), NULL)"
