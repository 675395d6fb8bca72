"""One function for many things, in several processes at a time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_processes(
    function: Callable[[Item], Result], items: Iterable[Item], processes: int
) -> Iterator[Result]:
    """Yield what ``function`` makes of each item, in their order; with 1, in this process.

    Broken off, it begins no more of them.

    >>> list(in_processes(abs, [-3, 2, -1], processes=1))
    [3, 2, 1]
    """
    if processes <= 1:
        yield from map(function, items)
        return
    # Forking a process that shows its progress in a thread could leave a lock taken for good.
    with ProcessPoolExecutor(processes, get_context("spawn"), _ignore_ctrl_c) as pool:
        try:
            yield from pool.map(function, items)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _ignore_ctrl_c() -> None:
    # Ctrl-C is for whoever started it, who then ends the processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
