"""Journals and checkpoints of every version that was kept: they load, and queries go on from them.

``make_samples.py`` made them, each with the code of its version. To see these tests fail, rename a
field in ``CommitRecord.to_json`` or in an event.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import penstock as ps
from formats.sample_job import BREAKS_OFF_AT, ENDS_BEFORE, MOST_ROWS, run_until
from penstock.cli import app
from penstock.engine.checkpoint import FORM as QUERY
from penstock.engine.commit_log import FORM as COMMIT
from penstock.engine.commit_log import CommitRecord
from penstock.engine.documents import Form, parse_document
from penstock.engine.split_log import FORM as SPLIT
from penstock.engine.split_log import SplitRule
from penstock.errors import CheckpointError, SinkError
from penstock.journal.events import KINDS, CorruptLine, UnknownEvent
from penstock.journal.lines import SCHEMA_VERSION, from_json, to_json
from penstock.journal.reader import read
from penstock.sources.offset import ReplayOffset

HERE = Path(__file__).parent
KEPT = sorted(each.name for each in HERE.iterdir() if (each / "checkpoint").is_dir())
MOST_BYTES = 200_000


def sample(version: str) -> Path:
    return HERE / version


@pytest.mark.skipif(not KEPT, reason="none was kept yet: run tests/formats/make_samples.py")
def test_there_is_a_sample_of_this_minor_version() -> None:
    minor = ".".join(ps.__version__.split(".")[:2])
    assert minor in KEPT, f"python tests/formats/make_samples.py makes that of {minor}"


@pytest.mark.parametrize("version", KEPT)
def test_samples_are_small_and_name_no_machine(version: str) -> None:
    files = [each for each in sample(version).rglob("*") if each.is_file()]
    assert sum(each.stat().st_size for each in files) < MOST_BYTES
    for each in files:
        assert b"/tmp/" not in each.read_bytes(), each
        assert b"/home/" not in each.read_bytes(), each


@pytest.mark.parametrize("version", KEPT)
def test_a_journal_loads_with_every_event_known(version: str) -> None:
    events = list(read(sample(version) / "journal.jsonl"))
    assert len(events) > 5
    assert not [each for each in events if isinstance(each.body, CorruptLine | UnknownEvent)]
    assert {type(each.body).__name__ for each in events} >= {"QueryStarted", "BatchFinished"}
    assert [from_json(to_json(each)) for each in events] == events


def test_the_journal_with_one_of_every_event_loads() -> None:
    events = list(read(HERE.parent / "journal" / "schema-1.jsonl"))
    assert not [each for each in events if isinstance(each.body, CorruptLine | UnknownEvent)]
    assert {type(each.body).__name__ for each in events} <= set(KINDS)


@pytest.mark.parametrize("version", KEPT)
def test_a_checkpoint_is_inspected(version: str, tmp_path: Path) -> None:
    checkpoint = shutil.copytree(sample(version) / "checkpoint", tmp_path / "checkpoint")
    result = CliRunner().invoke(app, ["inspect", str(checkpoint), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["last_batch"] == BREAKS_OFF_AT - 1
    assert len(found["windows"]) == 2
    assert len(found["keyed"]) == 1
    assert found["dead_letters"]["rows"] > 0


@pytest.mark.parametrize("version", KEPT)
def test_every_record_says_what_it_was_written_with(version: str) -> None:
    records = sorted((sample(version) / "checkpoint" / "commits").glob("*.json"))
    for each in records:
        assert CommitRecord.from_json(each.read_text(), str(each)).batch_id == int(each.stem)
    checkpoint = sample(version) / "checkpoint"
    rule = SplitRule.from_json((checkpoint / "split.json").read_text(), "split.json")
    assert (rule.batch_id, rule.max_rows) == (BREAKS_OFF_AT, MOST_ROWS)
    for each in checkpoint.glob("*.json"):
        assert {"format", "version"} <= set(json.loads(each.read_text())), each


@pytest.mark.parametrize("version", KEPT)
def test_a_query_goes_on_from_a_checkpoint_exactly(
    spark: SparkSession, version: str, tmp_path: Path
) -> None:
    place = sample(version)
    checkpoint = shutil.copytree(place / "checkpoint", tmp_path / "elsewhere" / "checkpoint")
    results: dict[str, dict[str, Any]] = json.loads((place / "first.json").read_text())
    rest = run_until(spark, Path(checkpoint))
    for name, batches in rest.items():
        assert all(BREAKS_OFF_AT <= int(batch) < ENDS_BEFORE for batch in batches), name
        results.setdefault(name, {}).update(batches)
    assert results == json.loads((place / "expected.json").read_text())


@pytest.mark.parametrize("form", [COMMIT, QUERY, SPLIT])
def test_what_a_newer_version_wrote_is_refused_with_what_to_do(form: Form) -> None:
    text = json.dumps({"format": form.name, "version": form.version + 1})
    with pytest.raises(CheckpointError) as told:
        parse_document(text, "commits/7.json", form)
    assert "a newer Penstock wrote it" in str(told.value)
    assert "pip install --upgrade penstock" in str(told.value)


@pytest.mark.parametrize("version", KEPT)
@pytest.mark.parametrize("later", [1, 2, 10])
def test_documents_that_were_kept_are_read_however_many_versions_later(
    version: str, later: int
) -> None:
    checkpoint = sample(version) / "checkpoint"
    newest = max((checkpoint / "commits").iterdir())
    kept = {"query.json": QUERY, "split.json": SPLIT, f"commits/{newest.name}": COMMIT}
    for name, form in kept.items():
        text = (checkpoint / name).read_text()
        document = parse_document(text, name, replace(form, version=form.version + later))
        assert document == {k: v for k, v in json.loads(text).items() if k != "checksum"}


def test_a_newer_journal_is_refused_with_what_to_do() -> None:
    line = json.dumps({"v": SCHEMA_VERSION + 1, "seq": 1, "at": 1.0, "kind": "Novelty"})
    with pytest.raises(ps.ConfigurationError, match="pip install --upgrade penstock"):
        from_json(line)


def test_an_offset_of_a_newer_version_is_refused() -> None:
    offset = ReplayOffset(5, 0, "f").as_dict()
    assert ReplayOffset.from_dict(offset) == ReplayOffset(5, 0, "f")
    with pytest.raises(CheckpointError, match="or a newer one"):
        ReplayOffset.from_dict({**offset, "version": offset["version"] + 1})


def test_output_of_a_newer_version_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    sink = ps.sinks.parquet(str(tmp_path / "out"))
    sink.open("q")
    owner = tmp_path / "out" / "_penstock" / "owner.json"
    document = json.loads(owner.read_text())
    owner.write_text(json.dumps({**document, "version": document["version"] + 1}))
    with pytest.raises(SinkError, match="or a newer one"):
        ps.sinks.parquet(str(tmp_path / "out")).open("q")
