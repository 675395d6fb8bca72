from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.sources import (
    ExponentialDelay,
    KeyCost,
    NoDelay,
    Trace,
    UniformDelay,
    UniformKeys,
    ZipfKeys,
)
from penstock.sources.options import ReplayOptions

OPTIONS: dict[str, Any] = {
    "trace": Trace((1_000_000, 2_000_000), (3, 4)),
    "speedup": 1.0,
    "loop": False,
    "max_rows_per_batch": None,
    "keys": UniformKeys(10),
    "delays": NoDelay(),
    "cost": KeyCost(1, 64),
    "partitions": 2,
    "seed": 0,
    "origin": None,
}


def options(**changes: Any) -> ReplayOptions:
    return ReplayOptions(**(OPTIONS | changes))


every_options = st.builds(
    options,
    speedup=st.floats(1e-6, 1e9),
    loop=st.booleans(),
    max_rows_per_batch=st.none() | st.integers(1, 2**40),
    keys=st.builds(UniformKeys, st.integers(1, 2**53))
    | st.builds(ZipfKeys, st.integers(1, 10**7), st.floats(0, 5)),
    delays=st.just(NoDelay())
    | st.builds(UniformDelay, st.floats(0, 1e6), st.floats(0.01, 1))
    | st.builds(ExponentialDelay, st.floats(0, 1e6), st.floats(0.01, 1)),
    cost=st.builds(
        lambda low, more, levels, seed: KeyCost(low, low + more, levels, seed),
        st.floats(0, 1e6),
        st.floats(0, 1e6),
        st.integers(1, 10**6),
        st.integers(),
    ),
    partitions=st.integers(1, 1_000),
    seed=st.integers(),
    origin=st.none() | st.just("2026-01-01T00:00:00Z"),
)


@given(every_options)
def test_options_go_through_strings_and_come_back(written: ReplayOptions) -> None:
    strings = written.as_options()
    assert all(isinstance(text, str) for text in strings.values())
    through_json = json.loads(json.dumps(strings))
    assert ReplayOptions.from_options(through_json) == written


@pytest.mark.parametrize(
    "changes",
    [
        {"trace": Trace((1_000_000, 2_000_000), (4, 3))},
        {"keys": UniformKeys(11)},
        {"keys": ZipfKeys(10, 1.0)},
        {"delays": UniformDelay(1)},
        {"cost": KeyCost(1, 64, seed=1)},
        {"seed": 1},
        {"origin": "2026-01-01T00:00:00Z"},
    ],
)
def test_other_rows_have_another_name(changes: dict[str, Any]) -> None:
    assert options(**changes).rows_like != options().rows_like


@pytest.mark.parametrize(
    "changes", [{"speedup": 9.0}, {"loop": True}, {"max_rows_per_batch": 5}, {"partitions": 9}]
)
def test_pace_and_batches_may_change_between_runs(changes: dict[str, Any]) -> None:
    assert options(**changes).rows_like == options().rows_like


@pytest.mark.parametrize(
    ("origin", "micros"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1970-01-01T01:00:00.000001+01:00", 1),
        ("1969-12-31T23:59:59.999999Z", -1),
        (None, None),
    ],
)
def test_the_origin_is_exact(origin: str | None, micros: int | None) -> None:
    assert options(origin=origin).origin_micros == micros


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speedup": 0}, "speedup is 0; write a number above 0"),
        ({"speedup": -1.0}, "speedup is -1"),
        ({"speedup": float("nan")}, "speedup is nan"),
        ({"partitions": 0}, "partitions is 0; write a whole number from 1"),
        ({"partitions": 1.5}, "partitions is 1.5"),
        ({"max_rows_per_batch": 0}, "max_rows_per_batch is 0"),
        ({"max_rows_per_batch": True}, "max_rows_per_batch is True"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"keys": 5}, "keys is 5; write one of UniformKeys, ZipfKeys"),
        ({"delays": None}, "delays is None; write one of NoDelay, UniformDelay, ExponentialDelay"),
        ({"cost": 1.0}, "cost is 1.0; write one of KeyCost"),
        ({"origin": "new year"}, "origin is 'new year'; write a time such as"),
        ({"origin": 5}, "origin is 5"),
    ],
)
def test_wrong_options_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        options(**changes)


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        ({}, "misses its option 'speedup'"),
        ({"trace": "never"}, "the option 'trace' is not a trace"),
        ({"speedup": "fast"}, "not JSON"),
        ({"keys": '{"kind": "AllKeys"}'}, "write one of UniformKeys, ZipfKeys"),
    ],
)
def test_options_that_replay_did_not_write_are_refused(
    strings: dict[str, str], message: str
) -> None:
    given_strings = options().as_options() | strings if strings else {}
    with pytest.raises(ConfigurationError, match=message):
        ReplayOptions.from_options(given_strings)
