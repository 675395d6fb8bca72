"""Checks the lines of a shell block without running them: each by what it starts."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import typer.main
from packaging.requirements import Requirement

from documentation.blocks import ROOT, Block
from penstock.cli import app


class WrongLine(AssertionError):
    """A line that would not do what the page says."""


def check_shell(block: Block) -> None:
    """Raise unless every line of a block is one that could be run."""
    syntax = subprocess.run(
        ["bash", "-n"], input=block.text, text=True, capture_output=True, check=False
    )
    if syntax.returncode:
        raise WrongLine(f"{block.where}: {syntax.stderr.strip()}")
    for line, words in _lines(block):
        checker = CHECKERS.get(Path(words[0]).name)
        if checker is None:
            raise WrongLine(f"{block.where}: nothing checks lines that start with '{words[0]}'")
        try:
            checker(_before_redirection(words[1:]))
        # Typer brings its own copy of click, so that its errors have no public name.
        except Exception as error:
            said = getattr(error, "message", None) or error
            raise WrongLine(f"{block.where}: {line.strip()}: {said}") from error


def commands_of(block: Block, program: str) -> Iterator[list[str]]:
    """Give what a shell block has a program do."""
    if block.language == "sh":
        for _, words in _lines(block):
            if words[0] == program:
                yield _before_redirection(words[1:])


def _lines(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Give each line with its words, without comments and what is set for it alone."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words = words[1:]
        if words:
            yield line, words


def _before_redirection(words: list[str]) -> list[str]:
    ends = [at for at, word in enumerate(words) if word in (">", "|", "&", "&&", ">>", "2>")]
    return words[: ends[0]] if ends else words


def check_penstock(words: list[str]) -> None:
    """Let the real command line read the words, without doing what they say."""
    _parse(typer.main.get_command(app), "penstock", words, None)


def _parse(command: Any, name: str, words: list[str], parent: Any) -> None:
    if hasattr(command, "resolve_command"):
        context = command.make_context(name, list(words), parent=parent)
        rest = [*getattr(context, "_protected_args", []), *context.args]
        if rest:
            found, inner, left = command.resolve_command(context, rest)
            _parse(inner, found or "", left, context)
        return
    # Files that a page names are not here; whether options and arguments are known is what counts.
    for parameter in command.params:
        if hasattr(getattr(parameter, "type", None), "exists"):
            parameter.type.exists = False
    command.make_context(name, list(words), parent=parent)


def check_make(words: list[str]) -> None:
    """Look the targets up in the Makefile."""
    makefile = (ROOT / "Makefile").read_text()
    for target in words:
        if "=" not in target and not re.search(rf"^{target}:", makefile, re.MULTILINE):
            raise WrongLine(f"the Makefile has no target '{target}'")


def check_pip(words: list[str]) -> None:
    """Read what is installed as requirements, and look extras of Penstock up in pyproject.toml."""
    if words[:1] != ["install"]:
        raise WrongLine("pip is only shown to install")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for word in words[1:]:
        if word.startswith("-"):
            continue
        local = re.fullmatch(r"\.(\[.*\])?", word)
        wanted = Requirement(f"penstock{local[1] or ''}" if local else word)
        if wanted.name == "penstock":
            unknown = wanted.extras - set(project["optional-dependencies"])
            if unknown:
                raise WrongLine(f"pyproject.toml has no extra {sorted(unknown)}")


def check_python(words: list[str]) -> None:
    """Look for the script, and for its options in what it and its neighbours say they take."""
    if words[0] == "-m":
        if words[1] not in MODULES:
            raise WrongLine(f"nothing checks 'python -m {words[1]}'")
        return
    if "/" not in words[0]:
        return  # A job of the reader's own, such as job.py.
    script = ROOT / words[0]
    if not script.exists():
        raise WrongLine(f"there is no {words[0]}")
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        if f'"{option}"' not in script.read_text():
            raise WrongLine(f"{words[0]} has no option {option}")


def check_spark_submit(words: list[str]) -> None:
    """Hold the options against those that Spark's own help lists."""
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        if option not in _options_of_spark_submit():
            raise WrongLine(f"spark-submit has no option {option}")


@functools.cache
def _options_of_spark_submit() -> frozenset[str]:
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    said = subprocess.run([str(program), "--help"], text=True, capture_output=True, check=False)
    return frozenset(re.findall(r"--[a-z][a-z-]*", said.stdout + said.stderr))


def not_ours(words: list[str]) -> None:
    """Take a program of somebody else's as it stands; its syntax was looked at."""


MODULES = ("venv", "pytest", "pip", "http.server")
CHECKERS: dict[str, Callable[[list[str]], None]] = {
    "penstock": check_penstock,
    "make": check_make,
    "pip": check_pip,
    "python": check_python,
    "spark-submit": check_spark_submit,
    **dict.fromkeys(
        (
            *("apt-get", "cd", "curl", "docker", "export", "git", "hdfs", "kubectl", "pytest"),
            "ssh",
            *("start-master.sh", "start-worker.sh", "venv-pack"),
        ),
        not_ours,
    ),
}
