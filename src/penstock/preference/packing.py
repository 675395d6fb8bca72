"""Which task merges which partial results of which window, planned for one closing.

A Spark task can't hand a result to another one within a stage, so the feedback rule (see
``window_tasks``) is run ahead, on predicted times. All updates of a window stay with the task that
did the first, its owner. What other tasks merge of it comes back to the owner by one more exchange:
a second round, planned only where it saves more than it costs. Where little is to be done one task
does all of it, and nothing is exchanged at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush


@dataclass(frozen=True, slots=True)
class Partial:
    """One partial result in the pane store: its place there, and how many points it holds.

    ``directory``, ``first`` and ``width`` say which panes of which batches it is of; ``part`` is
    its number where the rows of one batch and pane were split, below 0 where that is not known.
    """

    directory: int
    first: int
    width: int
    part: int
    points: float


@dataclass(frozen=True, slots=True)
class MergeCost:
    """What forming windows takes: measured, or a guess at first.

    ``kept_share`` is the part of the points that are still there after a merge.
    """

    seconds_per_point: float = 20e-6
    kept_share: float = 0.8
    exchange_seconds: float = 0.08

    def __post_init__(self) -> None:
        if not (self.seconds_per_point > 0 and self.exchange_seconds >= 0):
            raise ValueError(f"a point takes time to merge, and an exchange no less than 0: {self}")
        if not 0 <= self.kept_share <= 1:
            raise ValueError(f"of all points a merge keeps a share from 0 to 1: {self}")


@dataclass(frozen=True, slots=True)
class Packing:
    """Where the partial results of each window go.

    ``tasks_of[w][p]`` is the task that takes partial result ``p`` of window ``w``, and
    ``owners[w]`` the one that has the window in the end. With one ``rounds`` they are the same;
    with two, each task makes one result of all it has of a window, and hands it to the owner.
    A merge makes one result of two, so ``updates`` and ``merges`` together are as many as there
    were partial results.
    """

    tasks: int
    tasks_of: tuple[tuple[int, ...], ...]
    owners: tuple[int, ...]
    rounds: int
    updates: int
    merges: int
    seconds: float
    idle_share: float


def pack(
    windows: Sequence[Sequence[Partial]], tasks: int, cost: MergeCost, *, merges: bool = True
) -> Packing:
    """Give each partial result of each window to one of the tasks.

    By the model, the plan with merges is never slower than the one without; ``merges=False`` asks
    for the latter. A window without partial results has an owner like any other.

    >>> window = [Partial(0, pane, 1, 0, points=1000) for pane in range(4)]
    >>> cost = MergeCost(seconds_per_point=1e-3, kept_share=0.25, exchange_seconds=0.1)
    >>> plan = pack([window], tasks=2, cost=cost)
    >>> plan.tasks_of, plan.rounds, plan.merges, round(plan.seconds, 3)
    (((0, 1, 1, 0),), 2, 1, 3.1)
    >>> pack([window], tasks=2, cost=cost, merges=False).seconds
    4.0
    """
    if tasks < 1:
        raise ValueError(f"windows are formed by at least one task, not {tasks}")
    without = _Rehearsal(windows, tasks, cost, merges=False).packing()
    if not merges or tasks == 1:
        return without
    with_merges = _Rehearsal(windows, tasks, cost, merges=True).packing()
    return with_merges if with_merges.seconds < without.seconds else without


def alone_if_sooner(
    plan: Packing, windows: Sequence[Sequence[Partial]], cost: MergeCost
) -> Packing:
    """Return the plan of a single task, if that is done sooner than results reach several.

    >>> windows = [[Partial(0, pane, 1, 0, points=100)] for pane in range(4)]
    >>> cost = MergeCost(seconds_per_point=1e-4, exchange_seconds=0.05)
    >>> alone_if_sooner(pack(windows, 2, cost), windows, cost).tasks
    1
    """
    alone = pack(windows, 1, cost, merges=False)
    return alone if alone.seconds <= plan.seconds + cost.exchange_seconds else plan


class _Rehearsal:
    """The feedback rule on predicted times: the task that is free first takes what is best."""

    def __init__(
        self, windows: Sequence[Sequence[Partial]], tasks: int, cost: MergeCost, *, merges: bool
    ) -> None:
        self._windows = windows
        self._tasks = tasks
        self._cost = cost
        self._merges = merges
        # Largest last, where they are taken from: what is left for the end should be small.
        self._waiting = [
            sorted(range(len(partials)), key=lambda n: (partials[n].points, -n))
            for partials in windows
        ]
        self._points = [sum(partial.points for partial in partials) for partials in windows]
        self._owners: list[int | None] = [None] * len(windows)
        self._tasks_of = [[-1] * len(partials) for partials in windows]
        self._seconds = [0.0] * tasks

    def packing(self) -> Packing:
        self._run()
        owners = [task or 0 for task in self._owners]
        helped = self._helpers()
        rounds = 2 if helped else 1
        second = self._second_round(helped) if helped else [0.0] * self._tasks
        seconds = max(self._seconds)
        if helped:
            seconds += self._cost.exchange_seconds + max(second)
        work = sum(self._seconds) + sum(second)
        partials = sum(map(len, self._windows))
        merges = sum(count - 1 for counts in helped.values() for count in counts.values())
        return Packing(
            self._tasks,
            tuple(map(tuple, self._tasks_of)),
            tuple(owners),
            rounds,
            partials - merges,
            merges,
            seconds,
            1 - work / (self._tasks * seconds) if seconds else 0.0,
        )

    def _run(self) -> None:
        # Windows that nobody has begun, the largest last, where they are taken from.
        unowned = sorted(
            (window for window, waiting in enumerate(self._waiting) if waiting),
            key=lambda window: (self._points[window], -window),
        )
        begun: list[tuple[float, int]] = []  # windows that others may merge in, as they were then
        own: dict[int, int] = {}
        free = [(0.0, task) for task in range(self._tasks)]
        while free:
            now, task = heappop(free)
            mine = own.get(task)
            if mine is not None and self._waiting[mine]:
                window, count = mine, 1
            elif unowned:
                window, count = unowned.pop(), 1
                own[task], self._owners[window] = window, task
            elif self._merges and (found := self._most_waiting(begun)) is not None:
                window, count = found, 2
            else:
                continue
            now += self._take(window, count, task)
            heappush(begun, (-self._points[window], window))
            self._seconds[task] = now
            heappush(free, (now, task))

    def _take(self, window: int, count: int, task: int) -> float:
        """Give results of a window to a task; return how long it takes for them."""
        seconds = 0.0
        for _ in range(count):
            number = self._waiting[window].pop()
            self._tasks_of[window][number] = task
            points = self._windows[window][number].points
            self._points[window] -= points
            seconds += self._cost.seconds_per_point * points
        return seconds

    def _most_waiting(self, begun: list[tuple[float, int]]) -> int | None:
        """Return the window with the most points of which two results wait."""
        while begun:
            points, window = begun[0]
            if points == -self._points[window] and len(self._waiting[window]) >= 2:
                return window
            heappop(begun)  # it was taken from since, or is nearly done
        return None

    def _helpers(self) -> dict[int, dict[int, int]]:
        """Return how many results each task that is not the owner took, by window."""
        helped: dict[int, dict[int, int]] = {}
        for window, tasks in enumerate(self._tasks_of):
            counts: dict[int, int] = defaultdict(int)
            for task in tasks:
                if task != self._owners[window]:
                    counts[task] += 1
            if counts:
                helped[window] = dict(counts)
        return helped

    def _second_round(self, helped: dict[int, dict[int, int]]) -> list[float]:
        """Return how long each owner takes for what comes back to it."""
        seconds = [0.0] * self._tasks
        for window in helped:
            points = sum(partial.points for partial in self._windows[window])
            kept = self._cost.kept_share * points
            owner = self._owners[window]
            assert owner is not None
            seconds[owner] += self._cost.seconds_per_point * kept
        return seconds
