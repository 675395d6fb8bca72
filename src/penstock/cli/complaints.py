"""What went wrong, in one sentence for the person at the terminal; never a traceback."""

from __future__ import annotations

import errno
import os
import re
import sys
from typing import Any

import typer

from penstock.arguments import shown_path
from penstock.cli.command_line import ExampleGroup
from penstock.cli.completion_script import gave_completion
from penstock.cli.saying import say
from penstock.errors import OperatorError, PenstockError, first_line
from penstock.secrets import redacted

WRONG = 2
BUG = 1
BROKEN_OFF = 130
SHOW_TRACEBACK = "PENSTOCK_TRACEBACK"

# What a machine refuses whoever asks; the system does not always say of which file.
_OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)

# Typer names only the last of these three; newer versions bring a Click of their own.
_UsageError: Any = typer.BadParameter.__mro__[1]
_ClickException: Any = typer.BadParameter.__mro__[2]


class Commands(ExampleGroup):
    """Runs a command; an error becomes one sentence on stderr and the exit code 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, unless they ask for the completion of a shell."""
        if gave_completion(args):
            raise typer.Exit
        return super().parse_args(ctx, args)

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
            code = _tell_unforeseen(error)
        if code == BROKEN_OFF:
            _complain("broken off")
        sys.exit(code if isinstance(code, int) else 0)


def sentence(error: PenstockError) -> str:
    r"""Say what went wrong, without the stack that is only of use in a debugger.

    >>> sentence(PenstockError("Spark stopped: no space left\n at Disk.write\n at Disk.flush"))
    'Spark stopped: no space left'
    """
    if isinstance(error, OperatorError):
        said = f"operator '{error.operator}' failed with {error.error}: {first_line(error.reason)}"
        place = _last_place(error.user_traceback)
        where = f", {error.where}" if error.where else ""
        return f"{said.rstrip('.')}{place}{where}. {error.remedy}".rstrip()
    return first_line(error)


def _last_place(user_traceback: str) -> str:
    places = re.findall(r'File "([^"]+)", line (\d+)', user_traceback)
    return " ({} line {})".format(*places[-1]) if places else ""


def _tell_unforeseen(error: Exception) -> int:
    """Tell what no part of Penstock has foreseen, and return the exit code."""
    if isinstance(error, OSError) and error.filename is not None:
        _complain(
            f"{shown_path(error.filename)} can't be used: {error.strerror}. Name another file or "
            "directory, or mend that."
        )
        return WRONG
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        _complain(f"this machine refuses to go on: {error.strerror}. Mend that, and try again.")
        return WRONG
    _complain(
        f"unexpected {type(error).__name__}: {redacted(first_line(error))}. This is a bug in "
        f"Penstock: please report it with what {SHOW_TRACEBACK}=1 shows."
    )
    return BUG


def _usage(error: Any) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    if isinstance(error, _UsageError) and context is not None:
        end = "" if message.endswith("?") else "."
        return f"{message}{end} See: {context.command_path} --help"
    return str(message)


def _complain(text: str) -> None:
    say(f"penstock: {text}", err=True)
