import re
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError
from penstock.journal import BatchSkipped, JournalWriter
from penstock.journal.location import journal_of


def _journal(directory: Path) -> Path:
    with JournalWriter(directory) as journal:
        journal.write(BatchSkipped(1))
    return directory


def test_a_journals_directory_is_itself(tmp_path: Path) -> None:
    journal = _journal(tmp_path / "anywhere")
    assert journal_of(journal) == journal


def test_a_checkpoint_has_its_journal_inside(tmp_path: Path) -> None:
    journal = _journal(tmp_path / "checkpoint" / "journal")
    assert journal_of(tmp_path / "checkpoint") == journal
    assert journal_of(Path(f"file:{tmp_path}/checkpoint")) == journal


def test_one_file_of_a_journal_is_itself(tmp_path: Path) -> None:
    file = _journal(tmp_path) / "journal-00000001.jsonl"
    assert journal_of(file) == file


def test_a_journal_without_a_line_yet_is_one(tmp_path: Path) -> None:
    JournalWriter(tmp_path / "journal").close()
    assert not list(tmp_path.glob("journal/*.jsonl"))
    assert journal_of(tmp_path) == tmp_path / "journal"


def test_a_journal_that_was_copied_without_its_lock_is_one(tmp_path: Path) -> None:
    (_journal(tmp_path) / "journal.lock").unlink()
    assert journal_of(tmp_path) == tmp_path


def _complaint(path: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        journal_of(path)
    assert "Name a query's checkpoint" in str(caught.value)
    return str(caught.value)


def test_what_is_no_journal_is_said(tmp_path: Path) -> None:
    assert _complaint(tmp_path / "nowhere").startswith(f"there is nothing at {tmp_path}/nowhere.")
    assert _complaint(tmp_path).startswith(f"there is no journal in {tmp_path}.")
    (tmp_path / "notes.txt").write_text("no journal")
    assert _complaint(tmp_path / "notes.txt").startswith(f"{tmp_path}/notes.txt is a file")


def test_a_checkpoint_without_a_journal_is_said(tmp_path: Path) -> None:
    (tmp_path / "query.json").write_text("{}")
    assert re.search(r"the checkpoint \S+ holds no journal: .*journal=", _complaint(tmp_path))


def test_a_checkpoint_of_sparks_own_is_said(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    assert "a query that Penstock did not run" in _complaint(tmp_path)
