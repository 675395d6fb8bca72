"""States of keys in files, against a dict: whatever happens, in any order, by whatever task."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keyed_model import folded
from keyed_store import KeyedStore, spread

from penstock import CheckpointError, KeyState
from penstock.engine import state_files
from penstock.engine.state_manifest import FANOUT, FULL
from penstock.key_state import micros_of

Row = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = pa.schema(
    [
        ("k", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("do", pa.string()),
        ("x", pa.int64()),
    ]
)
KEYS = pa.schema([("k", pa.string())])
STATE = pa.schema(
    [("sum", pa.int64()), ("last", pa.timestamp("us", tz="UTC")), ("log", pa.string())]
)
OUT = pa.schema(
    [("k", pa.string()), ("sum", pa.int64()), ("log", pa.string()), ("late", pa.bool_())]
)


def obey(key: Row, rows: list[Row], state: KeyState) -> Row:
    """Do what each row says, and tell what the state is."""
    if state.timed_out:
        told = state.value or {"sum": -1, "log": "timer alone"}
        if (state.value or {}).get("sum", 0) % 3 == 0:
            state.clear()
        return {**key, "sum": told["sum"], "log": told["log"], "late": True}
    for row in rows:
        value = state.value or {"sum": 0, "last": None, "log": ""}
        if row["do"] == "add":
            log = f"{value['log']}{row['x']},"[-20:]
            state.update(sum=value["sum"] + row["x"], last=row["ts"], log=log)
        elif row["do"] == "clear":
            state.clear()
        elif row["do"] == "timer":
            when = row["ts"] + timedelta(seconds=row["x"])
            if state.watermark is None or when > state.watermark:
                state.set_timer(when)
        elif row["do"] == "no timer":
            state.clear_timer()
    now = state.value or {"sum": None, "log": None}
    return {**key, "sum": now["sum"], "log": now["log"], "late": False}


def store(directory: Path, hashes: int | None = None, where: str | None = None) -> KeyedStore:
    """Return a store; with ``hashes`` keys have no more than so many hashes, so that some share."""

    def hash_of(row: Row) -> int:
        number = -1 if row["k"] is None else int(row["k"])
        return spread(number) if hashes is None else number % hashes - hashes // 2

    return KeyedStore(directory, obey, ROWS, KEYS, STATE, OUT, hash_of, where=where)


actions = st.tuples(
    st.none() | st.integers(0, 9).map(str),
    st.integers(0, 30),
    st.sampled_from(["add", "add", "clear", "timer", "no timer", "look"]),
    st.integers(1, 40),
)


@st.composite
def lives(draw: st.DrawFn) -> list[tuple[list[Row], list[int], int, bool]]:
    batches = draw(
        st.lists(
            st.tuples(
                st.lists(actions, max_size=12),
                st.lists(st.integers(0, 2), min_size=4, max_size=4),
                st.integers(1, 2),
                st.booleans(),
            ),
            min_size=1,
            max_size=2 * FANOUT + 6,
        )
    )
    made = []
    for number, (rows, owners, tries, forgets) in enumerate(batches):
        base = START + timedelta(seconds=10 * number)
        dicts = [
            {"k": key, "ts": base + timedelta(seconds=second), "do": do, "x": x}
            for key, second, do, x in rows
        ]
        made.append((dicts, owners, tries, forgets))
    return made


def told(rows: list[Row]) -> list[tuple[Any, ...]]:
    return sorted(
        tuple("" if value is None else str(value) for value in row.values()) for row in rows
    )


@pytest.fixture(autouse=True)
def _fresh_worker() -> Iterator[None]:
    state_files._open_files.clear()
    yield
    state_files._open_files.clear()


@settings(max_examples=60)
@given(life=lives(), hashes=st.sampled_from([None, 3, 1]))
def test_files_hold_what_a_dict_would(
    life: list[tuple[list[Row], list[int], int, bool]],
    hashes: int | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    kept = store(tmp_path_factory.mktemp("state"), hashes)
    kept.forget()
    delay = timedelta(seconds=5)
    expected = folded(obey, [rows for rows, *_ in life], ("k",), ("sum", "last", "log"), delay)
    mark: int | None = None
    newest: datetime | None = None
    for (rows, owners, tries, forgets), right in zip(life, expected, strict=True):
        if forgets:
            kept.forget()
        assert told(kept.run(rows, mark, owners, tries)) == told(right)
        for row in rows:
            newest = row["ts"] if newest is None else max(newest, row["ts"])
        mark = None if newest is None else micros_of(newest - delay)


def additions(rng: random.Random, keys: int, number: int) -> list[Row]:
    return [
        {"k": str(rng.randrange(keys)), "ts": START, "do": "add", "x": number} for _ in range(20)
    ]


def test_pieces_stay_few_and_a_full_one_is_written_now_and_then(tmp_path: Path) -> None:
    kept, rng = store(tmp_path), random.Random(1)
    first = [{"k": str(key), "ts": START, "do": "add", "x": 1} for key in range(3_000)]
    kept.run(first, None, [0] * 4)
    sums = dict.fromkeys(map(str, range(3_000)), 1)
    levels: set[int] = set()
    written_full = 0
    for number in range(300):
        rows = additions(rng, 3_000, number)
        for row in rows:
            sums[row["k"]] += number
        kept.run(rows, None, [0, 1, 0, 1])
        pieces = kept.manifest.pieces(range(4))
        assert max(map(len, pieces.values())) <= 4 * FANOUT
        assert all(found[-1].since == 0 for found in pieces.values())
        levels |= {piece.level for found in pieces.values() for piece in found}
        written_full += sum(
            1 for file in kept.manifest.files if file.level == FULL and file.batch == kept.batch - 1
        )
    assert levels >= {0, 1, 2, FULL}
    # Every key was written anew a few times for 6,000 changes, not with every batch.
    assert 4 <= written_full <= 40
    seen = kept.run([{**row, "do": "look"} for row in first], None, [0] * 4)
    assert {row["k"]: row["sum"] for row in seen} == sums
    assert len(os.listdir(tmp_path)) == len(kept.manifest.files) < 80


def test_keys_that_are_gone_take_no_room(tmp_path: Path) -> None:
    kept = store(tmp_path)
    rows = [{"k": str(key), "ts": START, "do": "add", "x": 1} for key in range(2_000)]
    kept.run(rows, None, [0] * 4)
    full = kept.manifest.bytes
    for start in range(0, 2_000, 50):
        kept.run([{**row, "do": "clear"} for row in rows[start : start + 50]], None, [0] * 4)
    for number in range(3 * FANOUT):  # whatever group, its turn comes
        kept.run([{**row, "x": number} for row in rows[:40]], None, [0] * 4)
    assert kept.manifest.bytes < full / 3  # most of it the heads of small files


def test_timers_that_were_set_anew_do_not_come_at_their_old_time(tmp_path: Path) -> None:
    kept = store(tmp_path)
    row = {"k": "1", "ts": START, "do": "timer", "x": 10}
    kept.run([row], None, [0] * 4)
    kept.run([{**row, "x": 60}], None, [0] * 4)
    assert kept.run([], micros_of(START + timedelta(seconds=30)), [0] * 4) == []
    (late,) = kept.run([], micros_of(START + timedelta(seconds=60)), [0] * 4)
    assert late["late"] is True
    assert [timer for timer in kept.timers if timer is not None] == []


@pytest.fixture
def far_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyedStore:
    """A store on a file system that workers reach through Arrow alone."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "scratch"))
    far = tmp_path / "far"
    far.mkdir()
    monkeypatch.setattr(
        state_files, "connect", lambda where: (pa.fs.LocalFileSystem(), where.removeprefix("far:"))
    )
    return store(far, where=f"far:{far}")


