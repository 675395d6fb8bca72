"""``penstock init``: what it writes, what it refuses, and that the project works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli import app
from penstock.cli.new_project import TEMPLATES, requirement


def initialised(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


class TestWriting:
    def test_an_absent_directory(self, tmp_path: Path) -> None:
        target = tmp_path / "deep" / "shop"
        result = initialised(str(target), "--json")
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert (told["directory"], told["name"]) == (str(target), "shop")
        there = [str(file.relative_to(target)) for file in target.rglob("*") if file.is_file()]
        assert sorted(there) == sorted(told["files"]) == sorted(TEMPLATES)
        assert (target / "README.md").read_text().startswith("# shop\n")

    def test_an_empty_directory_and_nothing_is_said(self, tmp_path: Path) -> None:
        result = initialised(str(tmp_path), "--quiet", "--name", "takings")
        assert (result.exit_code, result.output) == (0, "")
        assert "--name takings " in (tmp_path / "Makefile").read_text()

    def test_nothing_is_left_to_fill_in_and_python_compiles(self, tmp_path: Path) -> None:
        initialised(str(tmp_path))
        for path in TEMPLATES:
            text = (tmp_path / path).read_text()
            assert "@NAME" not in text
            assert "@REQUIREMENT@" not in text
            assert "@HOME@" not in text
            if path.endswith(".py"):
                compile(text, path, "exec")

    def test_the_readme_says_what_to_install_and_links_nowhere(self, tmp_path: Path) -> None:
        initialised(str(tmp_path))
        text = (tmp_path / "README.md").read_text()
        assert f"`{requirement()}`" in text
        assert "pip install -r requirements.txt" in text
        assert not re.search(r"\]\(|\bhttps?://", text.replace(requirement(), ""))

    def test_other_files_do_not_matter(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("mine")
        assert initialised(str(tmp_path)).exit_code == 0
        assert (tmp_path / "notes.txt").read_text() == "mine"

    @pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
    @pytest.mark.parametrize("name", ["it's $HOME", '"; rm -rf x; "', "a `b` #c", "naïve 🍵"])
    def test_names_reach_the_command_as_they_are(self, tmp_path: Path, name: str) -> None:
        initialised(str(tmp_path), "--name", name)
        (tmp_path / "echo").write_text("#!/bin/sh\nprintf '%s' \"$6\"\n")
        (tmp_path / "echo").chmod(0o755)
        ran = subprocess.run(
            ["make", "-s", "run", "PYTHON=./echo"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert (ran.returncode, ran.stdout) == (0, name), ran.stderr


class TestRefusing:
    def test_what_is_in_the_way_is_listed_and_left(self, tmp_path: Path) -> None:
        (tmp_path / "Makefile").write_text("mine")
        (tmp_path / "topology.py").write_text("mine")
        result = initialised(str(tmp_path))
        assert (result.exit_code, result.stdout) == (2, "")
        assert "has topology.py, Makefile already" in result.stderr
        assert sorted(each.name for each in tmp_path.iterdir()) == ["Makefile", "topology.py"]
        assert (tmp_path / "Makefile").read_text() == "mine"

    def test_force_replaces_it(self, tmp_path: Path) -> None:
        (tmp_path / "Makefile").write_text("mine")
        assert initialised(str(tmp_path), "--force").exit_code == 0
        assert "penstock run" in (tmp_path / "Makefile").read_text()

    def test_a_directory_of_a_files_name(self, tmp_path: Path) -> None:
        (tmp_path / "Makefile").mkdir()
        result = initialised(str(tmp_path), "--force")
        assert result.exit_code == 2
        assert "has a directory Makefile" in result.stderr

    def test_a_file_is_no_directory(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "is a file" in initialised(str(tmp_path / "file")).stderr
        assert initialised(str(tmp_path / "file" / "deeper")).exit_code == 2

    @pytest.mark.parametrize("name", ["", "  ", "two\nlines", "a\x00b"])
    def test_names_that_are_none(self, tmp_path: Path, name: str) -> None:
        result = initialised(str(tmp_path / "new"), "--name", name)
        assert result.exit_code == 2
        assert "is no name" in result.stderr
        assert not (tmp_path / "new").exists()


def test_what_pip_installs() -> None:
    assert requirement().startswith(("penstock>=", "penstock @ file:", "penstock @ http"))


@pytest.mark.slow
class TestProject:
    def test_its_test_passes_and_its_job_runs(self, tmp_path: Path) -> None:
        target = tmp_path / "it's mine"
        initialised(str(target))
        tested = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=target,
            capture_output=True,
            text=True,
            check=False,
        )
        assert tested.returncode == 0, tested.stdout
        assert "2 passed" in tested.stdout
        ran = subprocess.run(
            [sys.executable, "-m", "penstock", "run", "topology.py", "--available-now", "--json"],
            cwd=target,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        ended = json.loads(ran.stdout)
        assert (ended["rows"], ended["failed_rows"]) == (6, 1)
        files = (target / "out" / "takings").glob("batch_id=*/*.json")
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        found = {(row["window"]["start"][11:16], row["shop"]): row["amount"] for row in rows}
        assert found == {
            ("08:00", "north"): 11.5,
            ("08:00", "south"): 9.0,
            ("08:01", "south"): 2.5,
        }
        # A part of the project is refused nowhere: its checkpoint can be looked at.
        looked = CliRunner().invoke(app, ["inspect", str(target / "topology.checkpoint")])
        assert looked.exit_code == 0, looked.output
