"""Random topologies that are valid by construction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from hypothesis import strategies as st

from penstock.topology.dag import Topology
from penstock.topology.operators import DeadLetters, OnError, Operator, PythonOperator
from topology.builders import (
    dead_letters,
    filter_,
    join,
    late_rows,
    map_,
    map_batches,
    select,
    sink,
    source,
    union,
)

Kind = Literal[
    "map", "map_batches", "select", "explode", "filter", "union", "join", "late", "letters"
]
ALL_KINDS: tuple[Kind, ...] = get_args(Kind)
ON_ERROR: tuple[OnError, ...] = get_args(OnError)


@st.composite
def topologies(
    draw: st.DrawFn, kinds: tuple[Kind, ...] = ALL_KINDS, *, python_first: bool = False
) -> Topology:
    """Up to three sources and ten operators, and a sink wherever a branch would lead nowhere.

    With ``python_first`` every source is read by a Python operator.
    """
    made: dict[str, Operator] = {}
    for number in range(draw(st.integers(1, 3))):
        _add(made, source(f"source_{number}"))
        if python_first:
            _add(made, map_(f"first_{number}", f"source_{number}"))
    for number, kind in enumerate(draw(st.lists(st.sampled_from(kinds), max_size=10))):
        operator = _operator(draw, made, f"{kind}_{number}", kind)
        if operator is not None:
            _add(made, operator)
    ends = [name for name in made if name not in set(_read_names(made))]
    extra = draw(st.lists(st.sampled_from(list(made)), max_size=2))
    for number, name in enumerate([*ends, *extra]):
        _add(made, sink(f"sink_{number}", name))
    return Topology(draw(st.permutations(list(made.values()))))


def _add(made: dict[str, Operator], operator: Operator) -> None:
    made[operator.name] = operator


def _operator(draw: st.DrawFn, made: dict[str, Operator], name: str, kind: Kind) -> Operator | None:
    timed = [each for each, operator in made.items() if not isinstance(operator, DeadLetters)]
    reads = draw(st.sampled_from(timed if kind == "late" else list(made)))
    on_error = draw(st.sampled_from(ON_ERROR))
    match kind:
        case "map":
            return map_(name, reads, on_error)
        case "map_batches":
            return map_batches(name, reads, on_error)
        case "select":
            return select(name, reads)
        case "explode":
            return select(name, reads, "explode(x)", row_by_row=False)
        case "filter":
            return filter_(name, reads)
        case "union":
            more = draw(st.lists(st.sampled_from(list(made)), min_size=1, max_size=2))
            return union(name, reads, *more)
        case "join":
            return join(name, reads)
        case "late":
            return late_rows(name, reads)
        case "letters":
            return _letters(draw, made, name)


def _letters(draw: st.DrawFn, made: dict[str, Operator], name: str) -> Operator | None:
    failing = [
        each
        for each, operator in made.items()
        if isinstance(operator, PythonOperator) and operator.on_error == "dead_letter"
    ]
    if not failing:
        return None
    return dead_letters(
        name, *draw(st.lists(st.sampled_from(failing), min_size=1, max_size=3, unique=True))
    )


def _read_names(made: dict[str, Operator]) -> Iterator[str]:
    for operator in made.values():
        if not isinstance(operator, DeadLetters):
            yield from operator.inputs
