"""The options of ``penstock inspect``."""

from __future__ import annotations

import json as json_format
from typing import Annotated

import typer

from penstock.cli.complaints import WRONG
from penstock.cli.options import AsJson
from penstock.cli.saying import say
from penstock.cli.time_left import shown
from penstock.plain_console import PlainConsole


def inspect(
    checkpoint: Annotated[
        str, typer.Argument(help="A checkpoint's directory, on this machine's disk.")
    ],
    json: AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only what looks wrong.")
    ] = False,
) -> None:
    """Tell what a checkpoint holds, in plain words.

    Query, watermarks, open windows, keys, what was learnt, and what looks wrong with what to do.
    Changes nothing and needs no Spark; the query may be running. Exits with 2 if anything looks
    wrong.
    Example: penstock inspect checkpoint
    Example: penstock inspect checkpoint --json
    """
    from penstock.cli.inspect import as_screen
    from penstock.inspection import inspect_checkpoint

    with shown(quiet) as show:
        found = inspect_checkpoint(checkpoint, on_read=show)
    if json:
        say(json_format.dumps(found.as_dict()))
    else:
        PlainConsole().print(as_screen(found, quiet=quiet))
    if not found.is_sound:
        raise typer.Exit(WRONG)
