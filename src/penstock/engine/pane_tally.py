"""What a task of a preference query tells the driver of the panes it worked on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PanePart:
    """A task's part of a pane: how many rows went in, and how many were left as points.

    ``part`` is the number of the task; keys of a pane are taken together.
    """

    pane: int
    part: int
    rows: int
    points: int
