"""The two stages of preference queries, as their tasks measured them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from penstock.elasticity.observation import Observation


@dataclass(frozen=True, slots=True)
class MeasuredStages:
    """How utilised the stages of panes and of windows are, and in how many parts panes are split.

    ``first`` and ``second`` name the operators of each.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    rho_1: float = 0.0
    sigma: float = 1.0
    rho_2: float = 0.0

    @classmethod
    def seen(cls, observation: Observation) -> MeasuredStages | None:
        """Return them where an observation has any; of several queries the busiest stage counts.

        >>> from penstock.elasticity.observation import OperatorObservation as Operator
        >>> panes = Operator("panes", 9, 3, 0.1, 2, 0.1, 0.1, utilisation=0.8, parts_per_pane=1.5)
        >>> windows = Operator("windows", 3, 1, 0.1, 2, 0.1, 0.1, utilisation=0.4)
        >>> MeasuredStages.seen(Observation(0, 1.0, 0.5, 1.0, 2, (panes, windows)))
        MeasuredStages(first=('panes',), second=('windows',), rho_1=0.8, sigma=1.5, rho_2=0.4)
        """
        told = [each for each in observation.operators if each.utilisation is not None]
        first = [each for each in told if each.parts_per_pane is not None]
        second = [each for each in told if each.parts_per_pane is None]
        if not first or not second:
            return None
        return cls(
            first=tuple(each.name for each in first),
            second=tuple(each.name for each in second),
            rho_1=max(each.utilisation or 0.0 for each in first),
            sigma=max(each.parts_per_pane or 1.0 for each in first),
            rho_2=max(each.utilisation or 0.0 for each in second),
        )

    def mean(self, batches: Sequence[MeasuredStages]) -> MeasuredStages:
        """Return the mean of several micro-batches; of none the stages have nothing to do."""
        if not batches:
            return MeasuredStages(self.first, self.second)
        return MeasuredStages(
            self.first,
            self.second,
            fmean(each.rho_1 for each in batches),
            fmean(each.sigma for each in batches),
            fmean(each.rho_2 for each in batches),
        )
