"""What is planned of the stored panes, and what the journal is told of it, without Spark."""

from __future__ import annotations

import pytest

from penstock.engine import closing_plans
from penstock.engine.closing_plans import ClosingPlans
from penstock.engine.partials import PartialCounts
from penstock.engine.window_events import WindowEvents
from penstock.engine.window_state import WindowState
from penstock.journal.window_events import PanesStored, RowsLate, WindowPlanChanged, WindowsClosed
from penstock.windows.consolidation import ClosingPlan
from penstock.windows.panes import paned
from penstock.windows.rungs import Ladder, Rung
from penstock.windows.segments import Piece, Segment
from penstock.windows.specs import sliding

PANES = paned([sliding("3 seconds", "1 second")])
FIVE = Segment("0", 0, 5, 1, through=0, is_delta=True, rows=5, bytes=100)


def plans() -> ClosingPlans:
    return ClosingPlans(PANES, crossings=False, invertible=False)


def test_windows_that_the_watermark_passed_are_planned() -> None:
    planner = plans()
    assert planner.plan((FIVE,), 3, 3) is None
    plan = planner.plan((FIVE,), 3, 5)
    assert plan is not None
    assert [(merge.start, merge.end) for merge in plan.merges] == [(1, 4), (2, 5)]
    assert planner.reads_per_partial == 3
    assert planner.plan((), 5, 6) is None


def test_panes_that_no_window_needs_are_dropped() -> None:
    planner = plans()
    assert planner.live((FIVE,), 6) == (FIVE,)  # a window from 4 on is open
    assert planner.live((FIVE,), 7) == ()


def test_blocks_are_chosen_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = iter([Ladder((Rung(2),)), Ladder((Rung(3),))])
    monkeypatch.setattr(closing_plans, "choose_ladder", lambda *_, **__: next(chosen))
    planner = plans()
    ladders = []
    for through in range(1, closing_plans.LADDER_PERIOD + 2):
        planner.plan((), through - 1, through)
        ladders.append(planner.ladder)
    assert ladders[0] == ladders[-2] == Ladder((Rung(2),))
    assert ladders[-1] == Ladder((Rung(3),))


def test_the_journal_is_told_of_what_changed_and_of_what_is_stored() -> None:
    told = WindowEvents("windows", PANES)
    plan = plans().plan((FIVE,), 3, 5)
    state = WindowState(segments=(FIVE,), closed=5)
    kept = Ladder((Rung(2),), reason="often read")
    counts = PartialCounts(late_rows=2)
    first = list(told.events(7, state, counts, plan, kept, results=9, low_micros=5_250_000))
    assert [type(event) for event in first] == [
        RowsLate,
        WindowsClosed,
        WindowPlanChanged,
        PanesStored,
    ]
    assert first[0] == RowsLate(7, "windows", 2)
    assert first[1] == WindowsClosed(7, "windows", 2, 9, newest_end_seconds=5.0)
    # Of panes 0 to 4, [3, 6) and [4, 7) are not closed.
    assert first[3] == PanesStored(
        7, "windows", 1, 5, 100, age_seconds=5.0, open_windows=2, watermark_seconds=5.25
    )
    (stored,) = told.events(8, WindowState(), PartialCounts(), None, kept, results=0)
    assert stored == PanesStored(8, "windows", 0, 0, 0, age_seconds=0.0, open_windows=0)


def test_the_newest_window_of_a_closing_in_bulk_is_the_last_that_has_rows() -> None:
    plan = ClosingPlan(after=2, through=100, is_bulk=True, reads=(Piece("0", 0, 5, 1),))
    told = WindowEvents("windows", PANES)
    events = list(told.events(7, WindowState(closed=100), PartialCounts(), plan, Ladder(), 3))
    assert isinstance(events[0], WindowsClosed)
    assert events[0].newest_end_seconds == 7.0  # [4, 7) is the last that holds pane 4
