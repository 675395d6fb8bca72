"""What follows from what was measured."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation


def observed(*sources: SourceObservation) -> Observation:
    return Observation(3, 100.0, 0.5, None, slots=4, sources=sources)


@pytest.mark.parametrize(
    ("rows_in", "rows_out", "selectivity"),
    [(200, 50, 0.25), (10, 30, 3.0), (10, 0, 0.0), (0, 0, None), (0, 5, None)],
)
def test_selectivity(rows_in: int, rows_out: int, selectivity: float | None) -> None:
    operator = OperatorObservation("f", rows_in, rows_out, 0.1, 2, 0.06, 0.05)
    assert operator.selectivity == selectivity


def test_rows_of_all_sources_add_up() -> None:
    assert observed(SourceObservation("a", 3), SourceObservation("b", 40)).rows_in == 43
    assert observed().rows_in == 0


@pytest.mark.parametrize(
    ("waiting", "total"),
    [((), None), ((None,), None), ((None, None), None), ((5, None), 5), ((5, 7), 12), ((0,), 0)],
)
def test_waiting_rows_are_those_of_the_sources_that_tell(
    waiting: tuple[int | None, ...], total: int | None
) -> None:
    sources = [SourceObservation(f"s{n}", 1, each) for n, each in enumerate(waiting)]
    assert observed(*sources).waiting_rows == total


def test_nobody_changes_what_was_measured() -> None:
    with pytest.raises(FrozenInstanceError):
        observed().slots = 5  # type: ignore[misc]
