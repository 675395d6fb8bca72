"""The largest values, and the values that go with the largest of another column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.windows.aggregates.base import (
    Part,
    Recipe,
    Setting,
    WindowAggregate,
    check_expression,
    check_whole,
    refuse_shares,
)

MAX_KEPT = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class TopK(WindowAggregate):
    """The k largest values, or the values with the k largest of another column."""

    function: ClassVar[str] = "top_k"
    column: Any
    k: int
    by: Any = None

    def __post_init__(self) -> None:
        WindowAggregate.__post_init__(self)
        check_expression(self.column, "the column of top_k", "top_k('rate', 3)")
        check_whole(self.k, "the k of top_k", "top_k('rate', 3)", MAX_KEPT)
        if self.by is not None:
            check_expression(self.by, "the order of top_k", "top_k('user', 3, by='rate')")

    def inputs(self) -> dict[str, Any]:
        """Return the values, and what they are ordered by."""
        return {"x": self.column} if self.by is None else {"x": self.column, "by": self.by}

    def recipe(self, setting: Setting) -> Recipe:
        """Return the SQL of arrays of at most k, largest first; equal ones in the order of x."""
        refuse_shares(self, setting)
        if self.by is None:
            entry, kept = "{x}", "{x} IS NOT NULL"
            finish = "{top}"
        else:
            entry, kept = "struct({by} AS by, {x} AS value)", "{by} IS NOT NULL"
            finish = "transform({top}, entry -> entry.value)"
        # max_by keeps no more than k at a time; it has to be told how to order equal ones.
        best = f"max_by({entry}, {entry}, {self.k}) FILTER (WHERE {kept})"
        partial = f"coalesce({best}, array())"
        largest = f"slice(sort_array(flatten(collect_list({{top}})), false), 1, {self.k})"
        every = f"sort_array(collect_list({entry}) FILTER (WHERE {kept}), false)"
        native = finish.replace("{top}", f"slice({every}, 1, {self.k})")
        return Recipe((Part("top", partial, largest),), finish, native)


def top_k(column: Any, k: int, *, by: Any = None, where: Any = None) -> TopK:
    """Return the ``k`` largest values as an array, largest first; fewer where there are fewer.

    With ``by``, the values in the rows with the ``k`` largest ``by``. Among equal ``by`` the larger
    value comes first, so the answer never depends on the order of arrival. Nulls in the column
    that orders are left out. The same value may be there several times.

    >>> top_k("user", 3, by="rate").describe()
    "top_k(user, k=3, by='rate')"
    """
    return TopK(column, k, by, where=where)
