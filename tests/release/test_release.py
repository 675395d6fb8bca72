"""The wheel and the sdist, in an environment that has nothing else, outside of the repository.

The environment has what the wheel says it requires, as links to what is installed here, which takes
seconds. With ``PENSTOCK_INSTALL=pip`` (``make release-check``) pip installs all of it anew, and
fetches what builds the sdist.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from linked_environment import make_environment
from penstock.version import __version__

ROOT = Path(__file__).parent.parent.parent
WITH_PIP = os.environ.get("PENSTOCK_INSTALL") == "pip"
USER = """
import penstock as ps
from pyspark.sql import DataFrame

def total(rows: DataFrame) -> DataFrame:
    return ps.windowed(rows, time="ts", windows=[ps.tumbling("1 hour")], aggs={"n": ps.count()})

reveal_type(ps.Static(4))
ps.Static("four")
"""

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Built:
    """The two files of a release."""

    wheel: Path
    sdist: Path

    @property
    def metadata(self) -> Message:
        with zipfile.ZipFile(self.wheel) as archive:
            return message_from_bytes(archive.read(f"penstock-{__version__}.dist-info/METADATA"))

    @property
    def required(self) -> list[str]:
        return [str(each) for each in self.metadata.get_all("Requires-Dist", [])]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the sdist, and from the sdist the wheel."""
    where = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", where, ROOT)
    (wheel,), (sdist,) = where.glob("*.whl"), where.glob("*.tar.gz")
    return Built(wheel, sdist)


@pytest.fixture(scope="module")
def python(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel in an empty environment; return its interpreter."""
    where = tmp_path_factory.mktemp("installed") / "env"
    if WITH_PIP:
        run(sys.executable, "-m", "venv", where)
        run(where / "bin" / "python", "-m", "pip", "install", "--quiet", built.wheel)
        return where / "bin" / "python"
    python = make_environment(where, built.required)
    into = ["--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    run(sys.executable, "-m", "pip", *into, built.wheel)
    return python


@pytest.fixture(scope="module")
def python_of_sdist(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Let pip build and install the sdist, beside what it requires; return the interpreter."""
    builder = [] if WITH_PIP else ["hatchling"]
    where = tmp_path_factory.mktemp("from-sdist") / "env"
    python = make_environment(where, [*built.required, *builder])
    offline = [] if WITH_PIP else ["--no-index", "--no-build-isolation"]
    into = ["--python", python, "install", "--quiet", "--no-deps", *offline]
    run(sys.executable, "-m", "pip", *into, built.sdist)
    return python


def run(*command: object, cwd: Path | None = None) -> str:
    """Run a command in which nothing tells Python of this tree; return what it printed."""
    known = {"PYTHONPATH", "PYSPARK_PYTHON", "VIRTUAL_ENV"}
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env={name: text for name, text in os.environ.items() if name not in known},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


def test_the_files_are_of_this_version_and_the_changes_tell_of_it(built: Built) -> None:
    assert built.wheel.name == f"penstock-{__version__}-py3-none-any.whl"
    assert built.sdist.name == f"penstock-{__version__}.tar.gz"
    changes = (ROOT / "CHANGELOG.md").read_text().splitlines()
    newest = next(line for line in changes if line.startswith("## "))
    assert newest.split()[1].rstrip(",") == __version__


def test_the_wheel_has_all_that_the_package_has(built: Built) -> None:
    package = ROOT / "src"
    ours = {
        path.relative_to(package).as_posix()
        for path in (package / "penstock").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(built.wheel) as archive:
        there = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert there == ours
    assert "penstock/py.typed" in there


def test_the_sdist_has_what_a_build_needs_and_nothing_of_this_machine(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO"} <= names
    assert not [name for name in names if name.startswith((".venv", ".git/", "dist/", "site/"))]


def test_the_commands_know_their_version(python: Path, tmp_path: Path) -> None:
    told = json.loads(run(python, "-m", "penstock", "version", "--json", cwd=tmp_path))
    assert told["penstock"] == __version__
    script = run(python.parent / "penstock", "version", "--quiet", cwd=tmp_path)
    assert script.strip() == __version__
    where = run(python, "-c", "import penstock; print(penstock.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(python.parent.parent)


def test_pip_builds_the_sdist_and_what_it_installs_is_all_there(
    built: Built, python_of_sdist: Path, tmp_path: Path
) -> None:
    told = json.loads(run(python_of_sdist, "-m", "penstock", "version", "--json", cwd=tmp_path))
    assert told["penstock"] == __version__
    where = run(python_of_sdist, "-c", "import penstock; print(penstock.__file__)", cwd=tmp_path)
    package = Path(where.strip()).parent
    assert package.is_relative_to(python_of_sdist.parent.parent)
    with zipfile.ZipFile(built.wheel) as archive:
        ours = {name for name in archive.namelist() if name.startswith("penstock/")}
    assert {name for name in ours if not (package.parent / name).is_file()} == set()


def test_the_demo_runs(python: Path, tmp_path: Path) -> None:
    shortest = ["--seconds", "1", "--rate", "40", "--master", "local[2]", "--json"]
    told = json.loads(run(python, "-m", "penstock", "demo", *shortest, cwd=tmp_path))
    assert told["rows"] == told["offered_rows"] > 0
    rows = {each["name"]: each["rows_read_back"] for each in told["outputs"]}
    assert 0 < rows["readings"] <= told["rows"]


def test_the_wheel_brings_its_types(python: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
            *("--config-file=", "--cache-dir", str(tmp_path / "cache")),
            *("--python-executable", str(python), "user.py"),
        ],
        cwd=tmp_path,
        env={name: text for name, text in os.environ.items() if name != "MYPYPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    # Types are known, and a wrong one is found; nothing is unknown, missing or Any.
    told, wrong = done.stdout.splitlines()
    assert 'Revealed type is "penstock.elasticity.static.Static"' in told
    assert 'Argument 1 to "Static" has incompatible type "str"' in wrong
