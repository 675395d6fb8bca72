"""Algorithm 1 as machine code, for simulations of millions of rows: the same decisions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled

NOBODY = -1


@compiled
def send(
    pane: int,
    threshold: float,
    owner: NDArray[np.int64],
    sent: NDArray[np.int64],
    waiting: NDArray[np.int64],
) -> int:
    """Return the worker for a row; notes it in ``owner`` and ``sent``, not in ``waiting``.

    ``owner`` is by pane, ``NOBODY`` where it has none, and ``sent`` by pane and worker. Few numbers
    do for many panes: one that is closed leaves its number with no owner and nothing sent.
    """
    worker = owner[pane]
    if worker == NOBODY or sent[pane, worker] >= threshold:
        worker = np.argmin(waiting)
        owner[pane] = worker
    sent[pane, worker] += 1
    return int(worker)


@compiled
def split(
    panes: NDArray[np.int64], open_panes: int, threshold: float, waiting: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the worker of each row, where nothing is served meanwhile; adds to ``waiting``.

    ``panes`` are numbers below ``open_panes``.

    >>> split(np.zeros(5, np.int64), 1, 2.0, np.zeros(2, np.int64)).tolist()
    [0, 0, 1, 1, 0]
    """
    owner = np.full(open_panes, NOBODY, np.int64)
    sent = np.zeros((open_panes, len(waiting)), np.int64)
    workers = np.empty(len(panes), np.int64)
    for row in range(len(panes)):
        worker = send(panes[row], threshold, owner, sent, waiting)
        waiting[worker] += 1
        workers[row] = worker
    return workers
