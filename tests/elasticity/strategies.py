"""Random observations, as one query would give them batch by batch."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation

READS = {"parse": ("clicks",), "enrich": ("clicks", "parse"), "score": ("parse", "enrich")}

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
    cpu_seconds=st.none() | some_seconds,
    utilisation=st.none() | st.floats(0, 100),
    parts_per_pane=st.none() | st.floats(1, 64),
).flatmap(lambda operator: reading(operator))  # noqa: PLW0108


def reading(operator: OperatorObservation) -> st.SearchStrategy[OperatorObservation]:
    """Let an operator read some of those before it, or say nothing of what it reads."""
    some = st.lists(st.sampled_from(READS[operator.name]), unique=True).map(tuple)
    return some.map(lambda inputs: replace(operator, inputs=inputs))


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
        slots=slots or st.integers(0, 128),
        operators=st.lists(operators, max_size=3, unique_by=lambda each: each.name).map(tuple),
        sources=st.lists(sources, max_size=2, unique_by=lambda each: each.name).map(tuple),
        jobs=st.integers(0, 10),
        used_slots=st.none() | st.integers(1, 128),
        most_slots=st.none() | st.integers(1, 256),
        cores=st.none() | st.integers(1, 64),
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Observation]:
    """Batches of one query in their order, some of them late; now and then the clock jumps."""
    at, known = draw(st.floats(0, 2e9)), []
    shape = draw(observations())
    for batch in range(draw(st.integers(2, 6))):
        seen = replace(
            draw(observations()),
            batch_id=batch,
            at_seconds=at,
            batch_seconds=draw(st.floats(0, 20)),
            trigger_seconds=shape.trigger_seconds,
            most_slots=shape.most_slots,
            cores=shape.cores,
        )
        known.append(seen)
        at += draw(st.floats(0, 30) | st.sampled_from([0.0, 1e-9, -5.0, 1e5]))
    return known
