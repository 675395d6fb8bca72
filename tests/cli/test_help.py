"""Help of every command that the app has, whoever added it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from penstock.cli import app
from penstock.cli.command_line import ExampleCommand, split_examples

COMMANDS: dict[str, Any] = dict(typer.main.get_group(app).commands)


def help_of(*command: str, width: int = 80) -> str:
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": str(width)})
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", COMMANDS)
class TestEveryCommand:
    def test_help_ends_with_examples_on_lines_of_their_own(self, name: str) -> None:
        command = COMMANDS[name]
        assert isinstance(command, ExampleCommand)
        assert command.examples
        lines = help_of(name).splitlines()
        head = next(n for n, line in enumerate(lines) if line in ("Example:", "Examples:"))
        assert lines[head + 1 :] == [f"  {example}" for example in command.examples]

    def test_examples_parse(self, name: str) -> None:
        for example in COMMANDS[name].examples:
            told, _, _ = example.partition(" > ")
            program, called, *arguments = shlex.split(told)
            assert (program, called) == ("penstock", name)
            context = COMMANDS[name].make_context(f"penstock {name}", arguments)
            assert context.params

    def test_json_and_quiet(self, name: str) -> None:
        options = {option for each in COMMANDS[name].params for option in each.opts}
        assert {"--json", "--quiet", "-q"} <= options

    def test_every_option_says_what_it_is(self, name: str) -> None:
        shown = [each for each in COMMANDS[name].params if not getattr(each, "hidden", False)]
        assert [each.name for each in shown if not each.help] == []

    def test_help_fits_a_small_terminal(self, name: str) -> None:
        """But for lists of choices and examples, which are never broken."""
        long = [line for line in help_of(name).splitlines() if len(line) > 80]
        assert all("|" in line or line.startswith("  penstock ") for line in long)


def test_the_list_of_commands_cuts_no_sentence() -> None:
    listed = help_of().partition("Commands:")[2].partition("Examples:")[0]
    assert "..." not in listed
    assert set(COMMANDS) == {line.split()[0] for line in listed.splitlines() if line.strip()}


def test_the_help_of_all_commands_ends_with_examples_that_parse() -> None:
    shown = help_of().partition("\nExamples:\n")[2].splitlines()
    assert len(shown) >= 2
    for example in shown:
        program, called, *arguments = shlex.split(example)
        assert (program, example) == ("penstock", f"  {example.strip()}")
        assert COMMANDS[called].make_context(f"penstock {called}", arguments).params


def test_help_does_not_wait_for_spark() -> None:
    script = "import sys, penstock.cli.commands; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_prose_is_kept_and_examples_taken_out() -> None:
    assert split_examples("") == ("", ())
    assert split_examples("Do.\n\nExample: penstock do\nMore.") == (
        "Do.\n\nMore.",
        ("penstock do",),
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_documents_tell_of_every_command(name: str) -> None:
    told = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    section = told.partition(f"\n## penstock {name}\n")[2].partition("\n## ")[0]
    assert f"\npenstock {name}" in section
