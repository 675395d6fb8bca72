"""Takes up what somebody asks of a running query, and journals that it did."""

from __future__ import annotations

from collections.abc import Callable

from penstock.elasticity.control import Control
from penstock.errors import ConfigurationError
from penstock.journal.control_file import AskedControl, WatchedControl
from penstock.journal.events import ControlTaken, FaultSeen, KnownEvent
from penstock.secrets import logger

_log = logger("penstock.engine")


class TakingControl:
    """Looks at a control file; ``control`` is the last good one, and asks for nothing at first."""

    def __init__(self, watched: WatchedControl | None, write: Callable[[KnownEvent], None]) -> None:
        self._watched = watched
        self._write = write
        self.control = Control()

    def look(self, batch_id: int | None, when: str = "") -> bool:
        """Take up what is asked for, where that is new; say whether it was.

        One that is broken is journaled and changes nothing.
        """
        try:
            news = self._watched.news() if self._watched is not None else ()
        except ConfigurationError as error:
            _log.warning("what is asked of the query can't be read, and is left: %s", error)
            self._write(FaultSeen(batch_id, "control can't be read", str(error)))
            return False
        for overtaken in news[:-1]:
            self._write(_taken(batch_id, overtaken, "overtaken by what was asked next"))
        if not news:
            return False
        self.control = news[-1].control
        self._write(_taken(batch_id, news[-1], when))
        return True


def _taken(batch_id: int | None, asked: AskedControl, when: str) -> ControlTaken:
    control = asked.control
    said = f"{control.describe()}, as {asked.by or 'somebody'} asked"
    return ControlTaken(
        batch_id,
        control.paused,
        control.min_slots,
        control.max_slots,
        control.forced_slots,
        asked.by,
        f"{when}: {said}" if when else said,
    )
