"""Checkpoints that are damaged, of another program or another version, and all that reads them."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from fuzz.calling import QUICK_PHASES, within
from fuzz.checkpoint_sample import identity, record, write_checkpoint
from fuzz.mutations import ODD, damaged, mutated, twice_each_key
from penstock.cli import app
from penstock.engine.checkpoint import open_checkpoint
from penstock.engine.commit_log import CommitRecord
from penstock.engine.split_log import SplitRule
from penstock.errors import CheckpointError, PenstockError
from penstock.sinks.filesystem import HadoopFiles
from penstock.topology.compatibility import Fingerprint
from sealed_text import sealed_text

QUERY, DOCUMENT = identity(), record()
RECORD = f"{DOCUMENT['batch_id']:012d}.json"
SPLIT: dict[str, Any] = json.loads(
    SplitRule(3, 1_700_000_000_000_000, 5_000_000, 100, "oldest").to_json()
)


def inspected(checkpoint: Path) -> None:
    """Let ``penstock inspect`` look at it; fail where it does more than tell what is wrong."""
    with within():
        result = CliRunner().invoke(app, ["inspect", str(checkpoint), "--json"])
    assert result.exit_code in (0, 2), (result.output, result.exception)
    if result.stdout.strip():
        json.loads(result.stdout)
    else:
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "checkpoint")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one copy for many tries: each writes one file anew."""
    return write_checkpoint(tmp_path_factory.mktemp("fuzz") / "checkpoint")


@given(document=mutated(DOCUMENT))
@settings(max_examples=150)
@example(document={**DOCUMENT, "committed_at_seconds": 10**400})
@example(document={**DOCUMENT, "version": True})
@example(document={**DOCUMENT, "decision": {**DOCUMENT["decision"], "tasks": {"a": 1e999}}})
def test_a_record_of_which_something_is_wrong(document: Any) -> None:
    with suppress(CheckpointError):
        CommitRecord.from_json(sealed_text(document), "a record").to_json()


@given(document=mutated(SPLIT))
@settings(max_examples=60)
@example(document={**SPLIT, "shed": []})
def test_a_split_of_which_something_is_wrong(document: Any) -> None:
    with suppress(CheckpointError):
        SplitRule.from_json(sealed_text(document), "a split").to_json()


@pytest.mark.parametrize("reader", [CommitRecord.from_json, SplitRule.from_json])
@given(text=damaged(sealed_text(DOCUMENT).encode()))
@settings(max_examples=30)
@example(text=b"[" * 100_000)
def test_a_file_that_is_damaged(reader: Any, text: bytes) -> None:
    with suppress(CheckpointError):
        reader(text.decode(errors="replace"), "a file")


@given(data=st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck), phases=QUICK_PHASES)
def test_inspecting_what_is_wrong(scratch: Path, data: st.DataObject) -> None:
    (scratch / "query.json").write_text(sealed_text(data.draw(mutated(QUERY))))
    (scratch / "commits" / RECORD).write_text(sealed_text(data.draw(mutated(DOCUMENT))))
    inspected(scratch)


def test_inspecting_what_is_odd(checkpoint: Path) -> None:
    for odd in ODD:
        for key in ("windows", "keyed", "marks", "placement", "plan", "policy", "batch_id"):
            (checkpoint / "commits" / RECORD).write_text(sealed_text({**DOCUMENT, key: odd}))
            inspected(checkpoint)


@pytest.mark.parametrize("name", ["query.json", f"commits/{RECORD}", "commits", "spark"])
@pytest.mark.parametrize("what", ["directory", "loop", "bytes", "twice"])
def test_inspecting_what_is_no_file(checkpoint: Path, name: str, what: str) -> None:
    place = checkpoint / name
    content = place.read_bytes() if place.is_file() else b"{}"
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    if what == "directory":
        place.mkdir()
    elif what == "loop":
        place.symlink_to(place.name)
    elif what == "twice":
        place.write_text(twice_each_key(json.loads(content)))
    else:
        place.write_bytes(b"\xff\xfe\x80" + content)
    inspected(checkpoint)


def test_inspecting_records_that_are_far_apart(checkpoint: Path) -> None:
    shutil.copy(checkpoint / "commits" / RECORD, checkpoint / "commits" / "999999999999.json")
    inspected(checkpoint)


def test_a_start_refuses_what_is_wrong_and_changes_nothing(
    spark: SparkSession, checkpoint: Path
) -> None:
    files = HadoopFiles(spark)
    now = Fingerprint.from_json(QUERY["fingerprint"])
    record = checkpoint / "commits" / RECORD
    good = record.read_bytes()
    wrong: list[tuple[Path, bytes]] = [
        (record, b"[" * 100_000),
        (record, good[: len(good) // 2]),
        (record, b"\xff\xfe" + good),
        (record, sealed_text({**DOCUMENT, "version": DOCUMENT["version"] + 1}).encode()),
        (record, sealed_text({**DOCUMENT, "committed_at_seconds": 10**400}).encode()),
        (checkpoint / "query.json", b"{}"),
        (checkpoint / "query.json", b"[" * 100_000),
        (checkpoint / "query.json", sealed_text({**QUERY, "fingerprint": {"sources": 3}}).encode()),
    ]
    for file, content in wrong:
        before = file.read_bytes()
        file.write_bytes(content)
        with pytest.raises(CheckpointError):
            open_checkpoint(files, str(checkpoint), now)
        assert file.read_bytes() == content
        file.write_bytes(before)
    opened = open_checkpoint(files, str(checkpoint), now)
    assert opened.log.latest is not None
    assert opened.log.latest.batch_id == DOCUMENT["batch_id"]
    opened.lock.release()


def test_a_start_refuses_a_directory_in_the_place_of_a_file(
    spark: SparkSession, checkpoint: Path
) -> None:
    now = Fingerprint.from_json(QUERY["fingerprint"])
    for file in (checkpoint / "commits" / RECORD, checkpoint / "query.json"):
        content = file.read_bytes()
        file.unlink()
        file.mkdir()
        with pytest.raises(PenstockError, match="can't be read"):
            open_checkpoint(HadoopFiles(spark), str(checkpoint), now)
        file.rmdir()
        file.write_bytes(content)
