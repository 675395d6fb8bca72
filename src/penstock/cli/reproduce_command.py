"""``penstock reproduce`` as Typer knows it."""

from __future__ import annotations

import json as json_format
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import AsJson, OnlyResult
from penstock.cli.saying import say
from penstock.cli.time_left import shown
from penstock.plain_console import PlainConsole


class PaperName(StrEnum):
    """The papers whose experiments can be run again."""

    posg = "posg"
    dabs = "dabs"
    psps = "psps"
    enorm = "enorm"
    ppq = "ppq"


def reproduce(
    paper: Annotated[PaperName, typer.Argument(help="Whose experiments.")],
    out: Annotated[
        Path | None, typer.Option(help="Where figures go; penstock-PAPER unless said.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The folder of the paper's traces, where you have them.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller: fewer streams and shorter ones.")
    ] = False,
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Run a paper's experiments again, in the simulator.

    Every number stands beside what the paper reports. Figures are written as PNG and CSV, tables
    as CSV. Minutes at most, without Spark.
    Example: penstock reproduce posg --out figures
    """
    from penstock.cli import reproduce as reproducing
    from penstock.reproduction import papers
    from penstock.reproduction.writing import make_folder, write_reproduction

    folder = out or Path(f"penstock-{paper.value}")
    make_folder(folder)
    with shown(quiet, at_first="beginning") as show:
        found = papers.reproduce(paper.value, data=data, quick=quick, progress=show)
        files = write_reproduction(found, folder)
    if json:
        say(json_format.dumps(reproducing.as_dict(found, files)))
    else:
        PlainConsole().print(reproducing.as_screen(found, files))
