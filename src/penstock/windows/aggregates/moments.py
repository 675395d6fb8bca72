"""Variance and standard deviation, of a sample."""

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
    refuse_shares,
)
from penstock.windows.aggregates.types import is_number

_X = "cast({x} AS double)"
# Count, mean and squared distance from the mean: sums of squares would lose all digits of values
# that are large and close together.
_PARTIAL = (
    f"if(count({_X}) > 0, named_struct('n', cast(count({_X}) AS double), 'mean', avg({_X}), "
    f"'m2', var_pop({_X}) * count({_X})), NULL)"
)
# Chan, Golub and LeVeque's rule for the moments of two sets put together.
_MERGE = (
    "aggregate(collect_list({moments}), "
    "cast(NULL AS struct<n: double, mean: double, m2: double>), "
    "(a, b) -> if(a IS NULL, b, named_struct('n', a.n + b.n, "
    "'mean', a.mean + (b.mean - a.mean) * (b.n / (a.n + b.n)), "
    "'m2', a.m2 + b.m2 + (b.mean - a.mean) * (b.mean - a.mean) * (a.n * b.n / (a.n + b.n)))))"
)
_PART = Part("moments", _PARTIAL, _MERGE)
_VARIANCE = "{moments}.m2 / ({moments}.n - 1)"


@dataclass(frozen=True, slots=True, eq=False)
class Variance(WindowAggregate):
    """The variance of a sample; null for fewer than two values."""

    function: ClassVar[str] = "variance"
    column: Any

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        name = self.function
        check_expression(self.column, f"the column of {name}", f"{name}('rate')")

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of moments that merge stably."""
        self._check(setting)
        return Recipe((_PART,), f"if({{moments}}.n > 1, {_VARIANCE}, NULL)", "var_samp({x})")

    def _check(self, setting: Setting) -> None:
        refuse_shares(self, setting)
        if not is_number(setting.types["x"]):
            raise UnsuitableColumn(
                f"{self.describe()} is over a column of type {setting.types['x']}",
                f"Write {self.function} of a number.",
            )


@dataclass(frozen=True, slots=True, eq=False)
class StandardDeviation(Variance):
    """The square root of the variance."""

    function: ClassVar[str] = "stddev"

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of the variance's root."""
        self._check(setting)
        root = f"if({{moments}}.n > 1, sqrt({_VARIANCE}), NULL)"
        return Recipe((_PART,), root, "stddev_samp({x})")


def variance(column: Any, *, where: Any = None) -> Variance:
    """Return the variance of a column, as of a sample; null for fewer than two values.

    >>> variance("rate").describe()
    'variance(rate)'
    """
    return Variance(column, where=where)


def stddev(column: Any, *, where: Any = None) -> StandardDeviation:
    """Return the standard deviation of a column, as of a sample; null for fewer than two values.

    >>> stddev("rate").describe()
    'stddev(rate)'
    """
    return StandardDeviation(column, where=where)
