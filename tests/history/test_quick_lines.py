"""Lines read quickly say what the exact reader says, of every kind."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.strategies import any_float, unknown_events, values
from penstock.errors import ConfigurationError
from penstock.history.quick_lines import BatchNumbers, quick
from penstock.journal.events import (
    KINDS,
    BatchFinished,
    CorruptLine,
    SourceProgress,
    UnknownEvent,
)
from penstock.journal.lines import Event, to_json
from penstock.journal.reader import RawLine

FILE = Path("journal-00000001.jsonl")
# Numbers that no Penstock writes, but a journal may hold, are for the exact reader to say.
BODIES = st.one_of([values(kind, any_float) for kind in KINDS.values()] + [unknown_events()])


def raw(text: str | bytes) -> RawLine:
    return RawLine(FILE, 1, text.encode() if isinstance(text, str) else text)


def same(one: Any, other: Any) -> bool:
    """Compare with NaN equal to NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (isnan(one) and isnan(other))
    if is_dataclass(one) and type(one) is type(other):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    return bool(one == other)


def check_batch(found: BatchNumbers, exact: BatchFinished) -> None:
    seen, told = exact.observation, found.observation
    for name in ("batch_id", "slots", "jobs", "used_slots", "most_slots"):
        assert getattr(told, name) == getattr(seen, name)
    for name in ("at_seconds", "batch_seconds", "trigger_seconds"):
        number = getattr(seen, name)
        unknown = number is None or isnan(number)
        assert getattr(told, name) == (None if unknown else number)
    assert [each.name for each in told.operators] == [each.name for each in seen.operators]
    for one, other in zip(told.operators, seen.operators, strict=True):
        for name in type(one).__struct_fields__:
            assert same(getattr(one, name), getattr(other, name))
    sources = [(each.name, each.rows, each.waiting_rows) for each in seen.sources]
    assert [(each.name, each.rows, each.waiting_rows) for each in told.sources] == sources
    assert found.query == exact.query


@given(any_float, BODIES)
def test_every_kind_says_what_the_exact_reader_says(at: float, body: Any) -> None:
    line = raw(to_json(Event(7, at, body)) + "\n")
    found, exact = quick(line), line.event()
    assert same(found.at_seconds, exact.at_seconds)
    if isinstance(exact.body, BatchFinished):
        check_batch(found.body, exact.body)
    elif isinstance(exact.body, SourceProgress):
        assert found.body is None or found.body == exact.body
    else:
        assert same(found.body, exact.body)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_line_gives_what_the_exact_reader_gives(text: bytes) -> None:
    line = raw(text.replace(b"\n", b"") + b"\n")
    assert same(quick(line).body, line.event().body)


@given(st.sampled_from(sorted(KINDS)), st.data())
def test_a_cut_line_is_corrupt(kind: str, data: st.DataObject) -> None:
    text = to_json(Event(1, 2.0, data.draw(values(KINDS[kind])))).encode()
    line = raw(text[: data.draw(st.integers(1, len(text) - 1))] + b"\n")
    found, exact = quick(line).body, line.event().body
    if kind != SourceProgress.__name__ or found is not None:
        assert isinstance(found, CorruptLine)
        assert isinstance(exact, CorruptLine)
        # Of a character that was cut in half, a history keeps the mark of one that is not known.
        assert (found.line, found.reason) == (exact.line, exact.reason)


def test_older_journals_are_read() -> None:
    path = Path(__file__).parents[1] / "journal" / "schema-1.jsonl"
    lines = [raw(text) for text in path.read_bytes().splitlines(keepends=True)]
    assert lines
    for line in lines:
        found, exact = quick(line).body, line.event().body
        if isinstance(exact, BatchFinished):
            check_batch(found, exact)
        elif not isinstance(exact, SourceProgress):
            assert same(found, exact)


def test_a_newer_schema_is_refused_in_words() -> None:
    with pytest.raises(ConfigurationError, match="pip install --upgrade"):
        quick(raw('{"v":2,"seq":1,"at":1.0,"kind":"BatchSkipped","batch_id":1}\n'))


def test_fields_and_kinds_of_a_newer_penstock_are_borne() -> None:
    skipped = quick(raw('{"v":1,"seq":1,"at":1.0,"kind":"BatchSkipped","batch_id":1,"new":{}}\n'))
    assert skipped.body == KINDS["BatchSkipped"](1)  # type: ignore[call-arg]
    assert quick(raw('{"v":1,"seq":1,"at":1.0,"kind":"Novelty","depth":2}\n')).body == UnknownEvent(
        "Novelty", {"depth": 2}
    )


def test_lines_as_others_write_json_are_read() -> None:
    spaced = json.dumps({"kind": "BatchSkipped", "batch_id": 3, "at": 2, "seq": 1, "v": 1})
    assert quick(raw(spaced + "\n")).body == KINDS["BatchSkipped"](3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "text",
    [
        '{"v":1,"seq":1,"at":1..2,"kind":"SourceProgress"}\n',
        '{"v":1,"seq":1,"at":1-2,"kind":"BatchSkipped","batch_id":1}\n',
        f'{{"v":{"1" * 5_000},"seq":1,"at":1.0,"kind":"BatchSkipped","batch_id":1}}\n',
        f'{{"v":1,"seq":1,"at":1.0,"kind":"BatchSkipped","batch_id":1,"x":{"[" * 99_999}\n',
    ],
)
def test_what_no_reader_can_take_is_a_corrupt_line(text: str) -> None:
    assert isinstance(quick(raw(text)).body, CorruptLine)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\ud800", "\ufffd"),
        (r"a\udcffb", "a\ufffdb"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\\ud800", r"\ud800"),
        (r"\u00e9", "é"),
    ],
)
def test_half_a_character_is_marked_and_whole_ones_stay(written: str, read: str) -> None:
    head = '{"v":1,"seq":1,"at":1.0,"kind":"FaultSeen","batch_id":1'
    line = f'{head},"what":"{written}","detail":""}}\n'
    assert quick(raw(line)).body.what == read
