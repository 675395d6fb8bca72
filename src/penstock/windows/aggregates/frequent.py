"""The values that come most often, by a sketch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import ConfigurationError
from penstock.windows.aggregates.base import (
    Part,
    Recipe,
    Setting,
    WindowAggregate,
    check_expression,
    check_whole,
    refuse_shares,
)
from penstock.windows.aggregates.types import FLOATING

MAX_TRACKED = 1_000_000
# Most often first; equally often in the order of the values, so that the answer is always the same.
_ORDER = (
    "(a, b) -> CASE WHEN a.count > b.count THEN -1 WHEN a.count < b.count THEN 1 "
    "WHEN a.item < b.item THEN -1 WHEN a.item > b.item THEN 1 ELSE 0 END"
)


@dataclass(frozen=True, slots=True, eq=False)
class Frequent(WindowAggregate):
    """The k most frequent values and how often they come."""

    function: ClassVar[str] = "frequent"
    column: Any
    k: int
    tracked: int = 1_000

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        check_expression(self.column, "the column of frequent", "frequent('page', 10)")
        check_whole(self.tracked, "tracked", "frequent('page', 10, tracked=1000)", MAX_TRACKED)
        check_whole(self.k, "the k of frequent", "frequent('page', 10)", MAX_TRACKED)
        if self.k > self.tracked:
            raise ConfigurationError(
                f"frequent is asked for {self.k:,} values and tracks {self.tracked:,}. Write "
                f"frequent(..., tracked={self.k * 10}), or a smaller k."
            )

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of a frequent-items sketch."""
        refuse_shares(self, setting)
        value, size = _same_zero(setting.types["x"]), self.tracked
        known = " FILTER (WHERE {x} IS NOT NULL)"
        part = Part(
            "items",
            f"approx_top_k_accumulate({value}, {size}){known}",
            f"approx_top_k_combine({{items}}, {size})",
        )
        every = f"approx_top_k_estimate({{items}}, {size})"
        finish = f"slice(array_sort({every}, {_ORDER}), 1, {self.k})"
        return Recipe((part,), finish, f"approx_top_k({value}, {self.k}, {size}){known}")


def frequent(column: Any, k: int, *, tracked: int = 1_000, where: Any = None) -> Frequent:
    """Return the ``k`` most frequent values as an array of (item, count), most frequent first.

    Of values that come equally often the smaller is first; nulls are left out. Exact as long as
    there are at most ``tracked`` different values; beyond, values that come rarely may be missing
    and counts too high.

    >>> frequent("page", 10).describe()
    'frequent(page, k=10)'
    """
    return Frequent(column, k, tracked, where=where)


def _same_zero(type_name: str) -> str:
    """Make 0.0 of -0.0: the sketch tells them apart, and Spark does not anywhere else."""
    return f"{{x}} + cast(0 AS {type_name})" if type_name in FLOATING else "{x}"
