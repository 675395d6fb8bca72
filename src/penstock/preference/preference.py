"""What a user prefers: which columns, which way, and what a missing number counts as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from penstock.arguments import is_one_of, listed, shown
from penstock.errors import TopologyError

Missing = Literal["refuse", "last"]
Dominates = Callable[[Any, Any], bool]
"""Whether the first of two rows, each an array of its numbers, is preferred to the second."""

MOST_COLUMNS = 16


@dataclass(frozen=True, slots=True)
class Preference:
    """Smaller is better in ``minimize``, larger in ``maximize``.

    ``missing`` says what a null or NaN in one of them is: an error ("refuse"), or worse than every
    number ("last"). ``dominates`` is the user's own preference in the place of Pareto's: a function
    of two arrays, each with a row's numbers in the order of ``columns``, as they are in the row.
    It has to be transitive, and no row may dominate one that dominates it.

    >>> Preference(minimize=("price",), maximize=("rating",)).columns
    ('price', 'rating')
    """

    minimize: tuple[str, ...] = ()
    maximize: tuple[str, ...] = ()
    missing: Missing = "refuse"
    dominates: Dominates | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are compared, in the order of the numbers of a point."""
        return (*self.minimize, *self.maximize)

    @property
    def is_maximized(self) -> tuple[bool, ...]:
        """For each of ``columns``, whether larger is better."""
        return (*(False for _ in self.minimize), *(True for _ in self.maximize))

    @classmethod
    def checked(
        cls,
        label: str,
        minimize: str | Sequence[str] = (),
        maximize: str | Sequence[str] = (),
        missing: Missing = "refuse",
        dominates: Dominates | None = None,
    ) -> Preference:
        """Check what a user wrote for the operator ``label``; raise ``TopologyError``."""
        made = cls(listed(minimize), listed(maximize), missing, dominates)
        columns = made.columns
        if not columns or not all(isinstance(each, str) and each for each in columns):
            raise TopologyError(
                label,
                "no column says what is better" if not columns else f"columns are {shown(columns)}",
                "Name columns by text, for example minimize=['price'], maximize=['rating'].",
            )
        twice = sorted({each for each in columns if columns.count(each) > 1})
        if twice:
            raise TopologyError(
                label,
                f"column '{twice[0]}' is given twice",
                "Name each column once, in minimize or in maximize.",
            )
        if len(columns) > MOST_COLUMNS:
            raise TopologyError(
                label,
                f"{len(columns)} columns are compared, and {MOST_COLUMNS} is the most",
                "With so many, almost no row is better than another: compare those that matter.",
            )
        if not is_one_of(missing, ("refuse", "last")):
            raise TopologyError(
                label, f"missing is {shown(missing)}", "Write missing='refuse' or missing='last'."
            )
        if dominates is not None and not callable(dominates):
            raise TopologyError(
                label,
                f"dominates is a {type(dominates).__name__}",
                "Give a function of two arrays that returns whether the first is preferred.",
            )
        return made if dominates is None else made._compiled(label, dominates)

    def _compiled(self, label: str, dominates: Dominates) -> Preference:
        from penstock.preference.own_dominance import compiled_dominance  # brings Numba along

        return replace(self, dominates=compiled_dominance(label, dominates, len(self.columns)))
