"""The first stage: workers that keep the best rows of pane parts, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled
from penstock.preference.splitting_kernel import NOBODY, send
from penstock.preference.utilisation import uneven_utilisation

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

# Where these are kept: the newest time of a row, the oldest since then, the slack, the mark that
# rows may not be older than, and the first pane that is not closed.
NEWEST, OLDEST, SLACK, MARK, CLOSED = range(5)
_OPEN = 128  # panes that may be open at once, far more than the slack leaves


@dataclass(frozen=True, slots=True)
class ClosedPart:
    """A part of a pane that is whole: its rows, and when its result leaves the stage."""

    pane: int
    parts: int
    rows: int
    ready_seconds: float


@dataclass(frozen=True, slots=True)
class PanePeriod:
    """What the stage did in a while: how utilised it was, and which parts were closed."""

    utilisation: float
    closed: tuple[ClosedPart, ...]

    @property
    def parts(self) -> dict[int, tuple[int, ...]]:
        """The rows of each part, by pane."""
        found: dict[int, tuple[int, ...]] = {}
        for part in self.closed:
            found[part.pane] = (*found.get(part.pane, ()), part.rows)
        return found


@dataclass(frozen=True, slots=True)
class ArrivingRows:
    """Rows in the order in which they arrive: when they do, and the time that they are of."""

    seconds: Numbers
    times: Numbers
    pane_seconds: float

    @classmethod
    def drawn(
        cls, counts: Numbers, step_seconds: float, pane_seconds: float, delay: float, seed: int
    ) -> ArrivingRows:
        """Draw rows from counts of equal steps; each is late by up to twice the mean ``delay``."""
        random = np.random.default_rng(seed)
        steps = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
        times = (steps + random.random(len(steps))) * step_seconds
        arrive = times + random.uniform(0, 2 * delay, len(steps))
        order = np.argsort(arrive, kind="stable")
        return cls(arrive[order], times[order], pane_seconds)


class PaneStage:
    """Splits panes over workers as Algorithm 1 does, each row taking as long as its part is large.

    ``row_seconds`` is the time that the n-th row of a part takes. Panes are closed by K-slack.
    """

    def __init__(self, rows: ArrivingRows, row_seconds: Numbers, most_workers: int) -> None:
        self._rows = rows
        self._row_seconds = row_seconds
        self._next = 0
        self._owner = np.full(_OPEN, NOBODY, np.int64)
        self._sent = np.zeros((_OPEN, most_workers), np.int64)
        self._free_at = np.zeros(most_workers)
        self._waiting = np.zeros(most_workers, np.int64)
        self._head = np.zeros(most_workers, np.int64)
        count = len(rows.seconds)
        self._finish = np.empty(count)
        self._follows = np.full(count, -1, np.int64)
        self._last = np.full(most_workers, -1, np.int64)
        self._mark = np.array([0.0, np.inf, 0.0, 0.0, 0.0])

    @property
    def is_done(self) -> bool:
        """Whether all rows have arrived."""
        return self._next >= len(self._rows.seconds)

    def run(self, until: float, seconds: float, workers: int, threshold: float) -> PanePeriod:
        """Take the rows that arrive before ``until``, a period of so many ``seconds``.

        A ``threshold`` of 0 splits every pane evenly.
        """
        end = int(np.searchsorted(self._rows.seconds, until))
        self._owner[self._owner >= workers] = NOBODY  # a worker that left owns nothing
        scheduled = np.zeros(len(self._free_at), np.int64)
        most = 64 + (end - self._next) + _OPEN * len(self._free_at)
        closed = np.empty((most, 4))
        found, busy = _run(
            self._rows.seconds,
            self._rows.times,
            self._rows.pane_seconds,
            self._next,
            end,
            workers,
            threshold,
            self._row_seconds,
            self._owner,
            self._sent,
            self._free_at,
            self._waiting,
            self._head,
            self._last,
            self._finish,
            self._follows,
            self._mark,
            scheduled,
            closed,
        )
        rows = end - self._next
        self._next = end
        served = seconds * rows / busy if busy > 0 else 0.0
        parts = tuple(
            ClosedPart(int(pane), int(of), int(size), float(ready))
            for pane, of, size, ready in closed[:found]
        )
        return PanePeriod(uneven_utilisation(scheduled.tolist(), served), parts)


@compiled
def _slacken(time: float, mark: Numbers) -> bool:
    """Move the mark on by K-slack (Algorithm 1, lines 3 and 4); say whether it may have moved."""
    if time <= mark[NEWEST]:
        mark[OLDEST] = min(mark[OLDEST], time)
        return False
    mark[NEWEST] = time
    mark[SLACK] = max(mark[SLACK], time - mark[OLDEST])
    mark[OLDEST] = np.inf
    mark[MARK] = max(mark[MARK], time - mark[SLACK])
    return True


@compiled
def _run(
    seconds: Numbers,
    times: Numbers,
    pane_seconds: float,
    start: int,
    end: int,
    workers: int,
    threshold: float,
    row_seconds: Numbers,
    owner: Whole,
    sent: Whole,
    free_at: Numbers,
    waiting: Whole,
    head: Whole,
    last: Whole,
    finish: Numbers,
    follows: Whole,
    mark: Numbers,
    scheduled: Whole,
    closed: Numbers,
) -> tuple[int, float]:
    """Send rows ``start`` to ``end``; return the parts that were closed, and the time of rows."""
    found = 0
    busy = 0.0
    for row in range(start, end):
        now, pane = seconds[row], int(times[row] / pane_seconds)
        moved = _slacken(times[row], mark)
        while moved and (mark[CLOSED] + 1) * pane_seconds <= mark[MARK]:
            slot = int(mark[CLOSED]) % owner.size
            parts = 0
            for each in range(sent.shape[1]):
                parts += sent[slot, each] > 0
            for each in range(sent.shape[1]):
                if sent[slot, each]:
                    closed[found, 0] = mark[CLOSED]
                    closed[found, 1] = parts
                    closed[found, 2] = sent[slot, each]
                    closed[found, 3] = max(now, free_at[each])
                    found += 1
                    sent[slot, each] = 0
            owner[slot] = NOBODY
            mark[CLOSED] += 1
        if pane < mark[CLOSED]:
            continue
        slot = pane % owner.size
        if owner[slot] == NOBODY or sent[slot, owner[slot]] >= threshold:
            for worker in range(workers):  # who is least loaded matters only here
                while waiting[worker] and finish[head[worker]] <= now:
                    head[worker] = follows[head[worker]]
                    waiting[worker] -= 1
        # Without a threshold a pane is shared out evenly, whoever is loaded.
        loads = waiting[:workers] if threshold > 0 else sent[slot, :workers]
        worker = send(slot, threshold, owner, sent, loads)
        takes = row_seconds[min(sent[slot, worker], row_seconds.size) - 1]
        busy += takes
        finish[row] = free_at[worker] = max(now, free_at[worker]) + takes
        if waiting[worker]:
            follows[last[worker]] = row
        else:
            head[worker] = row
        last[worker] = row
        waiting[worker] += 1
        scheduled[worker] += 1
    return found, busy
