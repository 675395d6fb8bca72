"""The journals that a dashboard was given, followed by one thread for all who look at them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.history.journal_history import JournalHistory
from penstock.journal.location import journal_of, refuse_impossible
from penstock.journal.segments import segment_numbers
from penstock.secrets import logger

_log = logger("penstock.dashboard")
_LOOK_EVERY_SECONDS = 0.5
_GLANCE_SEGMENTS = 2
_GRACE_SECONDS = 4.0
_MOMENT_SECONDS = 0.001


class WatchedJournal:
    """One journal: a first look at its newest part, until all of a long one has been read.

    >>> WatchedJournal(Path("no-such-place")).shown.problem is None
    True
    """

    def __init__(self, path: Path) -> None:
        self._whole = JournalHistory(path)
        self._glance: JournalHistory | None = None
        self._is_whole = False

    @property
    def name(self) -> str:
        """What people call it."""
        return self._whole.name

    @property
    def shown(self) -> JournalHistory:
        """What there is to show by now."""
        return self._whole if self._glance is None else self._glance

    @property
    def is_whole(self) -> bool:
        """Whether all that there was has been read, so that nothing older can yet come."""
        return self._is_whole

    @property
    def share_read(self) -> float:
        """How much of it has been read, from 0 to 1."""
        return 1.0 if self._is_whole else self._whole.share_read

    def glance(self, stop: Callable[[], bool]) -> bool:
        """Read the newest part of a long journal, and say whether it is one."""
        if not self._is_long():
            return False
        glance = JournalHistory(self._whole.path, newest_segments=_GLANCE_SEGMENTS)
        glance.refresh(stop)
        self._glance = glance
        return True

    def refresh(self, stop: Callable[[], bool]) -> None:
        """Take in what is new; the first time, all there is."""
        self._whole.refresh(stop)
        if not self._is_whole and not stop():
            first_look, self._glance, self._is_whole = self._glance, None, True
            if first_look is not None:
                first_look.close()

    def close(self) -> None:
        """Let go of the files."""
        self._whole.close()

    def _is_long(self) -> bool:
        try:
            journal = journal_of(self._whole.path)
        except ConfigurationError:
            return False
        return journal.is_dir() and len(segment_numbers(journal)) > 2 * _GLANCE_SEGMENTS


class Watched:
    """All journals of a dashboard, by number; nothing else can be asked for.

    ``clock`` is what "now" is, in seconds since the epoch.
    """

    def __init__(
        self, paths: Sequence[Path], clock: Callable[[], float] = time.time, *, wait: bool = False
    ) -> None:
        if not paths:
            raise ConfigurationError(
                "a dashboard needs a journal to show. Write: penstock dashboard CHECKPOINT"
            )
        for path in paths:
            if not wait:
                journal_of(path)
            elif path.suffix != ".jsonl":
                refuse_impossible(path)
        self.clock = clock
        self.journals = [WatchedJournal(path) for path in paths]
        self._names = _told_apart([each.name for each in self.journals])
        self._ending = threading.Event()
        self._seen = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def names(self) -> list[str]:
        """What the journals are called, each in its own way."""
        return self._names

    def was_seen(self) -> None:
        """Know that somebody has a page before them: what is left to read may be read now."""
        self._seen.set()

    def start(self) -> None:
        """Follow the journals from now on, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="penstock-dashboard", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and let go of the files."""
        self._ending.set()
        self._seen.set()
        if self._thread is not None:
            self._thread.join(5.0)
        for journal in self.journals:
            journal.close()

    def _run(self) -> None:
        long = [self._tried(each, each.glance, self._ending.is_set) for each in self.journals]
        if any(long):
            # Whoever has just started it wants to see something before all of it is read.
            self._seen.wait(_GRACE_SECONDS)
        while not self._ending.is_set():
            for journal in self.journals:
                self._tried(journal, journal.refresh, self._give_way)
            self._ending.wait(_LOOK_EVERY_SECONDS)

    def _tried(
        self,
        journal: WatchedJournal,
        read: Callable[[Callable[[], bool]], object],
        stop: Callable[[], bool],
    ) -> bool:
        """Read; what goes wrong with one journal must not keep the others from being read."""
        try:
            return bool(read(stop))
        except Exception:
            _log.exception("reading the journal %s failed, and goes on", journal.name)
            return False

    def _give_way(self) -> bool:
        """Let those who look at pages go first, for a moment; say whether to end."""
        return self._ending.wait(_MOMENT_SECONDS)


def _told_apart(names: Sequence[str]) -> list[str]:
    """Number names that come more than once.

    >>> _told_apart(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return told
