"""What a placement is: the choice of the task for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Border:
    """What is known of the rows at the border before a component.

    ``partitions`` is None where Spark has not said yet. ``ordered`` says whether a partition that
    is computed again, after an executor was lost, gives its rows in the same order.
    """

    partitions: int | None
    tasks: int
    ordered: bool = True


@runtime_checkable
class Placement(Protocol):
    """Chooses the task for every row that crosses the border before a component."""

    def fits(self, border: Border) -> bool:
        """Whether the rows may stay where they are."""
        ...

    def expression(self, border: Border) -> str | None:
        """Return the SQL expression for a row's task, from 0 to ``tasks - 1``.

        None leaves the choice to Spark's own round robin, which gives each row the same task again
        when a partition is computed again in another order.
        """
        ...
