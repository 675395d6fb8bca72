from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.sinks.filesystem import HadoopFiles


@pytest.fixture(params=["local", "shared"])
def place(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path
) -> Iterator[tuple[HadoopFiles, str, Path]]:
    """The same directory by its local path, and through viewfs as a file system of its own."""
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    # A name of its own for every test: Hadoop caches file systems by it.
    mount = f"mount-{tmp_path.name}".replace("_", "-").lower()
    link = f"fs.viewfs.mounttable.{mount}.link./data"
    configuration.set(link, f"file:{tmp_path}")
    root = str(tmp_path) if request.param == "local" else f"viewfs://{mount}/data"
    try:
        yield HadoopFiles(spark), root, tmp_path
    finally:
        configuration.unset(link)


def test_write_makes_directories_and_leaves_only_the_file(
    place: tuple[HadoopFiles, str, Path],
) -> None:
    files, root, directory = place
    files.write_atomic(f"{root}/a b/c.json", "ün\nïcode ✓")
    assert (directory / "a b" / "c.json").read_text("utf-8") == "ün\nïcode ✓"
    assert files.list(f"{root}/a b") == ["c.json"]
    assert files.read(f"{root}/a b/c.json") == "ün\nïcode ✓"
    assert files.size_bytes(f"{root}/a b/c.json") == len("ün\nïcode ✓".encode())


def test_write_replaces(place: tuple[HadoopFiles, str, Path]) -> None:
    files, root, _ = place
    files.write_atomic(f"{root}/x", "a long first text")
    files.write_atomic(f"{root}/x", "")
    assert files.read(f"{root}/x") == ""
    assert files.list(root) == ["x"]


def test_what_is_missing(place: tuple[HadoopFiles, str, Path]) -> None:
    files, root, _ = place
    assert files.read(f"{root}/none") is None
    assert files.list(f"{root}/none") == []
    assert files.delete(f"{root}/none") is False
    assert files.exists(f"{root}/none") is False


def test_list_is_sorted_and_shows_directories(place: tuple[HadoopFiles, str, Path]) -> None:
    files, root, directory = place
    for name in ("b", "a, with comma", "_hidden"):
        (directory / name).mkdir()
    assert files.list(root) == ["_hidden", "a, with comma", "b"]


def test_rename_moves_a_directory_and_never_replaces(place: tuple[HadoopFiles, str, Path]) -> None:
    files, root, directory = place
    files.make_directory(f"{root}/old/deep")
    files.write_atomic(f"{root}/old/deep/x", "1")
    files.rename(f"{root}/old", f"{root}/new")
    assert files.read(f"{root}/new/deep/x") == "1"
    (directory / "taken").mkdir()
    with pytest.raises(FileExistsError, match="taken"):
        files.rename(f"{root}/new", f"{root}/taken")
    assert files.list(root) == ["new", "taken"]


def test_rename_of_what_is_missing_fails(place: tuple[HadoopFiles, str, Path]) -> None:
    files, root, _ = place
    with pytest.raises((OSError, Py4JJavaError)):
        files.rename(f"{root}/none", f"{root}/other")


def test_delete_needs_recursive_for_a_full_directory(
    place: tuple[HadoopFiles, str, Path],
) -> None:
    files, root, _ = place
    files.write_atomic(f"{root}/d/x", "1")
    with pytest.raises(Py4JJavaError):
        files.delete(f"{root}/d")
    assert files.delete(f"{root}/d", recursive=True) is True
    assert files.exists(f"{root}/d") is False


def test_qualify_and_is_local(spark: SparkSession) -> None:
    files = HadoopFiles(spark)
    assert files.qualify("/x y/z") == "file:/x y/z"
    assert files.qualify("file:///x") == "file:/x"
    assert files.qualify("here") == f"file:{Path.cwd()}/here"
    assert files.is_local("anything")


def test_shared_storage_is_not_local(place: tuple[HadoopFiles, str, Path]) -> None:
    files, root, _ = place
    assert files.is_local(root) is not root.startswith("viewfs:")


def test_local_write_keeps_no_checksum_that_could_go_stale(
    spark: SparkSession, tmp_path: Path
) -> None:
    HadoopFiles(spark).write_atomic(str(tmp_path / "x"), "1")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_file_system_without_file_context_is_explained(spark: SparkSession) -> None:
    # Hadoop knows http: as a file system to read from; nothing is connected to here.
    with pytest.raises(ConfigurationError, match=r"fs\.AbstractFileSystem\.http\.impl"):
        HadoopFiles(spark).write_atomic("http://127.0.0.1/f", "1")


def test_without_a_jvm_is_explained() -> None:
    class ConnectSession:
        """A Spark Connect session has no ``_jvm``."""

    with pytest.raises(ConfigurationError, match="Spark Connect"):
        HadoopFiles(ConnectSession())  # type: ignore[arg-type]


def test_a_job_writes_into_a_directory_made_ready(
    spark: SparkSession, place: tuple[HadoopFiles, str, Path]
) -> None:
    files, root, directory = place
    options = files.ready_for_job(f"{root}/for a job")
    rows = spark.range(10).repartition(2)
    rows.write.mode("append").options(**options).parquet(f"{root}/for a job")
    assert spark.read.parquet(str(directory / "for a job")).count() == 10
    left = {path.name for path in (directory / "for a job").iterdir() if path.suffix != ".parquet"}
    if files.is_local(root):
        # No checksum files, each of which would cost a process, and nothing of the committer's.
        assert left == {"_SUCCESS"}
