"""The options of ``penstock report``."""

from __future__ import annotations

import json as json_format
import shlex
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.command_line import ExampleCommand
from penstock.cli.options import AsJson, OnlyResult
from penstock.cli.saying import say
from penstock.cli.time_left import Shown, shown
from penstock.errors import ConfigurationError
from penstock.journal.location import journal_of
from penstock.plain_console import PlainConsole

if TYPE_CHECKING:
    from penstock.history.journal_history import JournalHistory

USUAL_FILE = "report.html"
# That of the dashboard and of inspect, so that a moment is the same one in all three.
ZONE = UTC
_PAGES = (".html", ".htm")
_OPTION = "--html"


class ReportCommand(ExampleCommand):
    """Lets ``--html`` stand alone: it then writes the usual file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the usual file where none is named after ``--html``."""
        return super().parse_args(ctx, with_usual_file(args))


def with_usual_file(args: Sequence[str]) -> list[str]:
    """Name the usual file after an ``--html`` that is followed by a journal, or by nothing.

    >>> with_usual_file(["ck", "--html"]), with_usual_file(["--html", "-q", "ck"])
    (['ck', '--html=report.html'], ['--html=report.html', '-q', 'ck'])
    >>> with_usual_file(["ck", "--html", "run.html"])
    ['ck', '--html', 'run.html']
    """
    found = list(args)
    ends = found.index("--") if "--" in found else len(found)
    for place, word in enumerate(found[:ends]):
        after = found[place + 1] if place + 1 < len(found) else "-"
        if word == _OPTION and (after.startswith("-") or _is_journal(after)):
            found[place] = f"{_OPTION}={USUAL_FILE}"
    return found


def _is_journal(word: str) -> bool:
    try:
        journal_of(Path(word))
    except ConfigurationError:
        return False
    return True


def report(
    journals: Annotated[
        list[Path],
        typer.Argument(metavar="JOURNAL...", help="Journals, or checkpoints that have one."),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="[FILE.html]", help="Write a page in one file; report.html unless said."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Leave out what was before, such as 2026-11-18T12:00, in UTC."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Leave out what came after.")] = None,
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Tell the story of a run from its journal.

    Says in plain words how it went, then chapter by chapter: load, batches, latency, slots,
    operators, decisions, placement, windows, faults. Several journals are compared.
    Example: penstock report ck
    Example: penstock report ck --html
    Example: penstock report monday tuesday --html week.html
    """
    from penstock.cli.report_screen import as_screen
    from penstock.report.as_json import as_dict
    from penstock.report.page import page
    from penstock.report.telling import report_of

    began, ended = _moment("since", since, -inf), _moment("until", until, inf)
    if began >= ended:
        raise typer.BadParameter(f"--since {since} is not before --until {until}")
    if html is not None:
        _refuse_no_page(html)
    # All of them before the first is read: what was mistyped should not be found out at the end.
    found = list(dict.fromkeys(journal_of(path) for path in journals))
    histories = _read(found, began, ended, quiet or json)
    told = report_of(histories, ZONE)
    if not told.stories:
        raise ConfigurationError(_nothing(told.problems))
    for problem in told.problems.values():
        say(f"penstock: {problem}", err=True)
    if html is not None:
        command = shlex.join(_command(journals, html, since, until))
        _write(html, page(told, ZONE, command, time.time()))
    if json:
        written = {} if html is None else {"html": str(html)}
        say(json_format.dumps(as_dict(told) | written))
    elif html is None:
        PlainConsole().print(as_screen(told, ZONE))
    elif not quiet:
        size = html.stat().st_size / 1024
        say(f"Written: {html} ({size:,.0f} KiB). Open it in a browser: {_address(html)}")


def _read(
    journals: Sequence[Path], since: float, until: float, quiet: bool
) -> list[JournalHistory]:
    from penstock.history.journal_history import JournalHistory

    histories = [
        JournalHistory(path, since_seconds=since, until_seconds=until) for path in journals
    ]
    with shown(quiet) as show:
        for number, history in enumerate(histories):
            _read_one(history, show, number, len(histories))
    return histories


def _read_one(history: JournalHistory, show: Shown, number: int, count: int) -> None:
    def tell() -> bool:
        show("reading", (number + history.share_read) / count)
        return False

    history.refresh(tell)
    history.close()


def _moment(option: str, text: str | None, otherwise: float) -> float:
    if text is None:
        return otherwise
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"--{option} '{text}' is no time. Write it as 2026-11-18T12:00, or 2026-11-18"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=ZONE)).timestamp()


def _nothing(problems: Mapping[str, str]) -> str:
    return next(iter(problems.values()), "no journal tells of a query")


def _command(
    journals: Sequence[Path], html: Path, since: str | None, until: str | None
) -> list[str]:
    limits = [f"--since={since}"] if since else []
    limits += [f"--until={until}"] if until else []
    return ["penstock", "report", *map(str, journals), *limits, "--html", str(html)]


def _refuse_no_page(html: Path) -> None:
    """Refuse what is no name of a page: notes, or a journal whose name was mistyped."""
    if html.suffix.lower() in _PAGES:
        return
    if _is_journal(str(html)):
        raise ConfigurationError(
            f"--html {html} is a journal, and no place for a page. Write --html={USUAL_FILE}"
        )
    page = html.with_name(f"{html.name}.html") if html.name else Path(USUAL_FILE)
    raise ConfigurationError(
        f"--html {html} names no journal, and no page: those end in .html. Write "
        f"--html {page}, or correct the journal's name."
    )


def _write(html: Path, text: str) -> None:
    try:
        html.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{html} can't be written ({error.strerror}). Name another file after --html."
        ) from None


def _address(html: Path) -> str:
    return html.absolute().as_uri()
