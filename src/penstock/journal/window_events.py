"""What a journal can say of windows: when they close, how they are formed, what came too late."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class WindowsClosed:
    """The watermark closed windows of an operator, which gave ``rows`` results.

    ``newest_end_seconds`` is the end of the newest of them, event time since the epoch.
    """

    batch_id: int
    operator: str
    windows: int
    rows: int
    newest_end_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PanesStored:
    """What the pane store of an operator holds after a batch.

    ``age_seconds`` is the event time between its oldest pane and the watermark.
    ``open_windows`` is how many windows have rows, whatever their keys, and are not closed;
    ``watermark_seconds`` is the operator's own watermark, event time since the epoch.
    """

    batch_id: int
    operator: str
    segments: int
    rows: int
    bytes: int
    age_seconds: float
    open_windows: int | None = None
    watermark_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class WindowPlanChanged:
    """Windows of an operator are formed in another way from the next batch on, and why."""

    batch_id: int
    operator: str
    plan: str
    reason: str


@dataclass(frozen=True, slots=True)
class PanesSplit:
    """How the panes of a preference query were split over the tasks of a batch.

    A pane was split in ``parts_per_pane`` on average, a part ending at ``threshold_rows``:
    ``alpha`` times what is usual (None: as far as there are tasks). ``utilisation`` is that of its
    tasks. ``next_threshold_rows`` is for the batch that follows, and ``reason`` says why.
    """

    batch_id: int
    operator: str
    panes: int
    parts_per_pane: float
    threshold_rows: float | None
    alpha: float
    utilisation: float
    tasks: int
    next_threshold_rows: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WindowTasks:
    """How partial results became windows of a preference query: as tasks of two kinds.

    ``updates`` put a partial result into a window, ``merges`` put two of one window together.
    ``idle_share`` is the part of their time that tasks waited for others.
    """

    batch_id: int
    operator: str
    windows: int
    partials: int
    updates: int
    merges: int
    tasks: int
    utilisation: float
    idle_share: float


@dataclass(frozen=True, slots=True)
class SkylineSeen:
    """The newest window that came out of a preference query over two columns, for drawing.

    ``x`` and ``y`` are the numbers of its rows in the order of ``x``, ``rows`` how many there were
    before some were left out so that a journal stays small. ``key`` is the group, as text. Smaller
    is better unless ``x_is_maximized`` or ``y_is_maximized`` says that larger is. Moments, where
    ``x_is_time`` or ``y_is_time``, are in seconds since 1970.
    """

    batch_id: int
    operator: str
    window_start_seconds: float
    window_end_seconds: float
    x_column: str
    y_column: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    rows: int
    key: str | None = None
    x_is_maximized: bool = False
    y_is_maximized: bool = False
    x_is_time: bool = False
    y_is_time: bool = False

    @property
    def is_staircase(self) -> bool:
        """Whether no point is better than another in both, so that a border can be drawn of them.

        There is none where a preference of the user's own chose them, or where a number is missing.
        """
        falls = self.x_is_maximized == self.y_is_maximized
        return all((one >= two) if falls else (one <= two) for one, two in pairwise(self.y))


@dataclass(frozen=True, slots=True)
class RowsLate:
    """Rows that came after a window they belong to had closed."""

    batch_id: int
    operator: str
    rows: int
