"""How tuples are given to the instances of an operator."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from penstock.errors import ConfigurationError
from penstock.placement.cost_aware import CostAware


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Every tuple to the next instance, as Storm's shuffle grouping does."""


@dataclass(frozen=True, slots=True)
class FullKnowledge:
    """Every tuple to the instance with the least work, by exact execution times (section V).

    Before ``from_tuple`` tuples are dealt in turn: with the tuple at which POSG began to run, that
    is the best POSG can come to. With ``idle_counts`` a load is the time at which an instance will
    be free, and not only the work it was given.
    """

    from_tuple: int = 0
    idle_counts: bool = False

    def __post_init__(self) -> None:
        if self.from_tuple < 0:
            raise ConfigurationError(
                f"FullKnowledge(from_tuple={self.from_tuple}): write 0 or a tuple's number."
            )


@dataclass(frozen=True, slots=True)
class Posg:
    """POSG's two state machines in full; see ``placement/posg.py`` for what the settings mean.

    The defaults are the paper's text, read literally.
    """

    window: int = 1024
    mu: float = 0.05
    epsilon: float = 0.05
    delta: float = 0.1
    seed: int = 0
    alike: bool = False
    only_if_moved: bool = False
    idle_counts: bool = False
    resync_tuples: int | None = None

    def __post_init__(self) -> None:
        if self.window < 1 or not self.mu >= 0:
            raise ConfigurationError(
                f"Posg(window={self.window}, mu={self.mu}): write a window of 1 tuple or more, and "
                "mu of 0 or more."
            )
        if self.resync_tuples is not None and self.resync_tuples < 1:
            raise ConfigurationError(
                f"Posg(resync_tuples={self.resync_tuples}): write 1 tuple or more, or None."
            )


@dataclass(frozen=True, slots=True)
class MicroBatches:
    """Penstock's way: what came until a batch begins is placed at once, by what is known then.

    A batch begins every ``trigger_seconds``, or when the last one ends if that takes longer. Its
    tuples are done when the batch is, that is when its slowest task is, ``fixed_seconds`` after the
    work. Without a ``placement`` tuples are dealt in turn.
    """

    trigger_seconds: float = 1.0
    placement: CostAware | None = None
    fixed_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.trigger_seconds < inf or not (
            isfinite(self.fixed_seconds) and self.fixed_seconds >= 0
        ):
            raise ConfigurationError(
                f"MicroBatches(trigger_seconds={self.trigger_seconds}, "
                f"fixed_seconds={self.fixed_seconds}): write seconds above 0, and of 0 or more."
            )


Grouping = RoundRobin | FullKnowledge | Posg | MicroBatches
