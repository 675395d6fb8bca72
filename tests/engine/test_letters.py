from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.letters import (
    MESSAGE_LIMIT_BYTES,
    TRACEBACK_LIMIT_BYTES,
    as_json,
    failure,
    text_of,
)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raised(error: Exception) -> Exception:
    def users_own() -> None:
        raise error

    try:
        users_own()
    except Exception as caught:
        return caught
    raise AssertionError


def test_json_is_cut_to_its_limit_in_bytes() -> None:
    text = as_json({"x": "ä" * 2_000}, limit=1_024)
    assert len(text.encode()) <= 1_024
    assert text.endswith("...")
    assert as_json({"b": b"\x01", "n": [math.inf]}) == '{"b": "01", "n": ["inf"]}'


@pytest.mark.parametrize(
    ("key", "written"),
    [
        (date(2026, 1, 2), "2026-01-02"),
        (Decimal("1.5"), "1.5"),
        (b"\x01", "01"),
        (7, "7"),
        (math.nan, "nan"),
    ],
)
def test_json_takes_any_key(key: Any, written: str) -> None:
    assert json.loads(as_json({"m": {key: math.nan}})) == {"m": {written: "nan"}}


@pytest.mark.parametrize("value", ["half \ud83d", Unspeakable(), {("a", 1): 1}, {1.5: {2: set()}}])
def test_json_of_anything_can_be_sent(value: Any) -> None:
    assert "x" in json.loads(as_json({"x": value}).encode())


def test_json_of_a_dict_that_holds_itself_is_still_text() -> None:
    knot: dict[str, Any] = {}
    knot["knot"] = knot
    assert "knot" in json.loads(as_json(knot))


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_the_text_of_any_error_can_be_sent(text: str) -> None:
    told = failure("f", "{}", raised(ValueError(text)))
    assert all(value.encode().decode() == value for value in told.values())


def test_an_error_that_cannot_say_what_it_is_is_told_by_its_type() -> None:
    told = failure("f", "{}", raised(Unspeakable()))
    assert told["error"] == "Unspeakable"
    assert "Unspeakable" in told["message"]
    assert "users_own" in told["traceback"]
    assert text_of(Unspeakable()) == told["message"]


def test_a_long_message_is_cut_and_leaves_the_frames_of_the_traceback() -> None:
    told = failure("f", "{}", raised(ValueError("start" + "ä" * 300_000)))
    assert told["message"].startswith("start")
    assert told["message"].endswith("...")
    assert len(told["message"].encode()) <= MESSAGE_LIMIT_BYTES
    assert "users_own" in told["traceback"]
    assert len(told["traceback"].encode()) <= TRACEBACK_LIMIT_BYTES


def test_of_a_long_traceback_the_end_is_kept() -> None:
    error: Exception = ValueError("the first")
    for number in range(200):
        try:
            raise RuntimeError(f"after it {number}") from error
        except RuntimeError as later:
            error = later
    text = failure("f", "{}", error)["traceback"]
    assert text.startswith("...")
    assert len(text.encode()) <= TRACEBACK_LIMIT_BYTES
    assert text.endswith("RuntimeError: after it 199\n")
