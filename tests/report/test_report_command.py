"""``penstock report`` as people call it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import app

from .journals import whole_run, write


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)], env={"COLUMNS": "100"})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return write(tmp_path / "ck" / "journal", whole_run())


def test_it_tells_the_story_on_the_screen(journal: Path) -> None:
    code, out, _ = run(journal.parent)
    assert code == 0
    assert "The story of shop" in out
    assert "did 78,000 rows in 600 batches" in " ".join(out.split())
    assert "The busiest operators" in out
    assert "many rows for score" in out


def test_html_alone_writes_the_usual_file(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(journal, "--html")
    assert code == 0
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert "Written: report.html" in out
    assert (tmp_path / "report.html").as_uri() in out


@pytest.mark.parametrize("form", ["before", "after", "joined"])
def test_html_with_a_file(journal: Path, tmp_path: Path, form: str) -> None:
    page = tmp_path / "run.html"
    arguments = {
        "before": ["--html", page, journal],
        "after": [journal, "--html", page],
        "joined": [f"--html={page}", journal],
    }[form]
    code, out, _ = run(*arguments, "--quiet")
    assert (code, out) == (0, "")
    assert "The story of shop" in page.read_text()


def test_a_journal_after_html_is_no_file_to_write(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("--html", journal)[0] == 0
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize("form", ["{0} {1} --html", "--html {1} {0}", "{0} --html {1}"])
def test_a_journal_that_is_not_there_is_said_beside_one_that_is(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for quiet in ([], ["-q"]):
        code, out, err = run(*form.format(journal, "nosuch").split(), *quiet)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "nosuch" in err
    assert run(journal, "nosuch")[0] == 2
    assert run(journal, "nosuch", "--html", "week.html")[0] == 2
    assert list(tmp_path.glob("*.html")) == []


@pytest.mark.parametrize("joined", [False, True])
def test_what_is_no_page_is_not_written_over(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joined: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("mine")
    Path("empty").mkdir()
    proposed = {"notes.txt": "notes.txt.html", "empty": "empty.html", ".": "report.html"}
    for named, page in proposed.items():
        code, out, err = run(journal, *([f"--html={named}"] if joined else ["--html", named]))
        assert (code, out) == (2, "")
        assert f"--html {named} names no journal, and no page" in err
        assert f"Write --html {page}, or" in err
    for of_journal in (journal, *journal.glob("*.jsonl")):
        before = sorted((each, each.read_bytes()) for each in journal.iterdir())
        code, _, err = run(journal, f"--html={of_journal}")
        assert code == 2
        assert "is a journal, and no place for a page" in err
        assert sorted((each, each.read_bytes()) for each in journal.iterdir()) == before
    assert Path("notes.txt").read_text() == "mine"
    assert list(tmp_path.glob("*.html")) == []


def test_the_one_that_could_not_be_told_is_said_also_when_quiet(
    journal: Path, tmp_path: Path
) -> None:
    (tmp_path / "new").mkdir()
    line = '{"v":99,"seq":1,"at":1.0,"kind":"BatchSkipped","batch_id":1}\n'
    (tmp_path / "new" / "journal-00000001.jsonl").write_text(line)
    for options in (["--html", tmp_path / "run.html", "-q"], ["--json"], []):
        code, _, err = run(journal, tmp_path / "new", *options)
        assert (code, err.count("\n")) == (0, 1)
        assert "schema 99" in err


def test_one_journal_named_in_two_ways_is_one(journal: Path) -> None:
    code, out, _ = run(journal, journal.parent, "--json")
    assert code == 0
    assert len(json.loads(out)["stories"]) == 1


def test_json_is_all_that_is_printed(journal: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    code, out, _ = run(journal, "--json", "--html", page)
    told = json.loads(out)
    assert code == 0
    assert told["stories"][0]["summary"]["batches"] == 600
    assert told["html"] == str(page)


def test_a_time_can_be_chosen(journal: Path) -> None:
    code, out, _ = run(
        journal, "--since=2026-11-17T12:01:00+00:00", "--until=2026-11-17T12:02:00Z", "--json"
    )
    assert code == 0
    assert json.loads(out)["stories"][0]["summary"]["batches"] == 61


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this machine's clock be that of another part of the world."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_away")
def test_times_are_utc_wherever_it_is_told(journal: Path, tmp_path: Path) -> None:
    code, out, _ = run(journal, "--since=2026-11-17T12:01", "--until=2026-11-17T12:02")
    assert code == 0
    assert "It ran from 17 November 2026, 12:00:59 UTC for" in " ".join(out.split())
    assert "Times are UTC." in out
    assert run(journal, "--html", tmp_path / "run.html")[0] == 0
    assert "Times are UTC." in (tmp_path / "run.html").read_text()


def test_mistakes_are_one_sentence(journal: Path, tmp_path: Path) -> None:
    (tmp_path / "journal-00000001.jsonl").write_text("")
    for arguments, said in (
        ((tmp_path / "no",), "there is nothing at"),
        ((tmp_path,), "is empty so far"),
        ((journal, "--since", "2030-01-01"), "tells nothing of the time asked for"),
        ((journal, "--since", "noon"), "--since 'noon' is no time"),
        ((journal, "--since", "2026-11-18", "--until", "2026-11-17"), "is not before --until"),
        ((journal, "--html", tmp_path / "no" / "run.html"), "can't be written"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1
