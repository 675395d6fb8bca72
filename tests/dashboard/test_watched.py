from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.journals import BEGAN, batch, write_journal
from penstock.dashboard.watched import Watched, WatchedJournal
from penstock.errors import ConfigurationError


def never() -> bool:
    return False


def written(directory: Path, segments: int) -> Path:
    """Write a journal in so many segments, a batch in each."""
    for number in range(segments):
        write_journal(directory / "journal", [batch(number)], segment=number + 1)
    return directory / "journal"


def test_a_short_journal_is_read_whole_at_once(tmp_path: Path) -> None:
    journal = WatchedJournal(written(tmp_path / "run", 3))
    assert not journal.glance(never)
    journal.refresh(never)
    assert journal.shown.queries[0].batch_count == 3
    assert journal.share_read == 1.0
    assert journal.name == "run"
    journal.close()


def test_of_a_long_journal_the_newest_is_shown_first(tmp_path: Path) -> None:
    journal = WatchedJournal(written(tmp_path / "run", 9))
    # Whoever looks meanwhile: asked whether to stop after each stretch of lines.
    seen: list[tuple[int, float]] = []

    def look() -> bool:
        query = journal.shown.queries[0]
        last = query.batches.last()["batch"] if query.batch_count else -1.0
        seen.append((query.batch_count, last))
        return False

    assert journal.glance(never)
    journal.refresh(look)
    assert (2, 8.0) in seen, "the glance was shown while the rest was read"
    assert journal.shown.queries[0].batch_count == 9
    assert journal.shown.queries[0].batches.last()["batch"] == 8.0
    journal.close()


def test_a_first_look_is_not_whole_until_all_is_read(tmp_path: Path) -> None:
    journal = WatchedJournal(written(tmp_path / "run", 9))
    journal.glance(never)
    journal.refresh(lambda: True)
    assert journal.shown.queries[0].batch_count == 2
    journal.refresh(never)
    assert journal.shown.queries[0].batch_count == 9
    journal.close()


def test_what_is_written_later_is_seen(tmp_path: Path) -> None:
    path = written(tmp_path / "run", 1)
    journal = WatchedJournal(path)
    journal.refresh(never)
    written(tmp_path / "run", 2)
    journal.refresh(never)
    assert journal.shown.queries[0].batch_count == 2
    journal.close()


@pytest.mark.parametrize("name", ["file", "loop", "x" * 5_000])
def test_nobody_waits_for_what_will_be_no_journal(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ConfigurationError, match=r"Name a(nother| directory)"):
        Watched([tmp_path / name], wait=True)


def test_a_journal_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        Watched([tmp_path / "later"])
    watched = Watched([tmp_path / "later"], wait=True)
    (journal,) = watched.journals
    journal.refresh(never)
    assert journal.shown.problem is not None
    written(tmp_path / "later", 1)
    journal.refresh(never)
    assert journal.shown.problem is None
    assert journal.shown.queries[0].batch_count == 1
    journal.close()


def test_a_journal_that_is_deleted_and_begun_anew_is_told_anew(tmp_path: Path) -> None:
    path = written(tmp_path / "run", 3)
    journal = WatchedJournal(path)
    journal.refresh(never)
    shutil.rmtree(path)
    journal.refresh(never)
    written(tmp_path / "run", 1)
    journal.refresh(never)
    assert journal.shown.queries[0].batch_count == 1
    journal.close()


def test_the_thread_follows_and_ends(tmp_path: Path) -> None:
    from dashboard.processes import wait_until

    watched = Watched([written(tmp_path / "run", 1)], clock=lambda: BEGAN)
    watched.start()
    try:
        query = watched.journals[0].shown
        wait_until(lambda: watched.journals[0].shown.queries[0].batch_count == 1, "a batch")
        written(tmp_path / "run", 4)
        wait_until(lambda: query.queries[0].batch_count == 4, "batches written later")
    finally:
        watched.stop()
    assert watched._thread is not None
    assert not watched._thread.is_alive()


def test_names_are_told_apart_and_none_is_needed_twice(tmp_path: Path) -> None:
    paths = [written(tmp_path / way / "run", 1) for way in ("a", "b")]
    assert Watched(paths).names == ["run", "run (2)"]


def test_nothing_to_show_is_a_mistake() -> None:
    with pytest.raises(ConfigurationError, match="penstock dashboard CHECKPOINT"):
        Watched([])


def test_a_journal_that_fails_to_be_read_does_not_keep_another_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched([written(tmp_path / "a", 1), written(tmp_path / "b", 1)])
    both_tried = threading.Event()

    def fail(stop: Callable[[], bool]) -> None:
        raise RuntimeError("no")

    def end(stop: Callable[[], bool]) -> None:
        both_tried.set()

    for step in ("glance", "refresh"):
        monkeypatch.setattr(watched.journals[0], step, fail)
    monkeypatch.setattr(watched.journals[1], "refresh", end)
    watched.start()
    try:
        assert both_tried.wait(10.0)
    finally:
        watched.stop()
