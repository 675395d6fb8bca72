"""Trials side by side, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.sharedctypes import SynchronizedArray
from multiprocessing.synchronize import Event
from typing import Any

from penstock.errors import ConfigurationError, PenstockError
from penstock.simulation.trial import Outcome, Trial

Progress = Callable[[str, float], object]
"""Is told what runs, or has just run, and how much of the whole is done, as a share."""

_LOOK_SECONDS = 0.2


class _Stopped(Exception):
    """Whoever started the trials does not want them any more."""


def run_trials(
    trials: Sequence[Trial],
    workers: int | None = None,
    on_progress: Progress = lambda what, share: None,
) -> tuple[Outcome, ...]:
    """Run trials, ``workers`` at a time (as many as there are cores unless said), in their order.

    All are checked first. When this is broken off, the processes end within a batch.
    """
    for trial in trials:
        trial.check()
    count = min(len(trials), workers or os.cpu_count() or 1)
    if count <= 1:
        return tuple(
            trial.run(_share_of(number, trials, on_progress)) for number, trial in enumerate(trials)
        )
    return _side_by_side(trials, count, on_progress)


def _share_of(
    number: int, trials: Sequence[Trial], on_progress: Progress
) -> Callable[[float], object]:
    label = trials[number].label
    return lambda share: on_progress(label, (number + min(1.0, share)) / len(trials))


def _side_by_side(
    trials: Sequence[Trial], workers: int, on_progress: Progress
) -> tuple[Outcome, ...]:
    _check_picklable(trials)
    # Forking a process that shows its progress in a thread could leave a lock taken for good.
    spawned = multiprocessing.get_context("spawn")
    shares, stop = spawned.Array("d", len(trials)), spawned.Event()
    with ProcessPoolExecutor(
        workers, mp_context=spawned, initializer=_begin, initargs=(shares, stop)
    ) as pool:
        with _deaf_to_ctrl_c():
            running = {pool.submit(_one, number, each): each for number, each in enumerate(trials)}
        try:
            _watch(running, shares, on_progress)
        except BrokenProcessPool as error:
            raise PenstockError(
                "a process that simulates ended on its own: killed, for want of memory perhaps, or "
                "it could not import your script, whose calls belong under "
                "if __name__ == '__main__'. Write --workers 1, or workers=1, to do without."
            ) from error
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return tuple(done.result() for done in running)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Start processes that Ctrl-C doesn't reach: they inherit that it is ignored here."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals, and may say what to do with them
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _watch(
    running: dict[Future[Outcome], Trial],
    shares: SynchronizedArray[Any],
    on_progress: Progress,
) -> None:
    left, what = set(running), f"{len(running)} runs"
    while left:
        done, left = wait(left, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
        for each in done:
            each.result()  # what went wrong in one is told at once
            what = f"{len(running) - len(left)} of {len(running)}: {running[each].label}"
        on_progress(what, sum(shares[:]) / len(running))


def _check_picklable(trials: Sequence[Trial]) -> None:
    try:
        pickle.dumps(trials[0])
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"this can't be handed to other processes ({error}). Write --workers 1, or "
            "workers=1, to run it in this one."
        ) from error


_shares: SynchronizedArray[Any] | None = None
_stop: Event | None = None


def _begin(shares: SynchronizedArray[Any], stop: Event) -> None:
    """Prepare a process: Ctrl-C is for whoever started it, who then says stop."""
    global _shares, _stop
    _shares, _stop = shares, stop


def _one(number: int, trial: Trial) -> Outcome:
    assert _shares is not None
    outcome = trial.run(lambda share: _tell(number, share))
    _shares[number] = 1.0
    return outcome


def _tell(number: int, share: float) -> None:
    assert _shares is not None
    assert _stop is not None
    _shares[number] = min(1.0, share)
    if _stop.is_set():
        raise _Stopped
