"""From what tasks told for drawing to the journal: the newest window of a micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from penstock.engine.python_step import Tally
from penstock.journal.window_events import SkylineSeen
from penstock.preference.drawn_points import newest
from penstock.preference.preference import Preference


def skylines_seen(
    batch_id: int,
    operator: str,
    preference: Preference,
    tallies: Iterable[Tally],
    times_of: Callable[[int], tuple[int, int]],
) -> Iterator[SkylineSeen]:
    """Yield the newest window that came out of a batch, once for each group.

    ``times_of`` turns the number of a result of the closing into the start and end of its window,
    in microseconds.
    """
    points = newest(each for tally in tallies for each in tally.drawn)
    for each in points:
        if len(each.window) == 1:
            start, end = times_of(each.window[0])
        else:
            length, end = each.window
            start = end - length
        x_column, y_column = preference.columns
        x_is_maximized, y_is_maximized = preference.is_maximized
        yield SkylineSeen(
            batch_id=batch_id,
            operator=operator,
            window_start_seconds=start / 1e6,
            window_end_seconds=end / 1e6,
            x_column=x_column,
            y_column=y_column,
            x=each.x,
            y=each.y,
            rows=each.rows,
            key=each.key,
            x_is_maximized=x_is_maximized,
            y_is_maximized=y_is_maximized,
            x_is_time=each.x_is_time,
            y_is_time=each.y_is_time,
        )
