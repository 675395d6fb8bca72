"""What went wrong, in one sentence for the person at the terminal; never a traceback."""

from __future__ import annotations

import os
import re
import sys
import traceback
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from penstock.errors import OperatorError, PenstockError

WRONG = 2
BUG = 1
BROKEN_OFF = 130
SHOW_TRACEBACK = "PENSTOCK_TRACEBACK"

# Typer names only the last of these three; newer versions bring a Click of their own.
_UsageError: Any = typer.BadParameter.__mro__[1]
_ClickException: Any = typer.BadParameter.__mro__[2]


class Commands(TyperGroup):
    """Runs a command; an error becomes one sentence on stderr and the exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line and exit."""
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
        except _ClickException as error:
            _complain(_usage(error))
            code = WRONG
        except PenstockError as error:
            _complain(sentence(error))
            code = WRONG
        except Exception as error:
            if os.environ.get(SHOW_TRACEBACK):
                raise
            _complain(
                f"unexpected {type(error).__name__}: {first_line(error)}. This is a bug in "
                f"Penstock: please report it with what {SHOW_TRACEBACK}=1 shows."
            )
            code = BUG
        if code == BROKEN_OFF:
            _complain("broken off")
        sys.exit(code if isinstance(code, int) else 0)


def sentence(error: PenstockError) -> str:
    r"""Say what went wrong, without the stack that is only of use in a debugger.

    >>> sentence(PenstockError("Spark stopped: no space left\n at Disk.write\n at Disk.flush"))
    'Spark stopped: no space left'
    """
    if isinstance(error, OperatorError):
        return (
            f"operator '{error.operator}' failed with {error.error}: {first_line(error.reason)}"
            f"{_last_place(error.user_traceback)}, on the row {error.row}. "
            "To keep going past bad rows, write on_error='dead_letter' on that operator."
        )
    return first_line(error)


def first_line(error: object) -> str:
    r"""Take the first line of a message: Spark's and Java's go on with stacks and plans.

    >>> first_line("\n[NO_SUCH_TABLE] there is no table t\n== plan ==")
    '[NO_SUCH_TABLE] there is no table t'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def place_of(error: BaseException, file: Path) -> str:
    """Say where in a user's file an error came from: the deepest line of that file."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == file]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines = [error.lineno]
    return f"{file} line {lines[-1]}" if lines else str(file)


def _last_place(user_traceback: str) -> str:
    places = re.findall(r'File "([^"]+)", line (\d+)', user_traceback)
    return " ({} line {})".format(*places[-1]) if places else ""


def _usage(error: Any) -> str:
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    if isinstance(error, _UsageError) and context is not None:
        return f"{message}. See: {context.command_path} --help"
    return str(message)


def _complain(text: str) -> None:
    typer.echo(f"penstock: {text}", err=True)
