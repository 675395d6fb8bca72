"""The progressive stream of DABS-Storm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.simulation.workloads.knots import Knot
from penstock.simulation.workloads.shaped import Shaped


@dataclass(frozen=True)
class Progressive(Shaped):
    """One large increase, a plateau and a decrease (DABS-Storm, Fig. 11a).

    The paper draws the stream without numbers. Here the rate is ``low`` for the first and last
    15 % of the time, goes straight up and down during 25 % each, and is ``high`` for 20 %.

    >>> load = Progressive(low=100, high=600, seconds=200).load()
    >>> load.duration_seconds, 64_000 < load.rows < 66_000
    (200.0, True)
    """

    SHAPE: ClassVar[tuple[Knot, ...]] = (
        Knot(0.0, 0.0),
        Knot(0.15, 0.0),
        Knot(0.4, 1.0),
        Knot(0.6, 1.0),
        Knot(0.85, 0.0),
        Knot(1.0, 0.0),
    )
