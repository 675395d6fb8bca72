"""Quantiles by a sketch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import ConfigurationError
from penstock.windows.aggregates.base import (
    Part,
    Recipe,
    Setting,
    UnsuitableColumn,
    WindowAggregate,
    check_expression,
    refuse_shares,
)
from penstock.windows.aggregates.types import ADDED_AS_DOUBLE, FLOATING, WHOLE, decimal_digits


@dataclass(frozen=True, slots=True, eq=False)
class Quantile(WindowAggregate):
    """Values below which a given share of the values lies."""

    function: ClassVar[str] = "quantile"
    column: Any
    q: float | tuple[float, ...]
    error: float = 0.01

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        check_expression(self.column, "the column of quantile", "quantile('rate', 0.99)")
        for each in self.q if isinstance(self.q, tuple) else (self.q,):
            _check_share(each)
        if self.q == ():
            raise ConfigurationError(
                "quantile names no share. Write for example quantile('rate', [0.5, 0.99])."
            )
        sketch_size(self.error)

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of a KLL sketch over whole numbers or doubles."""
        refuse_shares(self, setting)
        sketch, into, back = self._conversion(setting.types["x"])
        shares = [f"{each!r}D" for each in (self.q if isinstance(self.q, tuple) else (self.q,))]
        part = Part(
            "sketch",
            f"kll_sketch_agg_{sketch}({into}, {sketch_size(self.error)})",
            f"kll_merge_agg_{sketch}({{sketch}})",
        )
        quantiles = [f"kll_sketch_get_quantile_{sketch}({{sketch}}, {q})" for q in shares]
        converted = [back.format(value=f"({each})") for each in quantiles]
        many = isinstance(self.q, tuple)
        finish = f"array({', '.join(converted)})" if many else converted[0]
        asked = f"array({', '.join(shares)})" if many else shares[0]
        return Recipe(
            (part,),
            f"if(kll_sketch_get_n_{sketch}({{sketch}}) = 0, NULL, {finish})",
            f"approx_percentile({{x}}, {asked}, 10000)",
        )

    def _conversion(self, kind: str) -> tuple[str, str, str]:
        """Return the sketch for a type, and how values go in and come out."""
        if kind in WHOLE:
            return "bigint", "cast({x} AS bigint)", f"cast({{value}} AS {kind})"
        if kind in ADDED_AS_DOUBLE or decimal_digits(kind):
            back = kind if kind in FLOATING or decimal_digits(kind) else "double"
            return "double", "cast({x} AS double)", f"cast({{value}} AS {back})"
        if kind == "timestamp":
            return "bigint", "unix_micros({x})", "timestamp_micros({value})"
        if kind == "date":
            return (
                "bigint",
                "cast(unix_date({x}) AS bigint)",
                "date_from_unix_date(cast({value} AS int))",
            )
        raise UnsuitableColumn(
            f"{self.describe()} is over a column of type {kind}",
            "Write quantile of a number, a timestamp or a date.",
        )


def quantile(
    column: Any, q: float | Sequence[float], *, error: float = 0.01, where: Any = None
) -> Quantile:
    """Return the value at rank ``q`` (0.5: the median), or an array of them for several.

    The answer is one of the values, of the column's type; null where there are none. It comes from
    a KLL sketch: its rank is within ``error`` of ``q`` (99 times in 100; a share from 0.0005 to
    0.2), and exact while there are few values. Nulls and NaN are left out.

    >>> quantile("rate", [0.5, 0.99]).describe()
    'quantile(rate, q=(0.5, 0.99))'
    """
    many = isinstance(q, Sequence) and not isinstance(q, str)
    return Quantile(column, tuple(q) if many else q, error, where=where)  # type: ignore[arg-type]


def sketch_size(error: float) -> int:
    """Return the size k of a KLL sketch with a normalised rank error of 2.296 / k^0.9723.

    >>> sketch_size(0.0133), sketch_size(0.01)
    (200, 269)
    """
    wrong = isinstance(error, bool) or not isinstance(error, int | float)
    if wrong or not 0.0005 <= error <= 0.2:
        raise ConfigurationError(
            f"the error of quantile is {error!r}. Write a share from 0.0005 to 0.2, like "
            f"error=0.01 for one percent of the rank."
        )
    size: float = (2.296 / error) ** (1 / 0.9723)
    return max(8, math.ceil(size))


def _check_share(q: Any) -> None:
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise ConfigurationError(
            f"quantile is asked for {q!r}. Write shares from 0 to 1, like quantile('rate', 0.99) "
            f"or quantile('rate', [0.5, 0.99])."
        )
