"""Sends a batch to a sink again while what it writes to is away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from penstock.errors import SinkUnavailable
from penstock.journal.events import FaultSeen
from penstock.patience import Patience
from penstock.sinks.sink import RETRIES, RETRY_SECONDS, Sink

FAULT = "a sink could not be reached"
_LOOK_EVERY_SECONDS = 0.1

_log = logging.getLogger("penstock.engine")


class StopRequested(Exception):
    """Keeps a micro-batch from starting, or from going on, while the query is being stopped."""


def with_patience(
    act: Callable[[], None],
    sink: Sink,
    batch_id: int | None,
    tell: Callable[[FaultSeen], object],
    is_stopping: Callable[[], bool] = lambda: False,
) -> None:
    """Do something with a sink, again and again while it is unavailable, as long as it says.

    Every try that failed is told. Sinks may be written to twice: a batch replaces its first try.
    Their rows are kept meanwhile, unless they claim to read all in one job; then a job that failed
    half-way has spoilt what Spark counts on the way, and only a restart makes that good.
    """
    patience = _patience_of(sink)
    waits = patience.waits()
    for tried in range(1, patience.retries + 2):
        try:
            act()
            return
        except SinkUnavailable as error:
            wait = next(waits, None)
            if wait is None:
                raise _gave_up(error, patience, batch_id) from error
            tries = f"Try {tried} of {patience.retries + 1}, the next in {wait:g} s"
            detail = f"{_sentence(error)} {tries}"
            _log.warning("%s: %s", FAULT, detail)
            tell(FaultSeen(batch_id, FAULT, detail))
        _wait(wait, batch_id, is_stopping)


def _patience_of(sink: Sink) -> Patience:
    if getattr(sink, "reads_all", False):
        return Patience(0, RETRY_SECONDS)
    return Patience.of(
        sink.describe(),
        getattr(sink, "retries", RETRIES),
        getattr(sink, "retry_seconds", RETRY_SECONDS),
    )


def _gave_up(error: SinkUnavailable, patience: Patience, batch_id: int | None) -> SinkUnavailable:
    if batch_id is None:
        way_out = "Nothing was read yet"
    else:
        way_out = f"Batch {batch_id} is not committed, and nothing is lost or doubled"
    tries = f"{patience.retries + 1} times within {patience.total_seconds:g} s"
    return SinkUnavailable(
        f"{_sentence(error)} It was tried {tries if patience.retries else 'once'}. {way_out}: "
        "start the query again with the same checkpoint when it is back. To wait longer, give the "
        "sink more retries"
    )


def _sentence(error: SinkUnavailable) -> str:
    return f"{str(error).rstrip('.')}."


def _wait(seconds: float, batch_id: int | None, is_stopping: Callable[[], bool]) -> None:
    """Wait, but not while somebody waits for the query to stop."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if is_stopping():
            raise StopRequested(f"micro-batch {batch_id} was broken off")
        time.sleep(min(left, _LOOK_EVERY_SECONDS))
