"""Hypothesis strategies for every kind of event, made from the type hints of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from penstock.elasticity.decision import Decision
from penstock.journal import Event, UnknownEvent
from penstock.journal.events import KINDS
from penstock.journal.lines import ENVELOPE_KEYS

finite = st.floats(allow_nan=False, allow_infinity=False)
any_float = st.floats()

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


MOST = (1 << 63) - 1
"""What a whole number of a journal can be: 64 bits."""
counts = st.integers(-MOST - 1, MOST)


def values(hint: Any, floats: st.SearchStrategy[float] = finite) -> st.SearchStrategy[Any]:
    plain = {int: counts, float: floats, str: st.text(max_size=20), bool: st.booleans()}
    if hint in plain:
        return plain[hint]
    if hint is Decision:  # which refuses numbers that can't be carried out
        tasks = st.dictionaries(st.text(max_size=5), st.integers(1, MOST), max_size=3)
        return st.builds(Decision, st.integers(1, MOST), st.text(max_size=20), tasks)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{f.name: values(hints[f.name], floats) for f in fields(hint)})
    arguments = get_args(hint)
    if get_origin(hint) is UnionType:
        (inner,) = (a for a in arguments if a is not NoneType)
        return st.none() | values(inner, floats)
    if get_origin(hint) is tuple:
        return st.lists(values(arguments[0], floats), max_size=3).map(tuple)
    assert get_origin(hint) is Mapping
    return st.dictionaries(st.text(max_size=5), values(arguments[1], floats), max_size=3)


def unknown_events() -> st.SearchStrategy[UnknownEvent]:
    names = st.text(max_size=8).filter(lambda name: name not in ENVELOPE_KEYS)
    kinds = st.text(max_size=8).filter(lambda name: name not in KINDS)
    return st.builds(UnknownEvent, kinds, st.dictionaries(names, _json, max_size=3))


def bodies() -> st.SearchStrategy[Any]:
    return st.one_of([values(kind) for kind in KINDS.values()] + [unknown_events()])


def journals(max_size: int = 6) -> st.SearchStrategy[list[Event]]:
    """Lists of events numbered from 1."""
    timed = st.lists(st.tuples(finite, bodies()), max_size=max_size)
    return timed.map(
        lambda pairs: [Event(seq, at, body) for seq, (at, body) in enumerate(pairs, start=1)]
    )
