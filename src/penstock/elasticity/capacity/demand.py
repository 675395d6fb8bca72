"""How many slots some rows take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Demand:
    """How many slots the rows of an interval take, and where they go.

    ``slots`` is a fraction, 0 where there is nothing to do; ``by_operator`` shares it out by work.
    ``work_seconds`` are seconds of one slot, ``fixed_seconds`` what a batch takes besides, however
    many slots there are. Where that alone fills the interval (``bound_by_fixed``), no number of
    slots makes batches that short: ``slots`` is then what keeps up with the rows in longer ones.
    Where the work needs more CPU than the shared cores have (``bound_by_cores``), more slots don't
    help.
    """

    slots: float
    work_seconds: float
    fixed_seconds: float
    interval_seconds: float
    by_operator: Mapping[str, float] = field(default_factory=dict)
    bound_by_fixed: bool = False
    bound_by_cores: bool = False