def scratch_files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()]


@pytest.mark.parametrize("damage", ["gone", "cut", "garbage", "untouched"])
def test_a_scratch_copy_that_is_lost_or_damaged_is_fetched_again(
    far_away: KeyedStore, tmp_path: Path, damage: str
) -> None:
    rows = [{"k": str(key), "ts": START, "do": "add", "x": 5} for key in range(50)]
    far_away.run(rows, None, [0] * 4)
    assert scratch_files(tmp_path)
    assert far_away.fetched_bytes == 0  # what a worker wrote it has
    far_away.forget()
    if damage == "gone":
        shutil.rmtree(tmp_path / "scratch")
    for path in scratch_files(tmp_path):
        content = path.read_bytes()
        if damage == "cut":
            path.write_bytes(content[: len(content) // 2])
        elif damage == "garbage":
            path.write_bytes(b"?" * len(content))
    seen = far_away.run([{**row, "do": "look"} for row in rows], None, [1] * 4)
    assert [row["sum"] for row in seen] == [5] * 50
    assert (far_away.fetched_bytes > 0) == (damage != "untouched")


def test_scratch_copies_that_nobody_needs_are_deleted(far_away: KeyedStore, tmp_path: Path) -> None:
    rng = random.Random(2)
    for number in range(60):
        far_away.run(additions(rng, 200, number), None, [0] * 4)
    names = {path.name for path in scratch_files(tmp_path)}
    assert names >= far_away.manifest.names
    assert len(names) <= len(far_away.manifest.files) + FANOUT


@pytest.mark.parametrize("is_far", [True, False])
def test_a_damaged_checkpoint_is_told_with_the_file_and_the_way_out(
    far_away: KeyedStore, tmp_path: Path, is_far: bool
) -> None:
    kept = far_away if is_far else store(tmp_path / "far")
    rows = [{"k": "1", "ts": START, "do": "add", "x": 5}]
    kept.run(rows, None, [0] * 4)
    kept.forget()
    shutil.rmtree(tmp_path / "scratch", ignore_errors=True)
    (name,) = kept.manifest.names
    (tmp_path / "far" / name).write_bytes(b"no Arrow file")
    with pytest.raises(CheckpointError, match=f"{name}' is missing or damaged .*new checkpoint"):
        kept.run(rows, None, [0] * 4)
