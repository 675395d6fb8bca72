"""The marks of all sources of a query: moving them on, and the lowest, which closes windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.windows.watermark import NOTHING_SEEN, Mark, Seen, Watermark, latest


def advance_all(
    rules: Mapping[str, Watermark],
    before: Mapping[str, Mark],
    seen: Mapping[str, Seen],
    now_seconds: float,
) -> dict[str, Mark]:
    """Return the mark of every source that has a rule, after a batch.

    A source that is not in ``seen`` had no rows. Whatever a rule answers, its watermark does not go
    back.

    >>> from penstock.windows.watermark import FixedDelay
    >>> seen = {"clicks": Seen(rows=1, newest_micros=7_000_000, oldest_micros=7_000_000)}
    >>> advance_all({"clicks": FixedDelay.of("2 seconds")}, {}, seen, 0.0)["clicks"].micros
    5000000
    """
    return {
        name: _advance(rule, before.get(name, Mark()), seen.get(name, NOTHING_SEEN), now_seconds)
        for name, rule in rules.items()
    }


def _advance(rule: Watermark, mark: Mark, seen: Seen, now_seconds: float) -> Mark:
    after = rule.advance(mark, seen)
    is_awake = seen.rows > 0 or mark.seen_at_seconds is None
    return replace(
        after,
        micros=mark.micros if after.micros is None else latest(mark.micros, after.micros),
        seen_at_seconds=now_seconds if is_awake else mark.seen_at_seconds,
    )


def restarted(marks: Mapping[str, Mark], now_seconds: float) -> dict[str, Mark]:
    """Return the marks for a query that starts again: no source is idle yet.

    While a query is down it sees no rows of anything. If that counted as idle, the first source to
    show rows after a long night would make the others' late.
    """
    return {
        name: mark if mark.seen_at_seconds is None else replace(mark, seen_at_seconds=now_seconds)
        for name, mark in marks.items()
    }


def lowest(
    marks: Mapping[str, Mark],
    idle_after_seconds: Mapping[str, float | None],
    now_seconds: float,
    floor_micros: int | None,
) -> int | None:
    """Return the watermark of all sources together: the lowest of those that are not idle.

    A source is idle when it had no rows for its ``idle_after_seconds``; without one it never is. A
    source that is not idle and had no row yet holds the watermark. When all are idle it is the
    highest that is known. ``floor_micros`` is the last answer, below which it never goes: when an
    idle source wakes up, its rows from before are late.

    >>> marks = {"a": Mark(micros=5_000, seen_at_seconds=0.0),
    ...          "b": Mark(micros=9_000, seen_at_seconds=60.0)}
    >>> lowest(marks, {}, 60.0, None), lowest(marks, {"a": 30.0}, 60.0, None)
    (5000, 9000)
    """
    awake = [
        mark.micros
        for name, mark in marks.items()
        if not is_idle(mark, idle_after_seconds.get(name), now_seconds)
    ]
    known = [mark.micros for mark in marks.values() if mark.micros is not None]
    if None in awake:
        return floor_micros
    candidates = [micros for micros in awake if micros is not None]
    if candidates:
        return latest(floor_micros, min(candidates))
    return latest(floor_micros, max(known)) if known else floor_micros


def is_idle(mark: Mark, idle_after_seconds: float | None, now_seconds: float) -> bool:
    """Whether a source has been silent for long enough not to be waited for.

    >>> is_idle(Mark(seen_at_seconds=10.0), 30.0, now_seconds=40.0)
    True
    """
    if idle_after_seconds is None or mark.seen_at_seconds is None:
        return False
    return now_seconds - mark.seen_at_seconds >= idle_after_seconds
