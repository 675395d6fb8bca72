"""How much may wait, and what is let go when more does."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ConfigurationError

BY_TIME = ("oldest", "newest")
CHOICES = (*BY_TIME, "random")


@dataclass(frozen=True, slots=True)
class Backlog:
    """At most ``max_rows`` of each source are processed in a micro-batch; the others are shed.

    ``shed`` says which go: the ``"oldest"`` or the ``"newest"`` by the source's time column, a
    ``"random"`` choice, or those with the lowest priority: an SQL expression of the source's
    columns that gives a whole number. Rows without a time or a priority go first.

    >>> Backlog(max_rows=100_000, shed="int(amount)").is_priority
    True
    """

    max_rows: int
    shed: str = "oldest"

    def __post_init__(self) -> None:
        rows = self.max_rows
        if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
            raise ConfigurationError(
                f"Backlog(max_rows={rows!r}) is no number of rows. Write a whole number from 1."
            )
        if not isinstance(self.shed, str) or not self.shed.strip():
            raise ConfigurationError(
                f"Backlog(shed={self.shed!r}) says not what to shed. Write 'oldest', 'newest', "
                "'random', or an SQL expression for the priority, such as 'int(amount)'."
            )

    @property
    def is_by_time(self) -> bool:
        """Whether a time column is needed to choose."""
        return self.shed in BY_TIME

    @property
    def is_priority(self) -> bool:
        """Whether ``shed`` is an SQL expression."""
        return self.shed not in CHOICES
