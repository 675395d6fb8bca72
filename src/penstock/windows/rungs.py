"""Rungs and ladders: which intermediate results the pane store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.windows.durations import in_words
from penstock.windows.panes import Panes


@dataclass(frozen=True, slots=True, order=True)
class Rung:
    """Blocks of ``width`` panes that lie side by side, one of them at pane ``phase``."""

    width: int
    phase: int = 0

    def __post_init__(self) -> None:
        if self.width < 2:
            raise ValueError(f"a rung of {self.width} panes is no block")
        if not 0 <= self.phase < self.width:
            raise ValueError(f"the phase of a rung is within its width: {self}")

    def start_before(self, pane: int) -> int:
        """Return the start of the block that holds a pane."""
        return pane - (pane - self.phase) % self.width

    def start_from(self, pane: int) -> int:
        """Return the first start of a block at or after a pane."""
        return pane + (self.phase - pane) % self.width


@dataclass(frozen=True, slots=True)
class Ladder:
    """What to keep: blocks of every rung, and the last window of the specs in ``inverse``.

    ``inverse`` holds positions in ``Panes.specs``: the next window of such a spec may be formed as
    the kept one plus new panes minus old panes. ``reason`` says why these were chosen.

    >>> Ladder((Rung(12), Rung(144))).is_nested, Ladder((Rung(4), Rung(6))).is_nested
    (True, False)
    """

    rungs: tuple[Rung, ...] = ()
    inverse: tuple[int, ...] = ()
    reason: str = ""

    @property
    def is_nested(self) -> bool:
        """Whether every block is a whole number of blocks of each narrower rung."""
        return nested([(rung.width, rung.phase) for rung in self.rungs])

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not self.rungs and not self.inverse

    def describe(self, panes: Panes) -> str:
        """Say what is kept, as ``explain()`` shows it.

        >>> from penstock.windows.panes import paned
        >>> from penstock.windows.specs import sliding
        >>> panes = paned([sliding("1 hour", "10 seconds")])
        >>> Ladder((Rung(6), Rung(60)), inverse=(0,)).describe(panes)
        "blocks of 1 minute and 10 minutes, the last window of '1 hour every 10 seconds'"
        """
        kept = []
        if self.rungs:
            widths = sorted({rung.width for rung in self.rungs})
            kept.append(f"blocks of {_listed([in_words(w * panes.micros) for w in widths])}")
        if self.inverse:
            names = [f"'{panes.specs[index].spec.name}'" for index in self.inverse]
            kept.append(f"the last window of {_listed(names)}")
        return ", ".join(kept) or "nothing"


def nested(rungs: Sequence[tuple[int, int]]) -> bool:
    """Say whether rungs, as (width, phase), are aligned so that no two blocks half overlap."""
    ordered = sorted(set(rungs))
    return all(
        wide % narrow == 0 and (wide_phase - narrow_phase) % narrow == 0 and wide > narrow
        for (narrow, narrow_phase), (wide, wide_phase) in pairwise(ordered)
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
