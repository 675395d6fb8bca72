"""The options of ``penstock skyline``."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import AsJson, OnlyErrors
from penstock.cli.saying import say
from penstock.cli.time_left import shown
from penstock.journal.location import journal_of


def skyline(
    journal: Annotated[Path, typer.Argument(help="A query's journal, or its checkpoint.")],
    png: Annotated[Path, typer.Option(help="The picture; a file of this name is replaced.")] = Path(
        "skyline.png"
    ),
    operator: Annotated[str | None, typer.Option(help="Draw this one; all unless said.")] = None,
    json: AsJson = False,
    quiet: OnlyErrors = False,
) -> None:
    """Draw the newest window of each preference query.

    Of those over two columns. The query may be running: draw again to see how it goes on. With
    --json nothing is drawn; the points are printed instead.
    Example: penstock skyline checkpoint --png skyline.png
    """
    from penstock.cli import skyline as drawing

    with shown(quiet) as show:
        windows = drawing.newest_windows(
            journal_of(journal), operator, lambda share: show("reading", share)
        )
    if json:
        say(json_format.dumps({"skylines": drawing.as_dicts(windows)}))
        return
    drawing.draw(windows, png)
    if not quiet:
        say(drawing.as_text(windows, png))
