"""The erratic stream of DABS-Storm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.simulation.workloads.knots import Knot
from penstock.simulation.workloads.shaped import Shaped


@dataclass(frozen=True)
class Erratic(Shaped):
    """Sudden, severe changes: two brief peaks, then one that lasts (DABS-Storm, Fig. 11b).

    The paper draws the stream without numbers; its text tells of two main peaks that are brief, and
    of a last increase that lasts longer. Here all changes take 1 % of the time. The peaks are
    ``high`` for 5 % and 4 % of the time, and 80 % of the way there for 20 % at the end; a bump of
    half the height comes between.

    >>> load = Erratic(low=100, high=600, seconds=200).load()
    >>> load.duration_seconds, 45_000 < load.rows < 57_000
    (200.0, True)
    """

    SHAPE: ClassVar[tuple[Knot, ...]] = (
        Knot(0.0, 0.0),
        *(Knot(0.12, 0.0), Knot(0.13, 1.0), Knot(0.18, 1.0), Knot(0.19, 0.0)),
        *(Knot(0.32, 0.0), Knot(0.33, 1.0), Knot(0.37, 1.0), Knot(0.38, 0.1)),
        *(Knot(0.48, 0.1), Knot(0.49, 0.5), Knot(0.52, 0.5), Knot(0.53, 0.0)),
        *(Knot(0.65, 0.0), Knot(0.66, 0.8), Knot(0.86, 0.8), Knot(0.87, 0.0)),
        Knot(1.0, 0.0),
    )
