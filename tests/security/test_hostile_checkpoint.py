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
from pyspark.sql import SparkSession

from fuzz.calling import within
from penstock.elasticity.backlog import Backlog
from penstock.elasticity.decision import Decision
from penstock.elasticity.intake import Intake
from penstock.engine.checkpoint import FORM
from penstock.engine.checkpoint_files import LocalFiles
from penstock.engine.commit_log import CommitRecord
from penstock.engine.committed_files import damaged_panes
from penstock.engine.keyed_state import KeyedState
from penstock.engine.spark_log import SparkLog
from penstock.engine.split_log import SplitLog, SplitRule
from penstock.engine.state_files import _own
from penstock.engine.state_manifest import Manifest, StateFile
from penstock.engine.window_state import WindowState
from penstock.errors import CheckpointError, ConfigurationError, PenstockError
from penstock.inspection import inspect_checkpoint
from penstock.sinks.filesystem import HadoopFiles
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


def split_log(path: Path, rule: dict[str, Any], shed: str | None, **options: Any) -> SplitLog:
    """Open a ``split.json`` as a start does, in a job that sheds by ``shed``."""
    sound = json.loads(SplitRule(7, 1_000_000).to_json())
    (path / "split.json").write_text(sealed_text(sound | rule))
    intake = Intake(backlog=Backlog(10, shed) if shed else None)
    files: Any = LocalFiles()
    return SplitLog(files, str(path), intake, lambda: 0.0, planned=7, committed=6, **options)


EVIL = "reflect('java.lang.System', 'load', '/checkpoint/evil.so')"


@pytest.mark.parametrize("shed", [None, "oldest", "id % 10", f"{EVIL} "])
def test_no_sql_is_taken_from_a_file(tmp_path: Path, shed: str | None) -> None:
    with pytest.raises(CheckpointError, match=r"SQL is never taken.*start it once more with") as no:
        split_log(tmp_path, {"max_rows": 5, "shed": EVIL}, shed)
    assert f"{tmp_path}/split.json" in str(no.value)
    assert f"backlog=ps.Backlog(5, shed={EVIL!r})" in str(no.value)


def test_an_expression_that_the_job_has_too_is_obeyed_with_the_files_numbers(
    tmp_path: Path,
) -> None:
    log = split_log(tmp_path, {"max_rows": 5, "shed": "id % 10"}, "id % 10")
    assert log.rule_of(7) == SplitRule(7, 1_000_000, None, 5, "id % 10")


@pytest.mark.parametrize("shed", ["oldest", "newest", "random"])
def test_what_is_no_sql_is_obeyed_whatever_the_job_has(tmp_path: Path, shed: str) -> None:
    log = split_log(tmp_path, {"max_rows": 5, "shed": shed}, None)
    assert log.rule_of(7) == SplitRule(7, 1_000_000, None, 5, shed)


def test_a_rule_of_a_batch_that_is_committed_needs_no_trust(tmp_path: Path) -> None:
    log = split_log(tmp_path, {"batch_id": 6, "max_rows": 5, "shed": EVIL}, None)
    assert log.rule_of(7) is None


def test_a_rule_of_a_batch_far_ahead_brings_no_sql_either(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="SQL is never taken"):
        split_log(tmp_path, {"batch_id": 99, "max_rows": 5, "shed": EVIL}, None)


@pytest.mark.parametrize("rule", [{"max_rows": 5, "shed": "newest"}, {"deadline_micros": 5}])
def test_a_rule_by_time_is_refused_where_rows_have_none(
    tmp_path: Path, rule: dict[str, Any]
) -> None:
    with pytest.raises(CheckpointError, match="a source has no time column"):
        split_log(tmp_path, rule, None, is_timed=False)


@pytest.mark.parametrize(
    "rule",
    [
        {"started_micros": 10**40},
        {"started_micros": -(2**63), "deadline_micros": 5},
        {"started_micros": None},
        {"batch_id": -1},
        {"deadline_micros": 0},
        {"deadline_micros": 1.5},
        {"max_rows": 0, "shed": "random"},
        {"max_rows": True, "shed": "random"},
        {"max_rows": 5},
        {"shed": "random"},
        *({"max_rows": 5, "shed": shed} for shed in ([], {}, 5, "", " ")),
    ],
)
def test_a_rule_has_numbers_and_words_that_can_be(tmp_path: Path, rule: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match=r"split\.json' has a wrong field"):
        split_log(tmp_path, rule, "random")


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


def replaced(file: Path, what: str) -> None:
    """Put something in the place of a file that a reader would never come to an end of."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    if what == "pipe":
        os.mkfifo(file)
    elif what == "device":
        file.symlink_to("/dev/zero")
    else:
        with file.open("wb") as sparse:
            sparse.truncate(1 << 40)


PLACES = ["query.json", f"commits/{0:012d}.json", "split.json", "spark/metadata", "spark/offsets/0"]


@pytest.mark.parametrize("what", ["pipe", "device", "endless"])
@pytest.mark.parametrize("place", [*PLACES, "spark/offsets/.0.crc"])
def test_what_never_ends_is_told_and_read_by_nobody(tmp_path: Path, place: str, what: str) -> None:
    path = write(tmp_path / "ck", record())
    (path / "spark/offsets").mkdir(parents=True)
    (path / "spark/metadata").write_text("{}")
    (path / "spark/offsets/0").write_text('v1\n{}\n{"row":1}')
    replaced(path / place, what)
    with within(20):
        found = inspect_checkpoint(str(path))
    named = place.replace(".0.crc", "0")
    assert any(f"{path / named}'" in each.what for each in found.problems if not each.is_note)


@pytest.mark.parametrize("what", ["pipe", "device"])
def test_a_lock_that_is_no_file_keeps_nobody_waiting(tmp_path: Path, what: str) -> None:
    path = write(tmp_path / "ck", record())
    replaced(path / ".lock", what)
    with within(20):
        assert not inspect_checkpoint(str(path)).is_running


@pytest.mark.parametrize("what", ["pipe", "device", "endless"])
def test_a_start_waits_for_no_file_either(spark: SparkSession, tmp_path: Path, what: str) -> None:
    for place in PLACES:
        replaced(tmp_path / place, what)
        with within(20), pytest.raises(ConfigurationError, match="can't be read"):
            HadoopFiles(spark).read(f"file:{tmp_path / place}")


@pytest.mark.parametrize("what", ["pipe", "device"])
def test_a_start_waits_for_no_partials_either(tmp_path: Path, what: str) -> None:
    replaced(tmp_path / "_penstock_segment=4" / "part-0.parquet", what)
    with within(20):
        [error] = damaged_panes(LocalFiles(), str(tmp_path), [4], {4: "00000000"})
    assert "is missing, damaged or was added" in str(error)


@pytest.mark.parametrize("log", ["metadata", "offsets/0", "commits/0"])
def test_sparks_log_that_is_nested_deeply_is_damaged(tmp_path: Path, log: str) -> None:
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0").write_text('v1\n{}\n{"row":1}')
    (tmp_path / "metadata").write_text("{}")
    spark_log = SparkLog(LocalFiles(), str(tmp_path))
    spark_log.check(0, None)
    (tmp_path / log).write_text(f"v1\n{'[' * 100_000}" if "/" in log else "[" * 100_000)
    with pytest.raises(CheckpointError, match=f"{log}' is cut short or damaged"):
        spark_log.check(0, None)


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
