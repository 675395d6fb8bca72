"""A checkpoint from elsewhere: it may lead to no other file, run nothing, and end every reader."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.elasticity.decision import Decision
from penstock.engine.checkpoint import FORM
from penstock.engine.commit_log import CommitRecord
from penstock.engine.keyed_state import KeyedState
from penstock.engine.state_files import _own
from penstock.engine.state_manifest import Manifest, StateFile
from penstock.engine.window_state import WindowState
from penstock.errors import CheckpointError, ConfigurationError, PenstockError
from penstock.inspection import inspect_checkpoint
from penstock.topology.compatibility import Fingerprint
from penstock.windows.segments import Segment
from sealed_text import sealed_text

FILE = f"000000000000-9-{2**64 - 1}.arrow"
LEADING_AWAY = ["../../secret", "/etc", "a/b", "..", "x\0y", "", "a" * 5_000, "a\nb"]


def record() -> dict[str, Any]:
    """Return a sound record with windows and keys, as JSON holds it."""
    segment = Segment("4", 0, 2, 1, through=0, is_delta=True, rows=3, bytes=10)
    keyed = KeyedState.fresh(2, 1)
    manifest = Manifest((StateFile(FILE, 10, (0,), (0,)),))
    made = CommitRecord(
        query_id="q-1",
        batch_id=0,
        committed_at_seconds=1.0,
        decision=Decision(1, "as ever", {"op": 1}),
        windows={"sums": WindowState((segment,), 0)},
        keyed={"totals": KeyedState(keyed.groups, manifest, keyed.timers)},
    )
    document: dict[str, Any] = json.loads(made.to_json())
    return document


def read(document: dict[str, Any]) -> CommitRecord:
    return CommitRecord.from_json(sealed_text(document), "0.json")


def write(path: Path, document: object) -> Path:
    fingerprint = Fingerprint(("s",), {"s": "ts"}, {"sums": {"windows": "10 seconds"}})
    identity = {
        "format": FORM.name,
        "version": FORM.version,
        "query_id": "q-1",
        "fingerprint": fingerprint.to_json(),
    }
    (path / "commits").mkdir(parents=True)
    (path / "query.json").write_text(sealed_text(identity))
    (path / "commits" / f"{0:012d}.json").write_text(sealed_text(document))
    return path


def test_the_record_is_sound_before_it_is_made_hostile() -> None:
    assert read(record()).keyed["totals"].manifest.names == {FILE}


@pytest.mark.parametrize("name", LEADING_AWAY)
@pytest.mark.parametrize("kind", ["windows", "keyed"])
def test_an_operator_leads_to_no_other_directory(kind: str, name: str) -> None:
    document = record()
    document[kind] = {name: next(iter(document[kind].values()))}
    with pytest.raises(CheckpointError, match="no operator's name"):
        read(document)


@pytest.mark.parametrize("name", [*LEADING_AWAY, f"0-0-/../../{FILE}", f"x/{FILE}", f"{FILE}\n"])
def test_a_state_file_leads_to_no_other_directory(name: str) -> None:
    document = record()
    document["keyed"]["totals"]["files"][0][0] = name
    with pytest.raises(CheckpointError, match="no name of a state file"):
        read(document)


@pytest.mark.parametrize("name", LEADING_AWAY)
def test_a_segment_leads_to_no_other_directory(name: str) -> None:
    document = record()
    document["windows"]["sums"]["segments"][0]["name"] = name
    with pytest.raises(CheckpointError, match="no name of a segment"):
        read(document)


def test_inspect_looks_at_nothing_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / FILE).write_bytes(b"ARROW1" + b"x" * 10 + b"ARROW1")
    document = record()
    document["keyed"] = {"../../outside": document["keyed"]["totals"]}
    found = inspect_checkpoint(str(write(tmp_path / "ck", document)))
    assert not found.keyed
    assert not found.is_sound


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000])
def test_json_that_is_nested_deeply_is_a_damaged_file(text: str) -> None:
    with pytest.raises(CheckpointError, match="damaged"):
        CommitRecord.from_json(text, "0.json")


def test_records_that_lie_far_apart_are_counted_not_listed(tmp_path: Path) -> None:
    path = write(tmp_path / "ck", record())
    document = record() | {"batch_id": 999_999_999_999}
    (path / "commits" / "999999999999.json").write_text(sealed_text(document))
    told = " ".join(each.what for each in inspect_checkpoint(str(path)).problems)
    assert "999999999998 micro-batches are missing, such as 1, 2, 3, 4, 5" in told


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = write(tmp_path / "ck", record())
    folder = path / "panes" / "sums" / "_penstock_segment=4"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "part.parquet")
    found = inspect_checkpoint(str(path))
    assert any("is missing, with 3 rows" in each.what for each in found.problems)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.just(10**30), st.just(-(10**400)), st.floats(),
    st.text(max_size=8), st.just([]), st.just({}), st.just(["x"]), st.just({"../x": 1}),
)  # fmt: skip


def places(value: object, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [way] if way else []
    items: Any = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = value.items()
    for key, item in items:
        found += places(item, (*way, key))
    return found


@settings(max_examples=150)
@given(st.sampled_from(places(record())), VALUES)
def test_whatever_a_record_holds_inspect_tells(
    tmp_path_factory: pytest.TempPathFactory, way: tuple[Any, ...], value: object
) -> None:
    document: Any = record()
    at = document
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    path = write(tmp_path_factory.mktemp("hostile") / "ck", document)
    with contextlib.suppress(PenstockError):
        inspect_checkpoint(str(path)).as_dict()


@pytest.mark.parametrize("fingerprint", [{"sources": 1}, {"states": {"a": "b"}}, [], "x", None])
def test_whatever_an_identity_holds_inspect_tells(tmp_path: Path, fingerprint: Any) -> None:
    path = write(tmp_path / "ck", record())
    identity = json.loads((path / "query.json").read_text())
    sound = identity["fingerprint"]
    is_part = isinstance(fingerprint, dict)
    identity["fingerprint"] = {**sound, **fingerprint} if is_part else fingerprint
    (path / "query.json").write_text(sealed_text(identity))
    assert not inspect_checkpoint(str(path)).is_sound


def test_scratch_that_somebody_else_could_write_to_is_refused(tmp_path: Path) -> None:
    own = str(tmp_path / "own")
    assert _own(own) == own
    assert os.stat(own).st_mode & 0o777 == 0o700
    assert _own(own) == own
    os.chmod(own, 0o777)
    with pytest.raises(ConfigurationError, match="others may write to it"):
        _own(own)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(ConfigurationError):
        _own(str(tmp_path / "link"))
