"""The control file: what goes in comes out, and what is broken is named and left."""

from __future__ import annotations

import json
import os
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.control import Control
from penstock.errors import ConfigurationError
from penstock.journal.control_file import (
    FILE_NAME,
    MOST_BYTES,
    AskedControl,
    WatchedControl,
    read_control,
    write_control,
)

WELL = {
    "v": 1,
    "paused": False,
    "min_slots": 1,
    "max_slots": 4,
    "forced_slots": None,
    "by": "me",
    "at": 5.0,
}

some = st.none() | st.integers(1, 1_000_000)


@given(
    paused=st.booleans(), one=some, other=some, at=st.floats(allow_nan=False, allow_infinity=False)
)
def test_what_is_written_is_read(
    paused: bool, one: int | None, other: int | None, at: float
) -> None:
    if one is not None and other is not None:
        one, other = sorted((one, other))
    control = Control(paused, one, other, None if paused else other)
    with tempfile.TemporaryDirectory() as directory:
        write_control(directory, control, by="some\n\x00one ☂" * 50, clock=lambda: at)
        found = read_control(directory)
        assert found is not None
        assert (found.control, found.at_seconds) == (control, at)
        assert len(found.by) == 200
        assert "\n" not in found.by
        assert os.listdir(directory) == [FILE_NAME]  # nothing is left aside


def test_without_a_file_nothing_is_asked_for(tmp_path: Path) -> None:
    assert read_control(tmp_path) is None
    assert WatchedControl(tmp_path).news() == ()


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no journal in .*gone"):
        write_control(tmp_path / "gone", Control(), by="me")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[1]", "not a JSON object"),
        (b"[" * 4_000, "not JSON"),
        (b" " * (MOST_BYTES + 1), "longer than 4,096 bytes"),
        (json.dumps(WELL).encode()[:-3], "not JSON"),
        ({"v": 2}, "version 'v' is 2"),
        ({"v": True}, "version 'v' is True"),
        ({"v": None}, "version 'v' is None"),
        ({"more": 1}, "'more' is unknown"),
        ({"paused": None}, "Control.paused: expected true or false"),
        ({"paused": "no"}, "Control.paused: expected true or false"),
        ({"max_slots": "4"}, "Control.max_slots: expected a whole number"),
        ({"max_slots": 0}, "max_slots=0"),
        ({"min_slots": 9}, "leaves no number of slots"),
        ({"paused": True, "forced_slots": 2}, "nothing to pause"),
        ({"by": 3}, "expected a string"),
        ({"by": "x" * 201}, "longer than 200 letters"),
        ({"at": None}, "is no time"),
        ({"at": "now"}, "expected a number"),
    ],
)
def test_what_is_no_control_says_why(
    tmp_path: Path, content: bytes | dict[str, Any], said: str
) -> None:
    if isinstance(content, dict):
        content = json.dumps({**WELL, **content}).encode()
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"is no control: .*{said}"):
        read_control(tmp_path)


@pytest.mark.parametrize("missing", sorted(set(WELL) - {"v"}))
def test_a_field_that_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    (tmp_path / FILE_NAME).write_text(json.dumps({k: WELL[k] for k in WELL if k != missing}))
    with pytest.raises(ConfigurationError, match=f"'{missing}' is missing"):
        read_control(tmp_path)


@given(at=st.integers(0), flipped=st.integers(1, 255))
def test_whatever_a_disk_does_to_it_gives_a_control_or_an_error(at: int, flipped: int) -> None:
    content = bytearray(json.dumps(WELL).encode())
    content[at % len(content)] ^= flipped
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / FILE_NAME).write_bytes(content)
        try:
            found = read_control(directory)
        except ConfigurationError:
            return
        assert isinstance(found, AskedControl)


def test_what_is_no_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    with pytest.raises(ConfigurationError, match="it is not a file"):
        read_control(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(json.dumps(WELL))
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="is no control"):
        read_control(tmp_path)


def test_a_control_is_news_once_and_so_is_a_broken_one_and_its_end(tmp_path: Path) -> None:
    watched = WatchedControl(tmp_path)
    write_control(tmp_path, Control(max_slots=4), by="me", clock=lambda: 1.0)
    assert watched.news() == (AskedControl(Control(max_slots=4), "me", 1.0),)
    assert watched.news() == ()
    write_control(tmp_path, Control(max_slots=4), by="you", clock=lambda: 2.0)
    assert watched.news() == (AskedControl(Control(max_slots=4), "you", 2.0),)
    (tmp_path / FILE_NAME).write_text("{")
    with pytest.raises(ConfigurationError):
        watched.news()
    assert watched.news() == ()
    (tmp_path / FILE_NAME).unlink()
    (ended,) = watched.news()
    assert ended is not None
    assert ended.control == Control()
    assert watched.news() == ()


def test_what_was_asked_between_two_looks_is_not_forgotten(tmp_path: Path) -> None:
    watched = WatchedControl(tmp_path)
    write_control(tmp_path, Control(max_slots=9), by="me", clock=lambda: 1.0)
    assert [each.at_seconds for each in watched.news()] == [1.0]
    for number in range(2, 5):
        write_control(tmp_path, Control(forced_slots=number), by="me", clock=lambda n=number: n)
    news = watched.news()
    assert [each.control.forced_slots for each in news] == [2, 3, 4]
    assert watched.news() == ()


def test_a_first_look_finds_what_holds_alone(tmp_path: Path) -> None:
    for number in range(1, 30):
        write_control(
            tmp_path, Control(forced_slots=number), by="x" * 300, clock=lambda n=number: n
        )
    (holds,) = WatchedControl(tmp_path).news()
    assert holds.control == Control(forced_slots=29)
    assert (tmp_path / FILE_NAME).stat().st_size <= MOST_BYTES


@pytest.mark.parametrize("by", ["\u0416" * 200, "\U0001f600" * 200, "x" * 200])
def test_names_of_any_letters_never_make_it_too_long_to_be_read(tmp_path: Path, by: str) -> None:
    watched, times = WatchedControl(tmp_path), count(1e9, 1 / 3)
    for number in range(1, 15):
        write_control(tmp_path, Control(max_slots=number), by=by, clock=lambda: next(times))
        asked = read_control(tmp_path)
        assert asked is not None
        assert asked.control.max_slots == number
        assert watched.news()[-1] == asked


def test_a_query_of_another_user_may_read_it(tmp_path: Path) -> None:
    write_control(tmp_path, Control(max_slots=3), by="me")
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o644
