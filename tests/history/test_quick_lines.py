"""Lines read quickly say what the exact reader says, of every kind."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.strategies import any_float, unknown_events, values
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.errors import ConfigurationError
from penstock.history import quick_lines
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
# As measured times are: with as many digits as a float has.
BATCH = BatchFinished(
    Observation(
        7,
        1_700_000_001.2345678,
        0.0016915386666666666,
        1.0,
        4,
        (OperatorObservation("score", 9, 8, 0.12542301210811699, 2, 3.5e-05, 1.25e-17, 1),),
        (SourceObservation("clicks", 9, 3),),
        2,
        3,
        4,
    ),
    1_699_999_990.1234567,
    1_700_000_001.3456789,
)
LINE = to_json(Event(7, 1_700_000_001.4567891, BATCH))
NUMBERS = [found for found in re.finditer(r'("\w+":)([^"{}[\],]+)', LINE) if found[1] != '"v":']
DIGITS = st.text("0123456789", min_size=1, max_size=25)
WRITTEN = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    DIGITS,
    st.just("") | DIGITS.map(".{}".format),
    st.just("") | st.builds("{}{}".format, st.sampled_from(["e", "E+", "e-"]), st.integers(0, 400)),
)


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


def known(number: float | None) -> float | None:
    return None if number is None or isnan(number) else number


def check_batch(found: BatchNumbers, exact: BatchFinished) -> None:
    seen, told = exact.observation, found.observation
    for name in ("batch_id", "slots", "jobs", "used_slots", "most_slots"):
        assert getattr(told, name) == getattr(seen, name)
    assert found.watermark_seconds == known(exact.watermark_seconds)
    for name in ("at_seconds", "batch_seconds", "trigger_seconds"):
        assert getattr(told, name) == known(getattr(seen, name))
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


@pytest.fixture
def only_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no line go the exact way."""

    def refuse(line: RawLine) -> None:
        raise AssertionError(f"left to the exact reader: {line.text!r:.200}")

    monkeypatch.setattr(quick_lines, "_exact", refuse)


@pytest.mark.usefixtures("only_quick")
def test_a_batch_with_times_as_they_are_measured_goes_the_quick_way() -> None:
    line = raw(LINE + "\n")
    check_batch(quick(line).body, BATCH)


@pytest.mark.usefixtures("only_quick")
@pytest.mark.parametrize("text", ["1.2345678901234567890", "v1.1234567890123456789", "x" * 99])
def test_digits_in_a_text_are_no_numbers(text: str) -> None:
    fault = KINDS["FaultSeen"](7, text, "")  # type: ignore[call-arg]
    assert quick(raw(to_json(Event(7, 1.5, fault)) + "\n")).body == fault


@given(st.sampled_from(NUMBERS), WRITTEN)
def test_a_number_however_written_is_what_the_exact_reader_says(
    place: re.Match[str], written: str
) -> None:
    line = raw(f"{LINE[: place.start(2)]}{written}{LINE[place.end(2) :]}\n")
    found, exact = quick(line), line.event()
    assert same(found.at_seconds, exact.at_seconds)
    if isinstance(exact.body, BatchFinished):
        check_batch(found.body, exact.body)
    else:
        assert found.body == exact.body


@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "-", " -"])
def test_a_whole_number_of_more_than_64_bits_is_refused_however_it_stands(before: str) -> None:
    line = LINE.replace('"rows_in":9', f'"rows_in":{before}{10**18}0')
    assert isinstance(quick(raw(line + "\n")).body, CorruptLine)


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
