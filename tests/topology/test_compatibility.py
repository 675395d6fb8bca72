"""Which changes of a topology a checkpoint survives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.compatibility import Fingerprint, breaking_changes
from penstock.topology.dag import Topology
from penstock.topology.operators import Operator
from topology.builders import ROWS, filter_, map_, select, sink, source, union
from topology.strategies import topologies


@dataclass(frozen=True, kw_only=True)
class Remembering(Operator):
    """An operator with state."""

    kind = "remembering"
    keys: str = "user"
    aggregate: str = "count"

    def state_signature(self) -> Mapping[str, str]:
        return {"keys": self.keys, "aggregate": self.aggregate}


def remembering(name: str, reads: str, **state: str) -> Remembering:
    return Remembering(name=name, schema=ROWS, inputs=(reads,), time="ts", **state)


def changes(before: list[Operator], now: list[Operator]) -> tuple[str, ...]:
    return breaking_changes(Fingerprint.of(Topology(before)), Fingerprint.of(Topology(now)))


# clicks --\
#           both --> seen --> out
# views  --/
BASE: list[Operator] = [
    source("clicks"),
    source("views"),
    union("both", "clicks", "views"),
    remembering("seen", "both"),
    sink("out", "seen"),
]


def swapped(**by_name: Operator) -> list[Operator]:
    return [by_name.get(operator.name, operator) for operator in BASE]


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(BASE, id="the same again"),
        pytest.param([BASE[1], BASE[0], *BASE[2:]], id="sources in another order"),
        pytest.param(swapped(out=sink("elsewhere", "seen")), id="another sink"),
        pytest.param([*BASE, sink("raw", "clicks")], id="one sink more"),
        pytest.param(
            [*swapped(seen=remembering("seen", "m")), map_("m", "f"), filter_("f", "both")],
            id="stateless operators put in",
        ),
        pytest.param(
            [*BASE, remembering("more", "clicks"), sink("out2", "more")],
            id="more operators with state",
        ),
        pytest.param(
            swapped(clicks=replace(source("clicks"), watermark=None)), id="another watermark"
        ),
    ],
)
def test_harmless_changes(now: list[Operator]) -> None:
    assert changes(BASE, now) == ()


@pytest.mark.parametrize(
    ("now", "named"),
    [
        pytest.param(
            [source("clicks"), select("both", "clicks"), *BASE[3:]],
            ("source 'views' is gone",),
            id="a source less",
        ),
        pytest.param(
            [*BASE, source("likes"), sink("out2", "likes")],
            ("source 'likes' is new",),
            id="a source more",
        ),
        pytest.param(
            [source("visits"), BASE[1], union("both", "visits", "views"), *BASE[3:]],
            ("source 'clicks' is gone", "source 'visits' is new"),
            id="a source renamed",
        ),
        pytest.param(
            swapped(clicks=replace(source("clicks"), time="ts2")),
            ("source 'clicks' had the time column 'ts' and now has the time column 'ts2'",),
            id="another time column",
        ),
        pytest.param(
            swapped(views=source("views", time=None)),
            ("source 'views' had the time column 'ts' and now has no time column",),
            id="no time column",
        ),
        pytest.param(
            swapped(seen=select("seen", "both")),
            ("'seen', which keeps state, is gone",),
            id="an operator with state replaced by one without",
        ),
        pytest.param(
            swapped(seen=remembering("seen", "both", keys="area")),
            ("'seen' changed its keys from user to area",),
            id="other keys",
        ),
        pytest.param(
            swapped(seen=remembering("seen", "both", keys="area", aggregate="sum")),
            (
                "'seen' changed its aggregate from count to sum",
                "'seen' changed its keys from user to area",
            ),
            id="other keys and another aggregate",
        ),
    ],
)
def test_breaking_changes_are_named(now: list[Operator], named: tuple[str, ...]) -> None:
    assert changes(BASE, now) == named


def test_a_time_column_where_there_was_none_is_named() -> None:
    before = swapped(views=source("views", time=None))
    assert changes(before, BASE) == (
        "source 'views' had no time column and now has the time column 'ts'",
    )


def test_a_signature_that_gains_an_entry_has_changed() -> None:
    before = Fingerprint(("a",), {}, {"w": {"keys": "user"}})
    now = Fingerprint(("a",), {}, {"w": {"keys": "user", "panes": "1 s"}})
    assert breaking_changes(before, now) == ("'w' changed its panes from None to 1 s",)


def test_a_fingerprint_of_a_topology() -> None:
    assert Fingerprint.of(Topology(BASE)) == Fingerprint(
        sources=("clicks", "views"),
        times={"clicks": "ts", "views": "ts"},
        states={"seen": {"keys": "user", "aggregate": "count"}},
    )


@given(topologies())
def test_operators_without_state_leave_no_trace(topology: Topology) -> None:
    fingerprint = Fingerprint.of(topology)
    assert set(fingerprint.sources) == {each.name for each in topology.sources}
    assert fingerprint.states == {}


names = st.sampled_from("abcd")
words = st.sampled_from(["user", "area", "count"])
fingerprints = st.lists(names, min_size=1, unique=True).flatmap(
    lambda sources: st.builds(
        Fingerprint,
        st.just(tuple(sources)),
        st.fixed_dictionaries({name: st.none() | words for name in sources}),
        st.dictionaries(names, st.dictionaries(words, words, max_size=2), max_size=2),
    )
)


@given(fingerprints)
def test_json_there_and_back(fingerprint: Fingerprint) -> None:
    text = json.dumps(fingerprint.to_json())
    assert Fingerprint.from_json(json.loads(text)) == fingerprint


@pytest.mark.parametrize(
    "damaged",
    [
        {"sources": ["a"], "times": {}},
        {"sources": ["a"], "times": ["ts"], "states": {}},
        {"sources": ["a"], "times": {}, "states": "none"},
        {"sources": None, "times": {}, "states": {}},
    ],
)
def test_json_of_another_shape_is_refused(damaged: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, AttributeError)):
        Fingerprint.from_json(damaged)


@given(fingerprints, fingerprints)
def test_nothing_is_named_exactly_when_all_that_was_kept_still_fits(
    before: Fingerprint, now: Fingerprint
) -> None:
    fits = (
        set(before.sources) == set(now.sources)
        and before.times == now.times
        and all(now.states.get(name) == state for name, state in before.states.items())
    )
    assert (breaking_changes(before, now) == ()) == fits


@given(fingerprints)
def test_nothing_changed_breaks_nothing(fingerprint: Fingerprint) -> None:
    assert breaking_changes(fingerprint, fingerprint) == ()
