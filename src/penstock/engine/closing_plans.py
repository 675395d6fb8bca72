"""Plans the closings of one windowed operator: what is read, and which blocks are kept."""

from __future__ import annotations

from penstock.windows.consolidation import ClosingPlan, plan_closing
from penstock.windows.ladder import choose_ladder
from penstock.windows.ladder_costs import Sizes
from penstock.windows.panes import Panes
from penstock.windows.retention import expired
from penstock.windows.rungs import Ladder
from penstock.windows.segments import Segment

LADDER_PERIOD = 32


class ClosingPlans:
    """Plans by what is stored; ``ladder`` is which blocks are worth keeping, as sizes are now.

    ``crossings`` says that rows may lie across panes, ``invertible`` that panes can be taken out
    of a window again. ``reads_per_partial`` is how often a partial is read, by the newest plan.
    """

    def __init__(self, panes: Panes, *, crossings: bool, invertible: bool) -> None:
        self._panes = panes
        self._crossings = crossings
        self._invertible = invertible and not crossings
        self._ladder_age = LADDER_PERIOD
        self.ladder = Ladder()
        self.reads_per_partial = 1.0

    def plan(self, segments: tuple[Segment, ...], before: int, through: int) -> ClosingPlan | None:
        """Plan the windows that end after pane ``before`` and by ``through``; None for none."""
        if through == before:
            return None
        self._choose_ladder(segments)
        plan = plan_closing(
            self._panes, segments, self.ladder, before, through, crossings=self._crossings
        )
        if plan.merges:
            # Each pane that the watermark passes was read this often, on average.
            self.reads_per_partial = plan.inputs / (through - before)
        return None if plan.is_empty else plan

    def live(self, segments: tuple[Segment, ...], closed: int) -> tuple[Segment, ...]:
        """Return the segments that a window may still need."""
        gone = set(expired(self._panes, segments, self.ladder, closed))
        return tuple(each for each in segments if each.name not in gone)

    def _choose_ladder(self, segments: tuple[Segment, ...]) -> None:
        """Look now and then whether other blocks are worth keeping."""
        self._ladder_age += 1
        if self._ladder_age < LADDER_PERIOD:
            return
        self._ladder_age = 0
        self.ladder = choose_ladder(
            self._panes,
            Sizes.measured(segments),
            invertible=self._invertible,
            current=None if self.ladder.is_empty else self.ladder,
        )
