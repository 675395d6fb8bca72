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
