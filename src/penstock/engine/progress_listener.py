"""Hears what Spark tells of the streaming queries of a session, and hands it on at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


@dataclass(frozen=True, slots=True)
class Reported:
    """A query finished a micro-batch; ``json`` is its progress as Spark writes it."""

    json: str


@dataclass(frozen=True, slots=True)
class WasIdle:
    """A query had no new rows for a while."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A query ended; ``error`` is None where it was stopped."""

    run_id: str
    error: str | None


Heard = Reported | WasIdle | Ended


class ProgressListener(StreamingQueryListener):
    """Puts all that it hears into ``hear``, which must neither wait nor raise.

    Spark's own thread calls this: whatever goes wrong here must not reach it.
    """

    def __init__(self, hear: Callable[[Heard], None]) -> None:
        self._hear = hear

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Wait for its first micro-batch: only then is there something to say."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Hand on a progress."""
        with suppress(Exception):
            self._hear(Reported(event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Hand on that there was nothing to do."""
        with suppress(Exception):
            self._hear(WasIdle(str(event.runId)))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Hand on an end."""
        with suppress(Exception):
            self._hear(Ended(str(event.runId), event.exception))
