"""Both stages with both levels of adaptation: thresholds every 250 ms, workers every 2.5 s."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Literal

from penstock.elasticity.fuzzy_rules import Parallelism, next_parallelism
from penstock.preference.pane_splitting import PaneSplitting
from penstock.preference.split_control import PanesSeen, SplitControl, SplitState
from penstock.simulation.preference.costs import QueryCosts
from penstock.simulation.preference.pane_stage import (
    ArrivingRows,
    ClosedPart,
    PanePeriod,
    PaneStage,
)
from penstock.simulation.preference.window_stage import WindowPeriod, WindowStage

SAMPLE_SECONDS = 0.25
SAMPLES = 10
"""Of the threshold, for each decision about workers."""


@dataclass(frozen=True, slots=True)
class SystemSetting:
    """How the system is run: None for ``panes_per_window`` leaves the second stage out.

    ``workers`` fixes those of the first stage; unless given, the fuzzy controller decides.
    """

    splitting: Literal["pid", "none", "even"] = "pid"
    merges: bool = True
    panes_per_window: int | None = None
    most_workers: int = 59
    workers: int | None = None
    set_point: float = 0.9


@dataclass(frozen=True, slots=True)
class Interval:
    """What one interval of the controller showed; ``points_share`` is what panes left of rows."""

    first_workers: int
    second_workers: int
    utilisation: float
    parts_per_pane: float
    points_share: float
    windows: WindowPeriod | None


def simulated(rows: ArrivingRows, costs: QueryCosts, setting: SystemSetting) -> list[Interval]:
    """Run the rows through the system, interval by interval."""
    return list(_System(rows, costs, setting).run())


class _System:
    def __init__(self, rows: ArrivingRows, costs: QueryCosts, setting: SystemSetting) -> None:
        self._setting = setting
        self._costs = costs
        self._panes = PaneStage(rows, costs.row_seconds(200_000), setting.most_workers)
        self._windows: WindowStage | None = None
        if setting.panes_per_window is not None:
            self._windows = WindowStage(
                costs, setting.panes_per_window, setting.most_workers, merges=setting.merges
            )
        self._control = SplitControl(PaneSplitting(set_point=setting.set_point))
        self._split = SplitState()
        self._workers = Parallelism(setting.workers or 1, 1)
        self._now = 0.0

    def run(self) -> list[Interval]:
        intervals = []
        while not self._panes.is_done:
            interval = self._interval()
            intervals.append(interval)
            self._decide(interval)
        return intervals

    def _interval(self) -> Interval:
        since = self._now
        periods = [self._sample() for _ in range(SAMPLES)]
        closed = [part for period in periods for part in period.closed]
        windows = None
        if self._windows is not None:
            windows = self._windows.run(closed, since, self._now)
        utilisation = fmean(period.utilisation for period in periods)
        return Interval(
            self._workers.first,
            self._workers.second,
            utilisation,
            PanesSeen(_parts(periods)).parts_per_pane,
            self._points_share(closed),
            windows,
        )

    def _sample(self) -> PanePeriod:
        self._now += SAMPLE_SECONDS
        period = self._panes.run(self._now, SAMPLE_SECONDS, self._workers.first, self._threshold)
        if self._setting.splitting == "pid":
            seen = PanesSeen(period.parts)
            self._split, _ = self._control.after(self._split, seen, period.utilisation)
        return period

    @property
    def _threshold(self) -> float:
        if self._setting.splitting == "none":
            return inf
        threshold = self._split.threshold_rows
        return 0.0 if self._setting.splitting == "even" or threshold is None else threshold

    def _points_share(self, closed: list[ClosedPart]) -> float:
        rows = sum(part.rows for part in closed)
        points = sum(self._costs.points_of(part.rows) for part in closed)
        return points / rows if rows else 0.0

    def _decide(self, interval: Interval) -> None:
        if self._setting.workers is not None:
            return
        second = 0.9 if interval.windows is None else interval.windows.utilisation
        then = next_parallelism(
            self._workers,
            interval.utilisation,
            interval.parts_per_pane,
            second,
            self._setting.most_workers,
        )
        if self._windows is None:
            then = Parallelism(min(then.first, self._setting.most_workers), 1)
        elif then.second != self._workers.second:
            self._windows.resize(then.second, self._now)
        self._workers = then


def _parts(periods: list[PanePeriod]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for period in periods:
        found |= period.parts
    return found
