"""The options of ``penstock init``."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import AsJson, OnlyErrors
from penstock.cli.saying import say


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where to; the working directory unless said.")
    ] = Path(),
    name: Annotated[
        str | None, typer.Option(help="The project's name; the directory's unless said.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files of the same names.")
    ] = False,
    json: AsJson = False,
    quiet: OnlyErrors = False,
) -> None:
    """Write a small project that works: a job, its test, a Makefile.

    Nothing that is there already is replaced, unless --force says so.
    Example: penstock init shop-takings
    Example: penstock init . --name "shop takings" --force
    """
    from penstock.cli.new_project import write_project

    written = write_project(directory, name, force=force)
    if json:
        say(json_format.dumps(written.as_dict()))
    elif not quiet:
        say(written.as_text())
