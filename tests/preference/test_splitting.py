"""Pane splitting: Algorithm 1 as written, as machine code, and as the tasks of a batch do it."""

from __future__ import annotations

from collections import Counter
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.preference.splitting import AdaptiveSplitting, PartTurns, rows_a_turn
from penstock.preference.splitting_kernel import split

PANES = st.lists(st.integers(0, 5), max_size=200)


def sent_one_by_one(panes: list[int], threshold: float, workers: int) -> list[int]:
    splitting = AdaptiveSplitting(threshold)
    waiting = [0] * workers
    chosen = []
    for pane in panes:
        chosen.append(splitting.send(pane, waiting))
        waiting[chosen[-1]] += 1
    return chosen


class TestAlgorithm:
    def test_a_pane_stays_with_its_owner_until_the_threshold(self) -> None:
        # owner   0  0  0  | 1  1  1 |  0 ...  the pane's rows, three a part
        assert sent_one_by_one([9] * 8, 3, 2) == [0, 0, 0, 1, 1, 1, 0, 1]

    def test_the_least_loaded_worker_gets_the_next_pane(self) -> None:
        assert sent_one_by_one([1, 1, 1, 2, 3, 2], 10, 3) == [0, 0, 0, 1, 2, 1]

    def test_rows_that_were_served_do_not_count_as_load(self) -> None:
        splitting = AdaptiveSplitting(threshold=2)
        assert [splitting.send(1, [0, 5]) for _ in range(2)] == [0, 0]
        assert splitting.send(1, [9, 5]) == 1
        assert splitting.send(2, [0, 5]) == 0

    def test_a_lower_threshold_splits_a_pane_that_is_open(self) -> None:
        splitting = AdaptiveSplitting(threshold=100)
        assert [splitting.send(1, [1, 0]) for _ in range(3)] == [1, 1, 1]
        splitting.threshold = 3
        assert splitting.send(1, [0, 3]) == 0

    def test_a_worker_that_goes_hands_its_panes_over(self) -> None:
        splitting = AdaptiveSplitting(threshold=10)
        splitting.send(1, [0, 1, 2])
        splitting.send(2, [1, 0, 2])
        splitting.remove([0], [0, 3, 2])
        assert splitting.owner == {1: 2, 2: 1}
        assert splitting.close(1) == (1, 0)  # the part of the worker that left, an empty one
        assert splitting.parts_per_pane == 1.0

    @given(PANES, st.floats(0.5, 60), st.integers(1, 6))
    def test_machine_code_decides_the_same(
        self, panes: list[int], threshold: float, workers: int
    ) -> None:
        waiting = np.zeros(workers, np.int64)
        fast = split(np.array(panes, np.int64), 6, threshold, waiting)
        slow = sent_one_by_one(panes, threshold, workers)
        assert fast.tolist() == slow
        assert waiting.tolist() == [slow.count(worker) for worker in range(workers)]


class TestTurns:
    @given(PANES, st.integers(1, 60), st.integers(1, 6), st.integers(1, 50))
    def test_every_row_goes_to_one_task_however_rows_are_cut_into_batches(
        self, panes: list[int], turn_rows: int, tasks: int, cut: int
    ) -> None:
        rows = np.array(panes, np.int64)
        whole = PartTurns(tasks, turn_rows).tasks_of(rows).tolist()
        turns = PartTurns(tasks, turn_rows)
        pieces = [turns.tasks_of(rows[at : at + cut]) for at in range(0, len(rows), cut)]
        assert [int(task) for piece in pieces for task in piece] == whole
        assert all(0 <= task < tasks for task in whole)
        assert turns.rows == Counter(panes)

    @given(PANES, st.integers(1, 60), st.integers(1, 6))
    def test_parts_are_as_large_as_the_threshold_says(
        self, panes: list[int], turn_rows: int, tasks: int
    ) -> None:
        chosen = PartTurns(tasks, turn_rows).tasks_of(np.array(panes, np.int64)).tolist()
        for pane, rows in Counter(panes).items():
            parts = Counter(task for row, task in zip(panes, chosen, strict=True) if row == pane)
            assert len(parts) == min(tasks, ceil(rows / turn_rows))
            if rows <= tasks * turn_rows:
                assert max(parts.values()) <= turn_rows
            else:  # it is split as far as there are tasks, a turn more or less
                assert max(parts.values()) - min(parts.values()) <= turn_rows

    @given(
        st.lists(st.lists(st.integers(0, 3), max_size=60), min_size=1, max_size=5),
        st.floats(1, 100),
        st.integers(1, 6),
    )
    def test_tasks_that_share_the_threshold_do_not_split_more(
        self, upstream: list[list[int]], threshold: float, tasks: int
    ) -> None:
        """Parts of a pane meet: it has as many as its largest share has turns."""
        turn = rows_a_turn(threshold, 1 / len(upstream))
        seen: dict[int, set[int]] = {}
        for panes in upstream:
            chosen = PartTurns(tasks, turn).tasks_of(np.array(panes, np.int64)).tolist()
            for pane, task in zip(panes, chosen, strict=True):
                seen.setdefault(pane, set()).add(task)
        for pane, parts in seen.items():
            largest = max(panes.count(pane) for panes in upstream)
            assert len(parts) == min(tasks, ceil(largest / turn))

    def test_negative_panes_take_turns_too(self) -> None:
        panes = np.arange(-4, 4)
        assert PartTurns(4, 10).tasks_of(panes).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]

    @pytest.mark.parametrize(
        ("threshold", "share", "rows"), [(None, 0.5, 1), (10.0, 0.5, 5), (0.2, 0.1, 1), (7, 0.5, 4)]
    )
    def test_rows_a_turn(self, threshold: float | None, share: float, rows: int) -> None:
        assert rows_a_turn(threshold, share) == rows


def test_turns_split_as_much_as_one_emitter_that_sees_all() -> None:
    """Bursts over four upstream tasks: the same split factor, tasks a little less even."""
    rng = np.random.default_rng(7)
    parts, panes_seen, ours = 0, 0, 0
    for first in range(0, 400, 8):
        sizes = np.maximum(1, rng.lognormal(4, 1, 8).astype(int))
        panes = rng.permutation(np.repeat(np.arange(8), sizes))
        threshold = float(sizes.mean())
        workers = split(panes, 8, threshold, np.zeros(4, np.int64))
        parts += len(set(zip(panes.tolist(), workers.tolist(), strict=True)))
        pairs = set()
        for mine in (panes[one::4] for one in range(4)):
            tasks = PartTurns(4, rows_a_turn(threshold, 0.25)).tasks_of(mine + first)
            pairs |= set(zip(mine.tolist(), tasks.tolist(), strict=True))
        ours += len(pairs)
        panes_seen += 8
    assert 1.2 < parts / panes_seen < 3
    assert ours / parts == pytest.approx(1.0, abs=0.08)
