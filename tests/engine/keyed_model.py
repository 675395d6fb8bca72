"""What ``process`` should give: a plain Python fold over the rows, batch by batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from penstock import KeyState

Row = dict[str, Any]
KeyFunction = Callable[[Row, list[Row], KeyState], Any]


def folded(
    function: KeyFunction,
    batches: Iterable[list[Row]],
    keys: tuple[str, ...],
    columns: tuple[str, ...],
    delay: timedelta | None = None,
) -> list[list[Row]]:
    """Return the rows that come out of every batch; with ``delay`` timers come, as ``ts`` says."""
    states: dict[tuple[Any, ...], tuple[Row | None, datetime | None]] = {}
    mark: datetime | None = None
    newest: datetime | None = None
    made = []
    for batch in batches:
        rows_of: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in sorted(batch, key=lambda row: row["ts"]):
            rows_of[tuple(row[key] for key in keys)].append(row)
        due = [key for key, (_, timer) in states.items() if timer and mark and timer <= mark]
        out: list[Row] = []
        for key in [*rows_of, *(key for key in due if key not in rows_of)]:
            value, timer = states.get(key, (None, None))
            state = KeyState(value, timer, mark, columns)
            named = dict(zip(keys, key, strict=True))
            if rows_of.get(key):
                out += _listed(function(named, rows_of[key], state))
            if state.timer is not None and mark is not None and state.timer <= mark:
                state.timed_out = True
                out += _listed(function(named, [], state))
                if state.timer is not None and state.timer <= mark:
                    state.clear_timer()
            if state.value is None and state.timer is None:
                states.pop(key, None)
            else:
                states[key] = (state.value, state.timer)
        if batch and delay is not None:
            latest = max(row["ts"] for row in batch)
            newest = latest if newest is None else max(newest, latest)
            mark = newest - delay
        made.append(out)
    return made


def _listed(result: Any) -> list[Row]:
    if result is None:
        return []
    return [result] if isinstance(result, dict) else list(result)
