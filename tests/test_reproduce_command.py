"""``penstock reproduce`` at the terminal."""

from __future__ import annotations

import json
from math import nan
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from penstock.cli import app
from penstock.cli import reproduce as reproducing
from penstock.cli.reproduce_command import PaperName
from penstock.reproduction import enorm
from penstock.reproduction.papers import PAPERS
from penstock.reproduction.result import Beside, Reproduction, Table


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["reproduce", *arguments])


def refusal(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


def test_a_table_for_people_and_files(tmp_path: Path) -> None:
    result = run("enorm", "--quick", "--out", str(tmp_path / "figures"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    (row,) = [line for line in lines if "an hour: efficient" in line]
    assert row.split()[-4:] == ["86", "86", "0.0", "%"]
    (row,) = [line for line in lines if "a day: efficient" in line]
    assert row.split()[-3:] == ["-", "364", "[1]"]
    assert any(line.startswith("[1] The paper asks for these windows") for line in lines)
    assert max(len(line) for line in lines) <= 80
    names = {file.name for file in (tmp_path / "figures").iterdir()}
    assert names == {
        *(f"{each}.csv" for each in ENORM_TABLES),
        *(f"{each}.csv" for each in ENORM_FIGURES),
        *(f"{each}.png" for each in ENORM_FIGURES),
    }


ENORM_TABLES = (
    "enorm_consolidation",
    "enorm_components",
    "enorm_communication",
    "enorm_subset_sizes",
)
ENORM_FIGURES = (
    "enorm_fig_7_hour",
    "enorm_fig_7_day",
    "enorm_fig_9_windows",
    "enorm_fig_14",
    "enorm_fig_15",
)


def test_json_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("enorm", "--quick", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["paper"] == "enorm"
    assert found["tables"][0]["rows"][1] == {
        "what": "5, 10, 15, 20 minutes, an hour: efficient",
        "paper": 86,
        "here": 86,
        "unit": "",
        "why": "",
        "difference": 0.0,
    }
    assert [each["name"] for each in found["figures"]] == list(ENORM_FIGURES)
    assert all((tmp_path / file).is_file() for file in found["files"])
    assert {Path(file).parent for file in found["files"]} == {Path("penstock-enorm")}


def test_what_is_wrong_is_told_before_anything_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(enorm, "reproduce", lambda **given: begun.append(given))
    gone = tmp_path / "gone"
    assert f"there is no folder {gone}" in refusal(
        run("enorm", "--data", str(gone), "--out", str(tmp_path))
    )
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert f"{taken} can't be written to" in refusal(run("enorm", "--out", str(taken)))
    assert "'enrm' is not one of" in refusal(run("enrm"))
    assert "Missing argument 'paper'. Choose from: posg, dabs, psps" in refusal(run())
    assert not begun


def test_the_command_knows_every_paper() -> None:
    assert tuple(each.value for each in PaperName) == PAPERS


def test_a_reason_that_many_numbers_share_is_told_once() -> None:
    rows = (
        Beside("a", 2.0, 1.0, "s", why="for reasons"),
        Beside("b", 4000.0, 5000.0, why="for others"),
        Beside("c", 1.0, nan, why="for reasons"),
    )
    found = Reproduction("demo", "Demo", (Table("t", "Numbers", rows),), remarks=("and so on",))
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(reproducing.as_screen(found, [Path("out/t.csv")]))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert [line.split() for line in lines if line[:1] in "abc" and line] == [
        ["a", "2", "s", "1", "s", "-50.0", "%", "[1]"],
        ["b", "4,000", "5,000", "+25.0", "%", "[2]"],
        ["c", "1", "-", "[1]"],
    ]
    assert [line for line in lines if line.startswith("[")] == ["[1] for reasons", "[2] for others"]
    assert "* and so on" in lines
    assert lines[-1] == "Written to out: 0 PNG, 1 CSV (t)"
    assert reproducing.as_dict(found, [])["tables"][0]["rows"][2]["here"] is None
