"""How often, and after how long, something is tried again whose other end is away for now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.arguments import is_finite, shown
from penstock.errors import ConfigurationError

MOST_SECONDS = 30.0
_LONGEST_SECONDS = 86_400.0

# Connection exceptions are class 08. The server shuts down, crashed or starts up; it has no
# connection to spare.
_AWAY = ("57P01", "57P02", "57P03", "53300")


@dataclass(frozen=True, slots=True)
class Patience:
    """Waits between tries: the first is ``retry_seconds``, each next twice that, 30 s at most."""

    retries: int
    retry_seconds: float

    @classmethod
    def of(cls, what: str, retries: int, retry_seconds: float) -> Patience:
        """Check what a user gave; ``what`` names where.

        >>> Patience.of("the jdbc sink", 8, 1.0).total_seconds
        121.0
        """
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ConfigurationError(
                f"retries={shown(retries)} of {what} is no number of tries. Write retries=8, "
                "or retries=0 to try once."
            )
        if not is_finite(retry_seconds) or not 0 < retry_seconds <= _LONGEST_SECONDS:
            raise ConfigurationError(
                f"retry_seconds={shown(retry_seconds)} of {what} is no time to wait. "
                "Write retry_seconds=1."
            )
        return cls(retries, float(retry_seconds))

    def waits(self) -> Iterator[float]:
        """Yield the seconds to wait before each further try.

        >>> list(Patience(7, 1.0).waits())
        [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
        """
        seconds = self.retry_seconds
        for _ in range(self.retries):
            yield seconds
            seconds = min(seconds * 2, max(MOST_SECONDS, self.retry_seconds))

    @property
    def total_seconds(self) -> float:
        """For how long it waits in all."""
        return sum(self.waits())


def is_away(sql_state: str | None) -> bool:
    """Whether an SQLSTATE says that the database can't be reached now, not that SQL was wrong.

    >>> is_away("08006"), is_away("57P01"), is_away("23505"), is_away(None)
    (True, True, False, False)
    """
    return sql_state is not None and (sql_state.startswith("08") or sql_state in _AWAY)
