"""Forming windows by tasks of two kinds: the feedback rule of Elastic-PPQ (section 3.2).

Results of pane parts arrive while workers are busy. A ``WIN_UPDATE`` task puts one result into its
window; two of one window would change the same rows, so only one runs at a time. Workers that this
leaves idle are given ``MERGE`` tasks: two waiting results of one window become one. Whenever a
worker is done it says so, and is given what is best then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

Result = TypeVar("Result")
Kind = Literal["update", "merge"]


@dataclass(frozen=True, slots=True)
class PartResult(Generic[Result]):
    """The result of one part of a pane.

    ``parts`` is how many parts its pane has in the end, 0 where that was not known yet when the
    part was closed; some result of the pane knows. A pane without rows has one part, with an empty
    result.
    """

    pane: Hashable
    parts: int
    result: Result


@dataclass(frozen=True, slots=True)
class WindowTask(Generic[Result]):
    """What one worker does next.

    An update puts the only one of ``results`` into the window, a merge makes one result of two.
    ``finalises`` says of an update that nothing of its window is left to do after it.
    """

    kind: Kind
    window: Hashable
    worker: int
    results: tuple[Result, ...]
    finalises: bool = False


@dataclass(slots=True)
class _Descriptor(Generic[Result]):
    """One window of the directory; ``pending`` is the paper's pBuffer."""

    missing: set[Hashable]
    pending: deque[Result] = field(default_factory=deque)
    busy: bool = False
    merging: int = 0

    @property
    def is_last(self) -> bool:
        """Whether what was just taken out of ``pending`` was the last of the window."""
        return not self.missing and not self.pending and not self.merging


@dataclass(slots=True)
class _Pane:
    windows: list[Hashable] = field(default_factory=list)
    arrived: int = 0
    parts: int = 0


class WindowEmitter(Generic[Result]):
    """Gives tasks to idle workers (Algorithms 2 and 3); ``merges=False`` is the older rule.

    Every method that may free work for a worker returns the tasks that start now. Workers are
    numbered from 0; those that are idle take turns.

    >>> emitter = WindowEmitter[str](workers=2)
    >>> emitter.open("window", panes=["pane"])
    >>> [(task.kind, task.worker) for task in emitter.arrived(PartResult("pane", 3, "a"))]
    [('update', 0)]
    >>> emitter.arrived(PartResult("pane", 3, "b"))  # its window is busy, and "b" is alone
    []
    >>> [merge] = emitter.arrived(PartResult("pane", 3, "c"))
    >>> merge.kind, merge.worker, merge.results
    ('merge', 1, ('b', 'c'))
    """

    def __init__(self, workers: int, *, merges: bool = True) -> None:
        if workers < 1:
            raise ValueError(f"windows are formed by at least one worker, not {workers}")
        self._merges = merges
        self._workers = workers
        self._busy: set[int] = set()
        self._turn = 0
        self._directory: dict[Hashable, _Descriptor[Result]] = {}
        self._panes: dict[Hashable, _Pane] = {}

    @property
    def idle(self) -> int:
        """How many workers have nothing to do."""
        return sum(worker not in self._busy for worker in range(self._workers))

    @property
    def open_windows(self) -> tuple[Hashable, ...]:
        """The windows that are not finalised, oldest first."""
        return tuple(self._directory)

    def waiting(self, window: Hashable) -> int:
        """Return how many results of a window wait for a worker."""
        return len(self._directory[window].pending)

    def open(self, window: Hashable, panes: Iterable[Hashable]) -> None:
        """Put a window into the directory, before any result of its panes arrives."""
        missing = set(panes)
        if window in self._directory or not missing:
            raise ValueError(f"window {window} is open already, or has no panes")
        started = [pane for pane in missing if pane in self._panes and self._panes[pane].arrived]
        if started:
            raise ValueError(f"window {window} opens after results of pane {started[0]}")
        self._directory[window] = _Descriptor(missing)
        for pane in missing:
            self._panes.setdefault(pane, _Pane()).windows.append(window)

    def arrived(self, part: PartResult[Result]) -> list[WindowTask[Result]]:
        """Take in a result of the first stage (Algorithm 2, case 1)."""
        pane = self._panes.get(part.pane)
        if pane is None:
            raise ValueError(f"pane {part.pane} is in no open window")
        pane.arrived += 1
        pane.parts = max(pane.parts, part.parts)
        is_whole = pane.arrived == pane.parts
        for window in pane.windows:
            descriptor = self._directory[window]
            descriptor.pending.append(part.result)
            if is_whole:
                descriptor.missing.discard(part.pane)
        if is_whole:
            del self._panes[part.pane]
        return self._started(self.idle)

    def done(
        self, task: WindowTask[Result], merged: Result | None = None
    ) -> list[WindowTask[Result]]:
        """Take in the feedback of a worker (case 2); a merge comes back with what it made."""
        if task.kind == "merge":
            if merged is None:
                raise ValueError("a merge comes back without its result")
            descriptor = self._directory[task.window]
            descriptor.merging -= 1
            descriptor.pending.append(merged)
        elif task.finalises:
            del self._directory[task.window]
        else:
            self._directory[task.window].busy = False
        self._busy.remove(task.worker)
        if task.worker < self._workers:
            return self._started(1, task.worker)
        # It leaves; another that has nothing to do takes what its window waited with.
        return self._started(min(1, self.idle))

    def resize(self, workers: int) -> list[WindowTask[Result]]:
        """Change how many workers there are; one that is busy ends its task before it leaves."""
        if workers < 1:
            raise ValueError(f"windows are formed by at least one worker, not {workers}")
        self._workers = workers
        tasks: list[WindowTask[Result]] = []
        # One look finds one merge of each window: several workers may be new.
        while found := self._started(self.idle):
            tasks += found
        return tasks

    def _started(self, most: int, first: int | None = None) -> list[WindowTask[Result]]:
        """Find tasks (Algorithm 3) and hand them to idle workers in turn, to ``first`` at first."""
        start = self._turn if first is None else first
        order = [*range(start, self._workers), *range(min(start, self._workers))]
        idle = (worker for worker in order if worker not in self._busy)
        tasks = []
        for kind, window in self._found(most):
            worker, descriptor = next(idle), self._directory[window]
            results = [descriptor.pending.popleft()]
            if kind == "update":
                descriptor.busy = True
            else:
                results.append(descriptor.pending.popleft())
                descriptor.merging += 1
            last = kind == "update" and descriptor.is_last
            tasks.append(WindowTask(kind, window, worker, tuple(results), last))
        self._busy.update(task.worker for task in tasks)
        if tasks and first is None:
            self._turn = tasks[-1].worker + 1
        return tasks

    def _found(self, most: int) -> list[tuple[Kind, Hashable]]:
        """Look for at most so many tasks: updates of windows that are free, then merges.

        Merges are looked for only where fewer updates than workers were found: then every window
        with waiting results is busy, or becomes so.
        """
        found: list[tuple[Kind, Hashable]] = []
        updated = set()
        for window, descriptor in self._directory.items():
            if len(found) == most:
                return found
            if not descriptor.busy and descriptor.pending:
                found.append(("update", window))
                updated.add(window)
        if not self._merges:
            return found
        for window, descriptor in self._directory.items():
            if len(found) == most:
                return found
            if len(descriptor.pending) - (window in updated) >= 2:
                found.append(("merge", window))
        return found
