"""Exact results over random lives of a store: late rows, jumps, compactions, changing ladders."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.windows.panes import Panes, paned
from penstock.windows.rungs import Ladder, Rung
from penstock.windows.specs import sliding
from windows.store_model import StoreModel, windows_with


@dataclass(frozen=True)
class Life:
    """How a store lives; what is not said here follows from the seed."""

    panes: Panes
    ladders: tuple[Ladder, ...]
    crossings: bool
    batches: int
    late_share: float
    seed: int


@st.composite
def ladders(draw: st.DrawFn, specs: int) -> Ladder:
    widths = draw(st.lists(st.integers(2, 9), max_size=3))
    rungs = {Rung(width, draw(st.integers(0, width - 1))) for width in widths}
    inverse = draw(st.sets(st.integers(0, specs - 1)))
    return Ladder(tuple(sorted(rungs)), tuple(sorted(inverse)))


@st.composite
def lives(draw: st.DrawFn) -> Life:
    specs = []
    for index in range(draw(st.integers(1, 4))):
        length = draw(st.integers(1, 20))
        slide = draw(st.integers(1, length))
        offset = draw(st.integers(0, slide - 1))
        specs.append(sliding(length, slide, offset=offset, name=f"w{index}"))
    return Life(
        paned(specs),
        tuple(draw(ladders(len(specs))) for _ in range(draw(st.integers(1, 3)))),
        draw(st.booleans()),
        draw(st.integers(1, 40)),
        draw(st.sampled_from([0.0, 0.1, 0.5])),
        draw(st.integers(0, 2**32)),
    )


class LivingStore:
    """Feeds a store with batches and compares every window with a plain count of its rows."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.chance = random.Random(life.seed)
        self.store = StoreModel(life.panes, life.ladders[0], life.crossings)
        self.expected: dict[tuple[int, int], Counter[tuple[int, int]]] = {}
        self.now = self.chance.randint(-20, 20)
        self.numbered = 0

    def rows(self) -> tuple[list[tuple[int, int]], dict[int, int]]:
        rows, spans = [], {}
        for _ in range(self.chance.randint(0, 5)):
            pane = self.now + self.chance.randint(-3, 1)
            if self.chance.random() < self.life.late_share:
                pane -= self.chance.randint(0, 30)
            self.numbered += 1
            rows.append((pane, self.numbered))
            if self.life.crossings and self.chance.random() < 0.5:
                spans[self.numbered] = pane + self.chance.randint(0, 15)
        return rows, spans

    def step(self) -> None:
        rows, spans = self.rows()
        for row in rows:
            last = spans.get(row[1], row[0])
            for index, start, end in windows_with(self.life.panes, row[0], last):
                if self.store.closed is None or end > self.store.closed:
                    self.expected.setdefault((index, start), Counter())[row] += 1
        self.store.add_batch(rows, spans)
        self.now += self.chance.choice([0, 0, 1, 1, 2, 3, 30])
        if self.chance.random() < 0.8:
            self.close()
        self.housekeeping()

    def close(self) -> None:
        through = self.now - self.chance.randint(1, 6)
        if self.store.closed is not None:
            through = max(through, self.store.closed)
        at_most, exact = self.chance.choice([3, 20, 512]), self.chance.choice([0, 512])
        _, emitted = self.store.close(through, max_enumerated=at_most, exact_panes=exact)
        due = {
            (index, start): rows
            for (index, start), rows in self.expected.items()
            if start + self.life.panes.specs[index].length <= through
        }
        assert {window: rows for window, rows in emitted.items() if rows} == due
        for window in due:
            del self.expected[window]

    def housekeeping(self) -> None:
        if self.chance.random() < 0.7:
            self.store.drop_expired()
        fan, max_runs = self.chance.choice([2, 3, 8]), self.chance.choice([3, 64])
        if self.chance.random() < 0.5:
            while self.store.compact(fan=fan, max_runs=max_runs):
                pass
            runs = [s for s in self.store.live() if s.is_delta]
            assert len(runs) <= max_runs
        if self.chance.random() < 0.1:
            self.store.ladder = self.chance.choice(self.life.ladders)
        self.store.reload()


@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lives())
def test_every_window_holds_its_rows_exactly_once(life: Life) -> None:
    living = LivingStore(life)
    for _ in range(life.batches):
        living.step()
