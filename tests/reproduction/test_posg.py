"""POSG's simulations: what the paper reports comes out, and where it can't, that is said."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.reproduction.posg import COMPARED, reproduce
from penstock.reproduction.posg_change import CHANGE_AT, change_reproduced, tweets
from penstock.reproduction.posg_readings import (
    AS_CODED,
    AS_REPORTED,
    AS_WRITTEN,
    IN_TURN,
    KNOWING,
    KNOWING_LATER,
    PAPERS_RUN,
    readings,
)
from penstock.reproduction.posg_streams import Fared, Setting, Trial, all_fared, fared, stream
from penstock.reproduction.result import Reproduction
from penstock.simulation.operator.groupings import FullKnowledge, RoundRobin

GROUPINGS = {
    IN_TURN: RoundRobin(),
    KNOWING: FullKnowledge(),
    KNOWING_LATER: FullKnowledge(PAPERS_RUN, idle_counts=True),
    **readings(5),
}


def gain(found: Fared, name: str) -> float:
    return float(found.speed_ups(name, IN_TURN).mean()) - 1


def check_gains(streams: int) -> None:
    by_skew = {zipf: fared(Trial(Setting(zipf=zipf), GROUPINGS, streams)) for zipf in COMPARED}
    assert gain(by_skew[0.0], AS_REPORTED) >= 0.04
    assert gain(by_skew[0.5], AS_REPORTED) >= 0.04
    assert gain(by_skew[1.0], AS_REPORTED) >= 0.19
    skewed = by_skew[2.5].mean_seconds
    assert skewed[AS_REPORTED].mean() == pytest.approx(skewed[KNOWING_LATER].mean(), rel=0.03)
    for found in by_skew.values():
        assert gain(found, AS_WRITTEN) < gain(found, AS_CODED) < gain(found, AS_REPORTED) + 0.02
        assert gain(found, AS_REPORTED) < gain(found, KNOWING)
        begun = [each for each in found.run_from[AS_REPORTED] if each is not None]
        assert len(begun) == streams
        # Two windows of 1,024 tuples on five instances, and little more.
        assert 10_240 <= min(begun) <= np.median(begun) < 11_200


def test_the_gains_of_figure_4() -> None:
    check_gains(20)


@pytest.mark.slow
def test_the_gains_of_figure_4_on_as_many_streams_as_the_paper() -> None:
    check_gains(100)


def test_streams_are_as_the_paper_says() -> None:
    tuples = stream(Setting(provisioning=1.02, instances=4), seed=3)
    again, other = (stream(Setting(provisioning=1.02, instances=4), seed) for seed in (3, 4))
    assert (tuples.keys == again.keys).all()
    assert not (tuples.keys == other.keys).all()
    by_key = dict(zip(tuples.keys.tolist(), tuples.seconds.tolist(), strict=True))
    assert [by_key[key] for key in tuples.keys.tolist()] == tuples.seconds.tolist()
    assert set(np.round(tuples.seconds * 1e3).astype(int)) <= set(range(1, 65))
    every = np.diff(tuples.arrival_seconds)
    assert every == pytest.approx(tuples.mean_seconds / 4 * 1.02)
    few = np.unique(stream(Setting(values=2), seed=0).seconds)
    assert few.tolist() == [0.001, 0.064]
    popular = (stream(Setting(zipf=2.5), seed=0).keys == 0).mean()
    assert popular == pytest.approx(1 / (1 / np.arange(1, 4097) ** 2.5).sum(), rel=0.02)


def test_tweets_are_as_skewed_as_the_papers() -> None:
    keys = tweets(5, seed=0).keys
    assert (keys == 0).mean() == pytest.approx(0.065, rel=0.02)


def test_processes_give_the_same_in_the_same_order() -> None:
    groupings = {IN_TURN: RoundRobin(), AS_REPORTED: readings(5)[AS_REPORTED]}
    trials = [Trial(Setting(zipf=zipf, tuples=2_000), groupings, 1) for zipf in (0.0, 2.0, 1.0)]
    alone, shared = (all_fared(trials, lambda *_: None, processes) for processes in (1, 2))
    for one, other in zip(alone, shared, strict=True):
        for name in groupings:
            assert one.mean_seconds[name].tolist() == other.mean_seconds[name].tolist()
    assert len({found.mean_seconds[IN_TURN][0] for found in alone}) == len(trials)


def test_it_recovers_from_a_change() -> None:
    table, figure = change_reproduced()
    found = {row.what: row.here for row in table.rows}
    assert 10_240 <= found["matrices of all instances are there"] < 11_500
    renewed = found["new matrices of all after the change"]
    assert CHANGE_AT < renewed < 95_000
    at = [point for point, x in enumerate(figure.x) if x > renewed + 20_000]
    placed, in_turn = (np.array(figure.series[name])[at] for name in (AS_REPORTED, IN_TURN))
    assert (placed < in_turn / 5).all()
    assert len(figure.x) == 75


@pytest.fixture(scope="module")
def quick() -> Reproduction:
    told: list[float] = []
    found = reproduce(data=None, quick=True, progress=lambda _, share: told.append(share))
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1
    return found


def test_all_figures_and_tables_are_there(quick: Reproduction) -> None:
    figures = [*(f"fig{number}" for number in range(4, 9)), "fig8-per-instance", "fig9", "fig10"]
    assert [figure.name for figure in quick.figures] == figures
    names = [table.name for table in quick.tables]
    numbers = [f"{name}-numbers" for name in figures]
    assert names == [*numbers, "messages", "readings", "micro-batches"]
    assert len({*names, *figures}) == len(names) + len(figures)  # each becomes a file
    for figure in quick.figures:
        for curve in figure.series.values():
            assert len(curve) == len(figure.x)
            assert np.isfinite(curve).all()
        for low, high in figure.bands.values():
            assert all(np.array(low) <= np.array(high))


def test_one_instance_gains_nothing(quick: Reproduction) -> None:
    rows = {row.what: row for table in quick.tables for row in table.rows}
    assert rows["speed-up with k = 1"].here == pytest.approx(1.0)
    assert rows["messages, POSG as written"].here < rows["messages, POSG"].here


def test_what_cant_match_says_why(quick: Reproduction) -> None:
    for table in quick.tables[:6]:
        for row in table.rows:
            if row.what.endswith("of full knowledge") or "growth for a tenth" in row.what:
                assert row.why
    assert len(quick.remarks) >= 4
