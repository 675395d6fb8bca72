"""The options of ``penstock agree``."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import AsJson, OnlyResult
from penstock.cli.saying import say
from penstock.cli.time_left import shown
from penstock.journal.location import journal_of
from penstock.plain_console import PlainConsole


def agree(
    journals: Annotated[list[Path], typer.Argument(help="Journals of runs, or their checkpoints.")],
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Tell how well the simulator predicts runs that were journaled.

    What rows, tasks and batches cost is learnt from one part of a run, and the other is predicted.
    Example: penstock agree checkpoint
    """
    from penstock.cli import agree as agreeing
    from penstock.simulation.agreement.agreement import as_dict

    with shown(quiet) as show:
        found = agreeing.agree([journal_of(path) for path in journals], show)
    if json:
        say(json_format.dumps({"runs": [as_dict(each) for each in found]}))
    else:
        PlainConsole().print(agreeing.as_screen(found, legend=not quiet))
