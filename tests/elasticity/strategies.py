"""Random observations, as one query would give them batch by batch."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation

rows = st.integers(0, 10**7)
some_seconds = st.floats(0, 1e4)

operators = st.builds(
    OperatorObservation,
    name=st.sampled_from(["parse", "enrich", "score"]),
    rows_in=rows,
    rows_out=rows,
    busy_seconds=some_seconds,
    tasks=st.integers(0, 64),
    slowest_task_seconds=some_seconds,
    mean_task_seconds=some_seconds,
    failed_rows=rows,
    estimated=st.booleans(),
)

sources = st.builds(
    SourceObservation,
    name=st.sampled_from(["clicks", "views"]),
    rows=rows,
    waiting_rows=st.none() | rows,
)


def observations(slots: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[Observation]:
    return st.builds(
        Observation,
        batch_id=st.integers(-1, 10**6),
        at_seconds=st.floats(0, 2e9),
        batch_seconds=some_seconds,
        trigger_seconds=st.none() | st.floats(0.1, 600),
        slots=slots or st.integers(1, 128),
        operators=st.lists(operators, max_size=3, unique_by=lambda each: each.name).map(tuple),
        sources=st.lists(sources, max_size=2, unique_by=lambda each: each.name).map(tuple),
        jobs=st.integers(0, 10),
    )
