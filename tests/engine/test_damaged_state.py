"""Files of windows and of keys that changed since the commit which names them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.engine.file_checksums import file_checksum
from penstock.engine.keyed_operator import check_state_files
from penstock.engine.pane_store import PaneStore
from penstock.engine.state_manifest import Manifest, StateFile
from penstock.errors import CheckpointError
from penstock.sinks.filesystem import HadoopFiles

NAME = "000000000003-9-77.arrow"


@pytest.mark.parametrize("change", ["flip", "lose one", "lose all", "add"])
def test_partials_that_changed_since_their_commit_are_refused(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    directory = tmp_path / "_penstock_segment=3"
    directory.mkdir()
    for name in ("part-0.parquet", "part-1.parquet"):
        (directory / name).write_bytes(b"some partials")
    store = PaneStore(HadoopFiles(spark), f"file:{tmp_path}", StructType())
    checksums = {3: store.checksum(3)}
    store.check({3}, checksums)
    if change == "flip":
        (directory / "part-1.parquet").write_bytes(b"some qartials")
    elif change == "add":
        (directory / "part-2.parquet").write_bytes(b"of a task that came late")
    else:
        for path in sorted(directory.iterdir())[: 1 if change == "lose one" else 2]:
            path.unlink()
    with pytest.raises(CheckpointError, match=r"segment=3' is .*put the file back"):
        store.check({3}, checksums)
    store.check({3}, {})  # a record of an earlier version has no checksums
    with pytest.raises(CheckpointError, match="segment=6' is missing"):
        store.check({3, 6}, {})


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "is missing"), (b"short", "has 5 bytes"), (b"keys and states!", "is damaged")],
)
def test_states_of_keys_that_changed_since_their_commit_are_refused(
    spark: SparkSession, tmp_path: Path, content: bytes | None, problem: str
) -> None:
    file, files = tmp_path / NAME, HadoopFiles(spark)
    file.write_bytes(b"keys and states.")
    manifest = Manifest((StateFile(NAME, 16, (0,), (0,), file_checksum(str(file))),))
    check_state_files(files, f"file:{tmp_path}", manifest)
    assert Manifest.from_json(manifest.to_json()) == manifest
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(CheckpointError, match=f"{NAME}' {problem}"):
        check_state_files(files, f"file:{tmp_path}", manifest)


def test_a_file_of_an_earlier_version_is_checked_by_its_length(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / NAME).write_bytes(b"keys")
    older = Manifest.from_json([[NAME, 4, "1", [0]]])
    check_state_files(HadoopFiles(spark), str(tmp_path), older)
    (tmp_path / NAME).write_bytes(b"key")
    with pytest.raises(CheckpointError, match="has 3 bytes"):
        check_state_files(HadoopFiles(spark), str(tmp_path), older)
