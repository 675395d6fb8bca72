"""The threshold of pane splitting: exact steps, the paper's proposition, and its limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simple_pid import PID

from penstock.errors import ConfigurationError
from penstock.preference.pane_splitting import PaneSplitting
from penstock.preference.split_control import (
    FEW_PARTS,
    LEAST_ALPHA,
    MOST_ALPHA,
    ROOM,
    PanesSeen,
    SplitControl,
    SplitState,
    share_of_panes,
)
from penstock.preference.splitting import PartTurns, rows_a_turn
from penstock.preference.utilisation import uneven_utilisation

CONTROL = SplitControl(PaneSplitting())
SPLIT = PanesSeen(dict.fromkeys(range(FEW_PARTS), (100, 300)))


def after(state: SplitState, seen: PanesSeen, *utilisations: float) -> SplitState:
    for rho in utilisations:
        state, _ = CONTROL.after(state, seen, rho)
    return state


class TestSteps:
    def test_the_threshold_is_alpha_times_mean_and_deviation(self) -> None:
        state = after(SplitState(), SPLIT, 0.9)  # at the set point alpha stays 1
        assert state.usual_rows == pytest.approx(200 + 100)
        assert state.threshold_rows == pytest.approx(300)

    @pytest.mark.parametrize(
        ("utilisations", "alpha"),
        [
            ((0.9,), 1.0),
            ((1.0,), 0.82),  # 1.8 x -0.1
            ((1.0, 1.0), 0.64),
            ((1.0, 0.95), 0.83),  # then 1.8 x -0.05 - 2 x -0.05
            ((9.0,), 0.7),  # 0.3 at most
            ((0.8,), 1.18),
        ],
    )
    def test_alpha_moves_by_gains_and_limits_of_the_paper(
        self, utilisations: tuple[float, ...], alpha: float
    ) -> None:
        assert after(SplitState(), SPLIT, *utilisations).alpha == pytest.approx(alpha)

    @given(st.lists(st.floats(0.7, 1.2), min_size=1, max_size=30))
    def test_alpha_is_what_another_controller_makes_of_it(self, utilisations: list[float]) -> None:
        other = PID(
            1.8, 0, 2, setpoint=0.9, output_limits=(-0.3, 0.3), sample_time=None, auto_mode=True
        )
        state, alpha = SplitState(), 1.0
        whole = 20 * PanesSeen({1: (100,)}).sizes[0]
        seen = PanesSeen({0: (1,) * whole, **dict.fromkeys(range(1, 20), (1,))})
        for rho in utilisations:
            state, _ = CONTROL.after(state, seen, rho)
            alpha = min(max(alpha + other(rho, dt=1.0), LEAST_ALPHA), MOST_ALPHA)
            assert state.alpha == pytest.approx(alpha, abs=1e-12)

    def test_few_parts_are_judged_together_with_those_before(self) -> None:
        state = after(SplitState(), PanesSeen(dict.fromkeys(range(FEW_PARTS), (100,))), 0.9)
        few = after(state, PanesSeen({99: (1_000,)}), 0.9)
        mean = (100 * (FEW_PARTS - 1) + 1_000) / FEW_PARTS
        assert few.usual_rows is not None
        assert mean < few.usual_rows < 1_000
        assert len(few.sizes) == FEW_PARTS

    def test_a_batch_without_rows_changes_nothing(self) -> None:
        state = after(SplitState(), SPLIT, 1.0)
        assert CONTROL.after(state, PanesSeen({}), 0.0) == (state, "no rows came")

    @given(st.lists(st.floats(0, 50), min_size=1, max_size=100))
    def test_alpha_stays_within_its_limits(self, utilisations: list[float]) -> None:
        state = after(SplitState(), SPLIT, *utilisations)
        assert LEAST_ALPHA <= state.alpha <= MOST_ALPHA

    def test_alpha_does_not_wind_up_where_no_pane_is_split(self) -> None:
        whole = PanesSeen(dict.fromkeys(range(FEW_PARTS), (100,)))
        state = after(SplitState(), whole, *[0.1] * 50)
        assert state.alpha == ROOM
        assert "no pane is too large" in CONTROL.after(state, whole, 0.1)[1]
        assert after(state, whole, 2.0, 2.0).threshold_rows == pytest.approx(90)  # split soon

    @pytest.mark.parametrize(
        ("rho", "why"), [(1.2, "split more"), (0.5, "split less"), (0.9, "as before")]
    )
    def test_it_says_why(self, rho: float, why: str) -> None:
        state = after(SplitState(), SPLIT, rho)
        assert why in CONTROL.after(SplitState(pid=state.pid), SPLIT, rho)[1]


def run_stage(
    tasks: int, served_rows: float, pane_rows: list[int], batches: int, upstream: int = 2
) -> tuple[SplitState, list[float], list[float]]:
    """Run batches of such panes through tasks that serve so many rows each; return sigma and rho.

    |- upstream tasks -|  PartTurns  |- tasks -|  utilisation, sizes  |- SplitControl -| ...
    """
    state, sigmas, rhos = SplitState(), list[float](), list[float]()
    for batch in range(batches):
        first = batch * len(pane_rows)
        rows = np.repeat(np.arange(first, first + len(pane_rows)), pane_rows)
        rows = np.random.default_rng(batch).permutation(rows)
        pieces = [rows[one::upstream] for one in range(upstream)]
        turn = rows_a_turn(state.threshold_rows, state.share or 1 / upstream)
        turns = [PartTurns(tasks, turn) for _ in pieces]
        sent = [each.tasks_of(piece) for each, piece in zip(turns, pieces, strict=True)]
        chosen = np.concatenate(sent)
        counts: dict[int, dict[int, int]] = {}
        for pane, task in zip(np.concatenate(pieces).tolist(), chosen.tolist(), strict=True):
            of_pane = counts.setdefault(pane, {})
            of_pane[task] = of_pane.get(task, 0) + 1
        seen = PanesSeen({pane: tuple(parts.values()) for pane, parts in counts.items()})
        rho = uneven_utilisation(np.bincount(chosen, minlength=tasks).tolist(), served_rows)
        state, _ = CONTROL.after(state, seen, rho, share_of_panes([each.rows for each in turns]))
        sigmas.append(seen.parts_per_pane)
        rhos.append(rho)
    return state, sigmas, rhos


class TestProposition:
    @given(
        st.integers(2, 6),
        st.lists(st.integers(200, 2_000), min_size=3, max_size=6),
        st.floats(0.95, 3.0),
    )
    def test_panes_are_split_as_far_as_there_are_tasks_where_that_is_not_enough(
        self, tasks: int, pane_rows: list[int], overload: float
    ) -> None:
        """Proposition 1: even tasks would be utilised more than the set point."""
        served = sum(pane_rows) / (tasks * overload)
        _, sigmas, rhos = run_stage(tasks, served, pane_rows, batches=30)
        assert sigmas[-1] >= 0.95 * tasks
        assert rhos[-1] == pytest.approx(overload, rel=0.05)  # what even tasks have

    @given(st.integers(2, 6), st.lists(st.integers(100, 1_000), min_size=3, max_size=6))
    def test_panes_stay_whole_where_tasks_have_time(self, tasks: int, pane_rows: list[int]) -> None:
        _, sigmas, _ = run_stage(tasks, 10.0 * sum(pane_rows), pane_rows, batches=40)
        assert sigmas[-1] == 1.0

    def test_in_between_panes_are_split_as_much_as_the_set_point_needs(self) -> None:
        """One heavy pane of four: whole it keeps one task busy beyond its time, even tasks not."""
        _, sigmas, rhos = run_stage(4, 1_300.0, [2_400, 400, 400, 400], batches=60)
        settled = rhos[20:]
        assert 0.7 < sum(settled) / len(settled) < 1.0
        assert 1.0 < sum(sigmas[20:]) / 40 < 3.5


class TestShare:
    @pytest.mark.parametrize(
        ("upstream", "share"),
        [
            ([{1: 10}, {1: 10}, {1: 10}, {1: 10}], 0.25),
            ([{1: 40}, {2: 40}], 1.0),
            ([{1: 30}, {1: 10}], 30 / 40 * 0.75 + 10 / 40 * 0.25),
            ([{}, {}], None),
            ([], None),
        ],
    )
    def test_share(self, upstream: list[Mapping[int, int]], share: float | None) -> None:
        assert share_of_panes(upstream) == (None if share is None else pytest.approx(share))

    def test_panes_that_come_from_one_task_each_are_not_split_more(self) -> None:
        """Files of one pane each: a task has all rows of its panes, and the whole threshold."""
        state = SplitState(usual_rows=100.0, share=share_of_panes([{1: 90}, {2: 90}]))
        assert state.share is not None
        turns = PartTurns(2, rows_a_turn(state.threshold_rows, state.share))
        assert len(set(turns.tasks_of(np.ones(90, np.int64)).tolist())) == 1


class TestState:
    def test_it_goes_on_after_json(self) -> None:
        state = after(SplitState(), SPLIT, 1.0, 0.8)
        again = SplitState.from_json(json.loads(json.dumps(state.to_json())))
        assert after(again, SPLIT, 1.1) == after(state, SPLIT, 1.1)
        assert SplitState.from_json(SplitState().to_json()) == SplitState()

    @pytest.mark.parametrize(
        "document",
        [
            None,
            {},
            [],
            {**SplitState().to_json(), "alpha": 99.0},
            {**SplitState().to_json(), "usual_rows": "many"},
            {**SplitState().to_json(), "pane_rows": float("nan")},
        ],
    )
    def test_something_else_is_refused(self, document: Any) -> None:
        with pytest.raises(ValueError, match=r"state|alpha|number|convert"):
            SplitState.from_json(document)

    @given(st.floats(1, 1e6), st.floats(0.1, 20), st.floats(0, 1e6), st.integers(1, 16))
    def test_a_usual_pane_has_no_more_parts_than_tasks(
        self, usual: float, alpha: float, pane_rows: float, tasks: int
    ) -> None:
        state = SplitState(alpha=alpha, usual_rows=usual, pane_rows=pane_rows)
        assert 1 <= state.usual_parts(tasks) <= tasks
        assert SplitState().usual_parts(tasks) == tasks


class TestSettings:
    @pytest.mark.parametrize(
        "wrong", [{"how": "half"}, {"set_point": 0}, {"set_point": 1.1}, {"set_point": "high"}]
    )
    def test_what_makes_no_sense_is_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ConfigurationError):
            PaneSplitting(**wrong)

    def test_a_gain_below_zero_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="kp"):
            PaneSplitting(kp=-1)

    def test_names_are_enough(self) -> None:
        assert PaneSplitting.written(None) == PaneSplitting("pid")
        assert PaneSplitting.written("none").how == "none"
        given = PaneSplitting("pid", set_point=0.8)
        assert PaneSplitting.written(given) is given
