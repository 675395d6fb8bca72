"""What the optimiser may do with a topology while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.errors import ConfigurationError
from penstock.topology.adaptation import Strategy, check_strategy
from penstock.windows.durations import Duration, seconds

Scoring = Literal["rates", "attributes", "baseline", "none"]
_SCORINGS = ("rates", "attributes", "baseline", "none")


@dataclass(frozen=True, slots=True)
class Optimiser:
    """Decides which operators run together, and weighs it again while the query runs.

    Parameters
    ----------
    score
        By what operators are fused: ``"rates"``, the rows that need not travel any more;
        ``"attributes"``, the columns that are left to partition on, which needs no measuring;
        ``"baseline"``, first come, first fused; ``"none"`` lets every operator run by itself.
    period
        After how many micro-batches the plan is weighed again; 0 keeps the first plan.
    horizon
        A better plan is adopted when what it saves in this time is more than the change costs.
    strategy
        How changes take effect, where there is a choice; None takes the least disruptive.

    """

    score: Scoring = "rates"
    period: int = 20
    horizon: Duration = "10 minutes"
    strategy: Strategy | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.score, str) or self.score not in _SCORINGS:
            raise ConfigurationError(
                f"Optimiser(score={self.score!r}) is unknown. Write one of {_said(_SCORINGS)}."
            )
        if type(self.period) is not int or self.period < 0:
            raise ConfigurationError(
                f"Optimiser(period={self.period!r}) is no number of micro-batches. Write a whole "
                "number from 1 up, or 0 to keep the first plan."
            )
        check_strategy(self.strategy)
        if self.horizon_seconds <= 0:
            raise ConfigurationError(
                f"Optimiser(horizon={self.horizon!r}) is no time. Write '10 minutes'."
            )

    @property
    def horizon_seconds(self) -> float:
        """The horizon in seconds."""
        return seconds(self.horizon)


def _said(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)
