"""Watches a query until it ends, is told to stop, or has done enough."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from penstock.cli.progress import Progress
from penstock.cli.run_record import RunRecord
from penstock.journal.reader import Follower

if TYPE_CHECKING:
    from penstock.engine.query import Query

LOOK_EVERY_SECONDS = 0.25


class CtrlC:
    """Notes the first Ctrl-C in ``pressed``; the second raises KeyboardInterrupt as usual."""

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = signal.SIG_DFL

    def __enter__(self) -> CtrlC:
        self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True


@contextmanager
def ending_with_its_reader(query: Query) -> Iterator[None]:
    """End a query after its micro-batch where whoever read its lines had enough, as head has."""
    try:
        yield
    except BrokenPipeError:
        query.stop()
        raise


def watch(
    query: Query,
    progress: Progress,
    is_enough: Callable[[RunRecord], bool] = lambda record: False,
) -> tuple[RunRecord, bool]:
    """Show a query's progress to its end; return what it did and whether Ctrl-C ended it.

    After Ctrl-C, or once ``is_enough`` says so, the running micro-batch is let to its end. Raises
    what made the query fail.
    """
    record = RunRecord()
    with CtrlC() as ctrl_c, Follower(query.journal_dir) as journal, progress:
        while not query.await_termination(timeout=LOOK_EVERY_SECONDS):
            record = record.after(journal.poll())
            progress.show(record)
            if ctrl_c.pressed:
                progress.say("Stopping after the running micro-batch. Ctrl-C again breaks it off.")
            if ctrl_c.pressed or is_enough(record):
                query.stop()
        record = record.after(journal.poll())
        progress.show(record)
        return record, ctrl_c.pressed
