"""What a reproduction finds: numbers beside the paper's, and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Protocol

from penstock.drawing.figure import Figure

__all__ = ["Beside", "Figure", "Progress", "Reproduce", "Reproduction", "Table"]

Progress = Callable[[str, float], object]
"""Is told what is being done and how much of the whole is done, as a share."""


@dataclass(frozen=True, slots=True)
class Beside:
    """One number of a paper and what came out here; ``why`` they differ, where they must.

    ``paper`` is None where the paper prints no number (a figure whose values can't be read).

    >>> Beside("gain at Zipf-1.0", paper=0.25, here=0.2).difference
    -0.2
    """

    what: str
    paper: float | None
    here: float
    unit: str = ""
    why: str = ""

    @property
    def difference(self) -> float | None:
        """How far it is off, as a share of the paper's number."""
        if not self.paper or not isfinite(self.here):
            return None
        return round((self.here - self.paper) / abs(self.paper), 4)


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers that belong together, such as one table of a paper."""

    name: str
    title: str
    rows: tuple[Beside, ...]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All that came of one paper; ``remarks`` say what can't be simulated, and why."""

    paper: str
    title: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    remarks: tuple[str, ...] = ()


class Reproduce(Protocol):
    """Runs the experiments of one paper. ``data`` is the folder of traces, where there is one."""

    def __call__(self, *, data: Path | None, quick: bool, progress: Progress) -> Reproduction:
        """Run them; ``quick`` is for tests: smaller, with the same tables and figures."""
        ...
