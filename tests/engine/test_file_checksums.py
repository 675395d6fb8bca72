from __future__ import annotations

from pathlib import Path

from penstock.engine.file_checksums import directory_checksum, file_checksum, listing_checksum


def test_a_directory_has_another_checksum_when_a_file_changes_comes_or_goes(tmp_path: Path) -> None:
    (tmp_path / "part-0").write_bytes(b"one")
    (tmp_path / "part-1").write_bytes(b"two")
    first = directory_checksum(str(tmp_path))
    (tmp_path / "_temporary").mkdir()
    (tmp_path / ".part-0.crc").write_bytes(b"x")
    assert directory_checksum(str(tmp_path)) == first, "Spark does not read those"
    seen = {first}
    for change in (
        lambda: (tmp_path / "part-1").write_bytes(b"twp"),
        (tmp_path / "part-1").unlink,
        lambda: (tmp_path / "part-2").write_bytes(b"two"),
    ):
        change()
        seen.add(directory_checksum(str(tmp_path)))
    assert len(seen) == 4


def test_a_file_of_several_chunks_has_one_checksum(tmp_path: Path) -> None:
    long = tmp_path / "long"
    long.write_bytes(b"ab" * 1_500_000)
    first = file_checksum(str(long))
    long.write_bytes(b"ab" * 1_499_999 + b"aa")
    assert file_checksum(str(long)) != first


def test_a_listing_goes_by_names_and_lengths() -> None:
    assert listing_checksum({"a": 1, "b": 2}) == listing_checksum({"b": 2, "a": 1, "_x": 5})
    assert listing_checksum({"a": 1, "b": 2}) != listing_checksum({"a": 2, "b": 1})
