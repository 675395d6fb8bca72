"""Completion, asked for as shells do it: by an environment variable, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.completion import WORKLOADS, complete_path, complete_policy, complete_topology


def told(shell: str, *words: str, cwd: Path | None = None) -> str:
    line = " ".join(words)
    environment = {
        **os.environ,
        "_PENSTOCK_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    ran = subprocess.run(
        [sys.executable, "-m", "penstock"],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.stdout


def completed(*words: str, cwd: Path | None = None) -> list[str]:
    return told("bash", *words, cwd=cwd).split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_in_every_shell(shell: str) -> None:
    answer = told(shell, "penstock", "re")
    assert "replay" in answer
    assert "reproduce" in answer
    assert "doctor" not in answer


def test_values() -> None:
    assert completed("penstock", "run", "job.py", "--policy", "aut") == ["auto-scale-plus"]
    assert completed("penstock", "run", "job.py", "--placement", "k") == ["key-groups"]
    assert completed("penstock", "reproduce", "p") == ["posg", "psps", "ppq"]
    assert completed("penstock", "simulate", "err") == ["erratic"]
    assert completed("penstock", "simulate", "a.csv", "--topology", "twe") == ["tweets"]


def test_paths_are_beside_names(tmp_path: Path) -> None:
    (tmp_path / "erratic-day.csv").touch()
    (tmp_path / "errors").mkdir()
    found = completed("penstock", "simulate", "err", cwd=tmp_path)
    assert found == ["erratic", "erratic-day.csv", "errors/"]


def test_paths_alone_are_left_to_the_shell() -> None:
    """An empty answer lets bash complete file names, which it does better."""
    assert completed("penstock", "replay", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_that_of_the_shell_that_is_named(shell: str) -> None:
    ran = of_completion("--show-completion", shell)
    assert ran.returncode == 0, ran.stderr
    assert f"_PENSTOCK_COMPLETE=complete_{shell}" in ran.stdout


def test_script_is_installed_for_the_shell_that_is_named(tmp_path: Path) -> None:
    ran = of_completion("--install-completion", "fish", home=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (script,) = tmp_path.rglob("penstock.fish")
    assert str(script) in ran.stdout
    assert "complete_fish" in script.read_text()


def test_a_shell_without_a_script_is_refused() -> None:
    ran = of_completion("--show-completion", "tcsh")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "no completion for 'tcsh'. Write one of: bash, zsh, fish" in ran.stderr


def of_completion(*words: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **({} if home is None else {"HOME": str(home)})},
    )


def test_nothing_slow_is_loaded() -> None:
    script = (
        "import sys\n"
        "from penstock.cli.completion import *\n"
        "import penstock.cli\n"
        "complete_policy('a'), complete_workload('e'), complete_topology('t')\n"
        "sys.exit(any(name in sys.modules for name in ('pyspark', 'pandas', 'nicegui')))\n"
    )
    environment = {key: value for key, value in os.environ.items() if "COMPLETE" not in key}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert ran.returncode == 0


def test_names_are_those_that_there_are() -> None:
    from penstock.simulation.topology_file import shipped_topologies
    from penstock.simulation.workloads.named import workload_names

    assert workload_names() == WORKLOADS
    assert complete_topology("").index("tweets") == shipped_topologies().index("tweets")


def test_settings_of_a_policy() -> None:
    assert complete_policy("replica-pool:utilisation=0.8,inter") == [
        "replica-pool:utilisation=0.8,interval="
    ]
    assert complete_policy("static:") == []
    assert complete_policy("nosuch:x") == []


def test_hidden_files_only_where_asked_for(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    (tmp_path / "seen").touch()
    assert complete_path(f"{tmp_path}/") == [f"{tmp_path}/seen"]
    assert complete_path(f"{tmp_path}/.h") == [f"{tmp_path}/.hidden"]
