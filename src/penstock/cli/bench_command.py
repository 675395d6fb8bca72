"""The options of ``penstock bench``."""

from __future__ import annotations

import json as json_format
from typing import Annotated

import typer

from penstock.cli.complaints import WRONG
from penstock.cli.options import AsJson, Master, OnlyResult
from penstock.cli.saying import say
from penstock.cli.time_left import shown
from penstock.plain_console import PlainConsole


def bench(
    seconds: Annotated[
        float, typer.Option(min=1.0, help="About how long to measure, without starting Spark.")
    ] = 30.0,
    rows: Annotated[int, typer.Option(min=1, help="Rows of each micro-batch.")] = 100_000,
    keys: Annotated[int, typer.Option(min=1, help="Different keys of the rows.")] = 1_000,
    master: Master = "local[*]",
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Measure windows on this machine, beside Spark's own.

    The same generated rows go through Penstock and through Spark's window(), one after the other,
    and the results are compared. Exits with 2 where they differ.
    Example: penstock bench
    Example: penstock bench --seconds 120 --rows 500000 --json
    """
    from penstock.bench import Load
    from penstock.cli import bench as measuring

    with shown(quiet, at_first=f"starting Spark on {master}") as show:
        found = measuring.bench(Load(rows, keys), seconds, master, show)
    if json:
        say(json_format.dumps(measuring.as_dict(found)))
    else:
        PlainConsole().print(measuring.as_screen(found, legend=not quiet))
    if not measuring.is_same(found):
        raise typer.Exit(WRONG)
