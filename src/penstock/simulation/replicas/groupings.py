"""How an operator's rows are dealt to its replicas."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ByChance:
    """Storm's shuffle grouping: every row goes to any of the replicas."""


@dataclass(frozen=True, slots=True)
class InTurn:
    """Round robin: replicas take turns."""


@dataclass(frozen=True, slots=True)
class LeastLoaded:
    """PSPS's load balancing (algorithm 1): the replica with the lowest utilisation gets the row.

    Utilisations begin with those of the last interval (equation 5) and grow by each row's
    execution time; when all are full, replicas take turns. Rows are ``placement.least_loaded``'s.
    ``execution_factor`` is what the execution time is believed to be over what it is. One that
    doesn't remember begins every interval with utilisations of 0: a replica that has just been
    switched on is then not given everything until it has had as much as the others before.
    """

    execution_factor: float = 1.0
    remembers: bool = True

    def __post_init__(self) -> None:
        if not self.execution_factor > 0:
            raise ConfigurationError(
                f"LeastLoaded(execution_factor={self.execution_factor!r}): write a number above 0, "
                "1.0 where execution times are known exactly."
            )


@dataclass(frozen=True, slots=True)
class Posg:
    """Online shuffle grouping with sketches of what rows of each key cost (OSG, POSG).

    Replicas learn and the scheduler chooses as in ``placement.posg``, message by message. Both
    begin anew when the number of replicas changes.
    """

    window: int = 1024
    mu: float = 0.05
    epsilon: float = 0.05
    delta: float = 0.1
    alike: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.window < 1 or not self.mu >= 0:
            raise ConfigurationError(
                f"Posg(window={self.window}, mu={self.mu}): write a window of 1 row or more, and "
                "mu of 0 or more."
            )


@dataclass(frozen=True, slots=True)
class SharedQueue:
    """One queue for all replicas: whichever is free takes the first row that waits."""


Grouping = ByChance | InTurn | LeastLoaded | Posg | SharedQueue
