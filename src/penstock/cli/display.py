"""Which display of a running query there is: it depends on who looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from penstock.cli.progress import LiveProgress, NoProgress, PlainProgress, Progress
from penstock.cli.remaining import Line
from penstock.cli.run_record import RunRecord
from penstock.cli.saying import say
from penstock.plain_console import PlainConsole
from penstock.terminal import plain


def display(
    title: str,
    *,
    json: bool = False,
    quiet: bool = False,
    remaining: Callable[[RunRecord], Line | None] = lambda record: None,
) -> Callable[[Sequence[str]], Progress]:
    """Choose a display: a live one on standard error in a terminal, else plain lines, or none.

    Plain lines go to standard output, which is a log then; beside JSON there are none.
    """
    console = PlainConsole(stderr=True)
    if quiet:
        return lambda outputs: NoProgress()
    if console.is_terminal:
        return lambda outputs: LiveProgress(outputs, console, title, remaining)
    if json:
        return lambda outputs: OnlyAnnouncements()
    return lambda outputs: PlainProgress(outputs, _write_line)


class OnlyAnnouncements(NoProgress):
    """Shows nothing but what a person needs while the run goes on, such as its address."""

    def announce(self, text: str) -> None:
        """Write it to standard error: standard output is for the JSON object."""
        say(text, err=True)


def _write_line(text: str) -> None:
    # Whoever reads a pipe wants to see the line now.
    sys.stdout.write(f"{plain(text)}\n")
    sys.stdout.flush()
