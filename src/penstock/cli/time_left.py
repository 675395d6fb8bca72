"""How far something long has come and how long it will take, on standard error in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from penstock.plain_console import PlainConsole


class Shown:
    """Shows how far something has come; nothing where nobody looks.

    Call it with what is being done and the share of it that is. A share that falls begins anew:
    the time left is then worked out from the new beginning on.
    """

    def __init__(self, progress: Progress | None, at_first: str = "") -> None:
        self._progress = progress
        self._task = progress.add_task(at_first, total=1.0) if progress else None
        self._share = 0.0

    def __call__(self, what: str, share: float) -> None:
        """Show that so much of something is done."""
        if self._progress is None or self._task is None:
            return
        if share < self._share:
            self._progress.reset(self._task)
        self._share = share
        self._progress.update(self._task, description=what, completed=share)


@contextmanager
def shown(
    quiet: bool, at_first: str = "reading", console: Console | None = None
) -> Iterator[Shown]:
    """Show progress, and the time left, while something long runs."""
    console = console or PlainConsole(stderr=True)
    if quiet or not console.is_terminal:
        yield Shown(None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield Shown(progress, at_first)


SPARK_STARTS_WITHIN = "5 to 15 s"


@contextmanager
def spinning(
    quiet: bool, what: str, console: Console | None = None, usual: str | None = None
) -> Iterator[None]:
    """Show that something is at work of which nobody knows how long it takes, and for how long.

    ``usual`` is how long it mostly takes, in words, so that people know when to wonder.
    """
    console = console or PlainConsole(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), _SoFar(usual))
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(what, total=None)
        yield


class _SoFar(ProgressColumn):
    """For how many seconds something has been at work."""

    def __init__(self, usual: str | None) -> None:
        super().__init__()
        self._usual = f" (usually {usual})" if usual else ""

    def render(self, task: Task) -> Text:
        return Text(f"{int(task.elapsed or 0)} s{self._usual}", style="dim")
