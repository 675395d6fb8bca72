"""KeyState: what a function of ``process`` keeps for one key from micro-batch to micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.errors import ArgumentError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class KeyState:
    """The state of one key: its columns and one timer in event time.

    ``watermark`` is where the watermark stood when the micro-batch began, None before there is one.
    ``timed_out`` is True when the function is called because the timer has come: there are no rows
    then.

    >>> state = KeyState()
    >>> state.update(n=1)
    >>> state.update({"n": state.value["n"] + 1})
    >>> state.value
    {'n': 2}
    """

    __slots__ = (
        "_columns",
        "_has_time",
        "_kept",
        "_timer",
        "_value",
        "is_changed",
        "timed_out",
        "watermark",
    )

    def __init__(
        self,
        value: Mapping[str, Any] | None = None,
        timer: datetime | None = None,
        watermark: datetime | None = None,
        columns: tuple[str, ...] | None = None,
        *,
        has_time: bool = True,
        timed_out: bool = False,
    ) -> None:
        if value is not None and not isinstance(value, Mapping):
            raise ArgumentError(f"a state is a dict of columns, not a {type(value).__name__}.")
        self._kept = None if value is None else dict(value)
        self._value = _copied(self._kept)
        self._timer = timer
        self._columns = columns
        self._has_time = has_time
        self.watermark = watermark
        self.timed_out = timed_out
        self.is_changed = False

    @property
    def value(self) -> dict[str, Any] | None:
        """The columns of the state, or None where the key has none.

        A change to this dict is kept only when it is handed to ``update``.
        """
        return self._value

    @property
    def kept(self) -> dict[str, Any] | None:
        """The columns as they are kept: what was there, and what was handed to ``update``."""
        return self._kept

    def update(self, columns: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Set columns of the state; the others stay, and are null where the key had no state."""
        if columns is not None and not isinstance(columns, Mapping):
            raise ArgumentError(
                f"the columns of a state are a dict, not a {type(columns).__name__}. Write "
                "state.update({'n': 1}) or state.update(n=1)."
            )
        given = {**(columns or {}), **more}
        if self._columns is not None:
            unknown = [name for name in given if name not in self._columns]
            if unknown:
                raise ArgumentError(
                    f"the state has no column '{unknown[0]}'. Its columns are "
                    f"{', '.join(self._columns)}; declare others in process(..., state='...')."
                )
        empty = dict.fromkeys(self._columns or ())
        self._kept = {**empty, **(self._kept or {}), **_own(given)}
        self._value = _copied(self._kept)
        self.is_changed = True

    def clear(self) -> None:
        """Forget the state and the timer; the key then takes no room."""
        self._kept = self._value = None
        self._timer = None
        self.is_changed = True

    @property
    def timer(self) -> datetime | None:
        """When the function is to be called without rows, in event time.

        When ``timed_out`` it is the time that has come; it is gone afterwards unless set again.
        """
        return self._timer

    def set_timer(self, when: datetime) -> None:
        """Have the function called when the watermark has reached a time, in place of any other.

        A key has one timer. Raises ValueError for a time that the watermark has passed already.
        """
        if not isinstance(when, datetime) or when.tzinfo is None:
            raise ArgumentError(
                f"a timer is set to a datetime with a time zone, not to {when!r}. "
                "Write for example state.set_timer(row['ts'] + timedelta(minutes=30))."
            )
        if not self._has_time:
            raise ArgumentError(
                "the stream has no watermark, so a timer would never come. "
                "Write Stream.read(df, time='ts', watermark='10 seconds')."
            )
        if self.watermark is not None and when <= self.watermark:
            raise ArgumentError(
                f"the timer {when.isoformat()} is not after the watermark "
                f"{self.watermark.isoformat()}, so its time has passed. Do at once what it was "
                "for, or write max(when, state.watermark + timedelta(seconds=1))."
            )
        self._timer = when.astimezone(UTC)
        self.is_changed = True

    def clear_timer(self) -> None:
        """Take the timer back."""
        self._timer = None
        self.is_changed = True


def _copied(columns: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a copy for the function to play with, lists and dicts inside included."""
    return None if columns is None else _own(columns)


def _own(columns: dict[str, Any]) -> dict[str, Any]:
    if any(isinstance(value, list | dict) for value in columns.values()):
        return deepcopy(columns)
    return dict(columns)


def micros_of(when: datetime) -> int:
    """Return a moment as microseconds since 1970, exactly.

    >>> micros_of(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (when - _EPOCH) // _MICROSECOND


def moment_of(micros: int) -> datetime:
    """Return the moment of some microseconds since 1970, or the nearest that Python can hold."""
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return (datetime.min if micros < 0 else datetime.max).replace(tzinfo=UTC)
