"""The second stage: workers that form windows of results, by the feedback rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from penstock.preference.utilisation import uneven_utilisation
from penstock.preference.window_tasks import PartResult, WindowEmitter, WindowTask
from penstock.simulation.preference.costs import QueryCosts
from penstock.simulation.preference.pane_stage import ClosedPart

Task = WindowTask[float]


@dataclass(frozen=True, slots=True)
class WindowPeriod:
    """What the stage did in a while; ``idle_share`` is the part of its workers' time."""

    utilisation: float
    idle_share: float
    updates: int
    merges: int
    windows: int


@dataclass(slots=True)
class _Counts:
    scheduled: list[int]
    updates: int = 0
    merges: int = 0
    windows: int = 0
    done: int = 0
    task_seconds: float = 0.0


@dataclass(order=True, slots=True)
class _Event:
    seconds: float
    number: int
    what: ClosedPart | Task = field(compare=False)
    started: float = field(compare=False, default=0.0)


class WindowStage:
    """Windows of so many panes, one for each pane; a result is told by the rows it is of."""

    def __init__(
        self, costs: QueryCosts, panes_per_window: int, most_workers: int, *, merges: bool
    ) -> None:
        self._costs = costs
        self._panes = panes_per_window
        self._most = most_workers
        self._workers = 1
        self._emitter = WindowEmitter[float](1, merges=merges)
        self._opened = 0
        self._rows: dict[object, float] = {}
        self._events: list[_Event] = []
        self._numbers = 0
        self._running: dict[int, tuple[float, float]] = {}
        self._counts = _Counts([0] * most_workers)
        self._busy = 0.0
        self._task_seconds = 0.0

    def resize(self, workers: int, now: float) -> None:
        """Change how many workers there are."""
        self._workers = workers
        self._start(self._emitter.resize(workers), now)

    def run(self, parts: Iterable[ClosedPart], since: float, until: float) -> WindowPeriod:
        """Take in results of the first stage, and work until then."""
        for part in parts:
            self._put(max(since, part.ready_seconds), part)
        self._counts, self._busy = _Counts([0] * self._most), 0.0
        while self._events and self._events[0].seconds < until:
            event = heappop(self._events)
            if isinstance(event.what, ClosedPart):
                self._arrived(event.what, event.seconds)
            else:
                self._busy += event.seconds - max(since, event.started)
                self._done(event.what, event.seconds - event.started, event.seconds)
        running = [event for event in self._events if not isinstance(event.what, ClosedPart)]
        self._busy += sum(until - max(since, event.started) for event in running)
        return self._period(until - since)

    @property
    def is_done(self) -> bool:
        """Whether nothing waits or runs."""
        return not self._events

    def _period(self, seconds: float) -> WindowPeriod:
        counts = self._counts
        if counts.done:
            self._task_seconds = counts.task_seconds / counts.done
        waiting = sum(self._emitter.waiting(window) for window in self._emitter.open_windows)
        total = sum(counts.scheduled)
        served = seconds / self._task_seconds if self._task_seconds else 0.0
        # What waits would have been scheduled as the rest was, had there been workers.
        more = (total + waiting) / total if total else 0.0
        return WindowPeriod(
            uneven_utilisation([each * more for each in counts.scheduled], served),
            max(0.0, 1 - self._busy / (self._workers * seconds)),
            counts.updates,
            counts.merges,
            counts.windows,
        )

    def _put(self, seconds: float, what: ClosedPart | Task, started: float = 0.0) -> None:
        self._numbers += 1
        heappush(self._events, _Event(seconds, self._numbers, what, started))

    def _arrived(self, part: ClosedPart, now: float) -> None:
        while self._opened <= part.pane:
            first = self._opened
            self._emitter.open(first, range(first, first + self._panes))
            self._rows[first] = 0.0
            self._opened += 1
        self._start(self._emitter.arrived(PartResult(part.pane, part.parts, float(part.rows))), now)

    def _done(self, task: Task, seconds: float, now: float) -> None:
        self._counts.done += 1
        self._counts.task_seconds += seconds
        rows = sum(task.results)
        if task.kind == "merge":
            self._start(self._emitter.done(task, rows), now)
            return
        self._rows[task.window] += rows
        if task.finalises:
            self._counts.windows += 1
            del self._rows[task.window]
        self._start(self._emitter.done(task), now)

    def _start(self, tasks: Iterable[Task], now: float) -> None:
        for task in tasks:
            self._counts.scheduled[task.worker] += 1
            if task.kind == "merge":
                self._counts.merges += 1
                seconds = self._costs.merge_seconds(*task.results)
            else:
                self._counts.updates += 1
                seconds = self._costs.merge_seconds(self._rows[task.window], task.results[0])
            self._put(now + seconds, task, now)
