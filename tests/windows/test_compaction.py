"""Compaction: few segments, each partial rewritten a few times, and nothing lost."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from math import ceil, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.compaction import compaction
from penstock.windows.consolidation import plan_closing
from penstock.windows.panes import Panes, paned
from penstock.windows.retention import expired
from penstock.windows.rungs import Ladder, Rung
from penstock.windows.segments import CROSSING, Piece, Segment
from penstock.windows.specs import sliding

PANES = paned([sliding(1_000, 1)])


def run_of(batch: int, first: int, end: int, since: int | None = None) -> Segment:
    return Segment(f"b{batch}", first, end, 1, batch, True, 10, 10, since)


def test_a_few_runs_are_left_alone() -> None:
    store = [run_of(batch, batch, batch + 1) for batch in range(7)]
    assert compaction(PANES, store, Ladder(), None) is None


def test_eight_runs_become_one() -> None:
    store = [run_of(batch, batch - batch % 3, batch + 1) for batch in range(8)]
    plan = compaction(PANES, store, Ladder(), None)
    assert plan is not None
    (rewrite,) = plan.rewrites
    assert rewrite.segment("r", 80, 800) == Segment("r", 0, 8, 1, 7, True, 80, 800, since=0)
    assert rewrite.pieces == tuple(Piece(run.name, run.first, run.end, 1) for run in store)
    assert set(plan.replaced) == {run.name for run in store}


def test_what_crosses_boundaries_comes_along() -> None:
    store = [run_of(batch, batch, batch + 1) for batch in range(8)]
    plan = compaction(PANES, store, Ladder(), None, crossings=True)
    assert plan is not None
    read = {(piece.segment, piece.width) for piece in plan.rewrites[0].pieces}
    assert read == {(run.name, width) for run in store for width in (1, CROSSING)}


def test_long_runs_are_not_rewritten_for_the_sake_of_short_ones() -> None:
    store = [run_of(63, 0, 64, since=0)]
    store += [run_of(batch, batch, batch + 1) for batch in range(64, 72)]
    plan = compaction(PANES, store, Ladder(), None)
    assert plan is not None
    assert set(plan.replaced) == {f"b{batch}" for batch in range(64, 72)}


def test_one_step_makes_up_for_a_time_without_compaction() -> None:
    store = [run_of(63, 0, 64, since=0)]
    store += [run_of(batch, batch, batch + 1) for batch in range(64, 164)]
    plan = compaction(PANES, store, Ladder(), None)
    assert plan is not None
    assert set(plan.replaced) == {f"b{batch}" for batch in range(64, 164)}


def test_panes_that_nobody_needs_are_left_out() -> None:
    store = [run_of(batch, 0, 4_000 + batch) for batch in range(8)]
    plan = compaction(PANES, store, Ladder(), 3_000)
    assert plan is not None
    assert {piece.first for piece in plan.rewrites[0].pieces} == {2_001}
    assert plan.rewrites[0].first == 2_001


def test_entries_are_brought_up_to_the_last_batch_with_late_rows() -> None:
    # batch        0 ... 3          4 ... 7
    # entries      k at [0, 4), [4, 8) up to batch 3
    # late rows                     b5 in pane 6
    store = [run_of(batch, batch * 2, batch * 2 + 2) for batch in range(8)]
    store[5] = run_of(5, 6, 12)
    store.append(Segment("k", 0, 8, 4, through=3, is_delta=False, rows=8, bytes=8))
    plan = compaction(PANES, store, Ladder((Rung(4),)), 8)
    assert plan is not None
    _, entries = plan.rewrites
    assert (entries.first, entries.end, entries.width, entries.through) == (0, 8, 4, 7)
    assert set(entries.pieces) == {Piece("k", 0, 8, 4), Piece("b5", 6, 8, 1)}
    assert [entries.entry_of(pane) for pane in (0, 3, 4, 7)] == [0, 0, 4, 4]
    assert "k" in plan.replaced


def test_what_has_expired_is_dropped_too_before_another_ladder_wants_it_back() -> None:
    # The window [0, 10) is over and of no use, unless the next one were to be formed from it.
    panes = paned([sliding(10, 1)])
    store = [run_of(batch, 4, 12) for batch in range(8)]
    window = Segment("w", 0, 10, 10, through=3, is_delta=False, rows=8, bytes=8)
    plan = compaction(panes, [*store, window], Ladder(), 10)
    assert plan is not None
    assert "w" in plan.replaced
    chained = compaction(panes, [*store, window], Ladder(inverse=(0,)), 10)
    assert chained is not None
    assert [(rewrite.width, rewrite.through) for rewrite in chained.rewrites] == [(1, 7), (10, 7)]


def test_entries_without_late_rows_stay_as_they_are() -> None:
    store = [run_of(batch, batch * 2, batch * 2 + 2) for batch in range(8)]
    kept = Segment("k", 0, 8, 4, through=3, is_delta=False, rows=8, bytes=8)
    plan = compaction(PANES, [*store, kept], Ladder((Rung(4),)), 8)
    assert plan is not None
    assert [(segment.name, segment.through) for segment in plan.restamped] == [("k", 7)]
    assert len(plan.rewrites) == 1
    assert "k" not in plan.replaced


def test_a_fan_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="fan is 1"):
        compaction(PANES, [], Ladder(), None, fan=1)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.integers(2, 9))
def test_there_is_always_a_step_when_there_are_too_many_runs(lengths: list[int], fan: int) -> None:
    store, batch = [], 0
    for length in lengths:
        store.append(run_of(batch + length - 1, batch, batch + length, since=batch))
        batch += length
    for _ in range(len(lengths)):
        plan = compaction(PANES, store, Ladder(), None, fan=fan, max_runs=10)
        if plan is None:
            break
        assert len(plan.replaced) > 1
        store = [segment for segment in store if segment.name not in plan.replaced]
        store.append(plan.rewrites[0].segment(f"r{len(store)}.{plan.rewrites[0].since}", 1, 1))
    assert len(store) <= 10


@dataclass
class Sizes:
    """A store without rows: only how many segments there are and how often each batch moves."""

    panes: Panes
    ladder: Ladder
    segments: dict[str, Segment] = field(default_factory=dict)
    moved: Counter[int] = field(default_factory=Counter)
    named: int = 0
    most: int = 0

    def step(self, batch: int, first: int, has_time: bool = True) -> None:
        self.put(run_of(batch, first, batch + 1))
        plan = plan_closing(self.panes, self.held(), self.ladder, batch - 1, batch)
        for kept in plan.keeps:
            self.put(kept.segment(self.name(), batch, 10, 10))
        for name in expired(self.panes, self.held(), self.ladder, batch):
            del self.segments[name]
        done = compaction(self.panes, self.held(), self.ladder, batch) if has_time else None
        if done is not None:
            for segment in done.restamped:
                self.segments[segment.name] = segment
            for name in done.replaced:
                gone = self.segments.pop(name)
                if gone.is_delta:
                    self.moved.update(range(gone.oldest_batch, gone.through + 1))
            for rewrite in done.rewrites:
                self.put(rewrite.segment(self.name(), 10, 10))
        self.most = max(self.most, len(self.segments))

    def held(self) -> list[Segment]:
        return list(self.segments.values())

    def put(self, segment: Segment) -> None:
        self.segments[segment.name] = segment

    def name(self) -> str:
        self.named += 1
        return f"s{self.named}"


@pytest.mark.parametrize("late_share", [0.0, 0.2, 1.0])
def test_a_batch_per_pane_leaves_few_segments_each_rewritten_a_few_times(late_share: float) -> None:
    store = Sizes(PANES, Ladder((Rung(6), Rung(36), Rung(216))))
    chance = random.Random(1)
    for batch in range(2_500):
        late = chance.randint(1, 700) if chance.random() < late_share else 0
        store.step(batch, batch - late)
    assert store.most <= 70
    assert max(store.moved.values()) <= ceil(log(2_500, 8))


def test_batches_that_rarely_have_time_leave_few_segments_too() -> None:
    store = Sizes(PANES, Ladder((Rung(6), Rung(36))))
    for batch in range(1_600):
        store.step(batch, batch, has_time=batch % 40 == 39)
    assert store.most <= 120  # of which 40 runs and 7 blocks are those since the last step
    assert max(store.moved.values()) <= ceil(log(1_600, 8))
