"""How another number of replicas comes about, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from penstock.errors import ConfigurationError

Meanwhile = Literal["hold", "lose"]


@dataclass(frozen=True, slots=True)
class Pool:
    """PSPS: replicas are there already, and are switched on and off at once.

    A replica that is switched off works off its own queue and gets no more rows.
    """

    name = "pool"


@dataclass(frozen=True, slots=True)
class Restart:
    """Storm: every change stops the whole topology, and all rows in it are lost.

    Nothing is processed for ``downtime_seconds``. What arrives meanwhile waits at the sources
    (``hold``: as with a log or a queue in front, which is what Storm's spouts usually read), or is
    lost as well (``lose``: nobody keeps it).
    """

    downtime_seconds: float
    meanwhile: Meanwhile = "hold"
    name = "restart"

    def __post_init__(self) -> None:
        if not (isfinite(self.downtime_seconds) and self.downtime_seconds >= 0):
            raise ConfigurationError(
                f"Restart(downtime_seconds={self.downtime_seconds!r}): write seconds of 0 or more."
            )
        if self.meanwhile not in ("hold", "lose"):
            raise ConfigurationError(
                f"Restart(meanwhile={self.meanwhile!r}): write 'hold' where what arrives meanwhile "
                "waits at the sources, 'lose' where it is lost."
            )


Mechanism = Pool | Restart
