"""``penstock skyline``: the newest windows of preference queries in a journal, as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.drawing.ticks import local
from penstock.errors import ConfigurationError
from penstock.journal.codec import encode
from penstock.journal.reader import read
from penstock.journal.window_events import SkylineSeen

if TYPE_CHECKING:
    from matplotlib.axis import Axis

_INCHES = (7.0, 4.5)
_DOTS_PER_INCH = 120
# Around what is drawn there is room on the axes, which also has to be a number or a year.
_LARGEST, _YEARS = 1e300, range(1000, 9000)


@dataclass(frozen=True, slots=True)
class NewestWindow:
    """The newest window of one operator: its groups, or one where rows are not grouped."""

    operator: str
    groups: tuple[SkylineSeen, ...]

    @property
    def first(self) -> SkylineSeen:
        """Any of its groups, for what all of them share."""
        return self.groups[0]

    @property
    def title(self) -> str:
        """Which window it is, in UTC."""
        return f"{_moment(self.first.window_start_seconds)} to {_end(self.first)}"


def windows_seen(
    journal: Path, on_read: Callable[[float], object] | None = None
) -> tuple[NewestWindow, ...]:
    """Find the newest window of every preference query in a journal; there may be none."""
    found: dict[str, list[SkylineSeen]] = {}
    for event in read(journal, on_read):
        seen = event.body
        if isinstance(seen, SkylineSeen):
            groups = found.setdefault(seen.operator, [])
            if groups and _window(groups[0]) != _window(seen):
                groups.clear()
            groups.append(seen)
    return tuple(NewestWindow(name, tuple(groups)) for name, groups in found.items())


def newest_windows(
    journal: Path,
    operator: str | None = None,
    on_read: Callable[[float], object] | None = None,
) -> tuple[NewestWindow, ...]:
    """Find the same, or the window of one ``operator``; raise where there is none to be drawn."""
    found = windows_seen(journal, on_read)
    if not found:
        raise ConfigurationError(
            f"{journal} tells of no skyline. One is written when windows of a preference query "
            "over exactly two columns come out; a query's journal is the folder journal/ in its "
            "checkpoint."
        )
    wanted = tuple(each for each in found if operator in (None, each.operator))
    if not wanted:
        names = ", ".join(each.operator for each in found)
        raise ConfigurationError(
            f"{journal} tells of no operator '{operator}'. Those with a skyline: {names}."
        )
    return wanted


def draw(windows: Sequence[NewestWindow], png: Path) -> None:
    """Draw windows below each other; points that no other dominates are joined by steps."""
    # A figure of its own, never pyplot's: nothing global is left behind, and no screen is needed.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = _INCHES
    sheet = Figure((width, height * len(windows)), dpi=_DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(sheet)
    for number, window in enumerate(windows, start=1):
        axes = sheet.add_subplot(len(windows), 1, number)
        for seen in window.groups:
            axes.plot(
                *_points(seen),
                label=seen.key or "",
                marker="o",
                markersize=4,
                linewidth=1.2,
                **_steps(seen),
            )
        first = window.first
        _show_time(axes.xaxis, first.x_is_time)
        _show_time(axes.yaxis, first.y_is_time)
        axes.set_title(f"{window.operator}, {window.title}", fontsize=10, parse_math=False)
        axes.set_xlabel(_better(first.x_column, first.x_is_maximized), parse_math=False)
        axes.set_ylabel(_better(first.y_column, first.y_is_maximized), parse_math=False)
        axes.grid(color="0.9", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if any(seen.key is not None for seen in window.groups):
            for text in axes.legend(frameon=False, fontsize=8).get_texts():
                text.set_parse_math(False)
    try:
        sheet.savefig(png, format="png", metadata={"Software": None})
    except OSError as error:
        raise ConfigurationError(
            f"{png} can't be written to: {error.strerror}. Name another file with --png."
        ) from error


def as_dicts(windows: Sequence[NewestWindow]) -> list[object]:
    """Give the windows as JSON takes them."""
    return [encode(seen) for window in windows for seen in window.groups]


def as_text(windows: Sequence[NewestWindow], png: Path) -> str:
    """Say what was drawn, and where it is."""
    lines = []
    for window in windows:
        rows = [f"{seen.key}: {seen.rows:,}" for seen in window.groups if seen.key is not None]
        total = sum(seen.rows for seen in window.groups)
        groups = f" ({', '.join(rows)})" if rows else ""
        of = f"{total:,} row{'s' * (total != 1)}"
        columns = f"{window.first.x_column} and {window.first.y_column}"
        lines.append(f"{window.operator}, {window.title}: {of} by {columns}{groups}")
    return "\n".join([*lines, f"Drawn in {png}"])


def _window(seen: SkylineSeen) -> tuple[int, float, float]:
    return seen.batch_id, seen.window_start_seconds, seen.window_end_seconds


def _steps(seen: SkylineSeen) -> dict[str, Any]:
    """Say how points are joined: by the border of what they dominate, where that is one."""
    if not seen.is_staircase:
        return {"linestyle": "none"}
    return {"drawstyle": "steps-pre" if seen.x_is_maximized else "steps-post"}


def _points(seen: SkylineSeen) -> tuple[list[Any], list[Any]]:
    """Return x and y of the points that can be drawn."""
    both = zip(_drawn(seen.x, seen.x_is_time), _drawn(seen.y, seen.y_is_time), strict=False)
    known = [(x, y) for x, y in both if x is not None and y is not None]
    return [x for x, _ in known], [y for _, y in known]


def _drawn(numbers: Sequence[float], is_time: bool) -> list[Any]:
    """Return numbers as they are drawn: moments as such, in UTC; None for what no axis can show."""
    if not is_time:
        return [each if abs(each) <= _LARGEST else None for each in numbers]
    moments = [local(each, UTC) if isfinite(each) else None for each in numbers]
    return [each if each and each.year in _YEARS else None for each in moments]


def _show_time(axis: Axis, is_time: bool) -> None:
    if is_time:
        from matplotlib import dates

        of_time: Any = dates  # it has no types
        places = of_time.AutoDateLocator()
        axis.set_major_locator(places)
        axis.set_major_formatter(of_time.ConciseDateFormatter(places))


def _better(column: str, is_maximized: bool) -> str:
    return f"{column} ({'larger' if is_maximized else 'smaller'} is better)"


def _moment(seconds: float) -> str:
    return local(seconds, UTC).isoformat(" ", "milliseconds")[:-6]


def _end(seen: SkylineSeen) -> str:
    start, end = _moment(seen.window_start_seconds), _moment(seen.window_end_seconds)
    day, _, time = end.partition(" ")
    return time if start.startswith(day) else end
