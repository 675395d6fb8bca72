"""The options of ``penstock demo``."""

from __future__ import annotations

import json as json_format
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.display import display
from penstock.cli.options import AsJson, Master, OnlyErrors
from penstock.cli.remaining import OfLoad
from penstock.cli.saying import say
from penstock.cli.time_left import SPARK_STARTS_WITHIN, spinning


def demo(
    seconds: Annotated[int, typer.Option(min=1, max=3600, help="How long rows come.")] = 60,
    rate: Annotated[float, typer.Option(min=1.0, help="Rows per second, on average.")] = 250.0,
    out: Annotated[Path, typer.Option(help="Where it writes; earlier output goes.")] = Path(
        "penstock-demo"
    ),
    master: Master = "local[8]",
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep earlier output: write to OUT-2, OUT-3, ...")
    ] = False,
    dashboard: Annotated[
        bool, typer.Option(help="Show it in a browser too; prints the address.")
    ] = True,
    json: AsJson = False,
    quiet: OnlyErrors = False,
) -> None:
    """See it work: a minute and a half on local Spark.

    A job meets a load that comes in bursts. Ctrl-C ends it after the running micro-batch.
    Example: penstock demo --seconds 20
    """
    from penstock.cli import run_demo
    from penstock.demo import TRIGGER_SECONDS, Load, claim

    title = f"Penstock demo on {master}, a micro-batch every {TRIGGER_SECONDS} seconds"
    load = Load(seconds, rate)
    remaining = OfLoad(load.trace.rows, seconds)
    with claim(out, keep=keep) as directory:
        shown = run_demo.run_demo(
            directory,
            master,
            load,
            say=(lambda _: None) if json or quiet else say,
            progress=display(title, json=json, quiet=quiet, remaining=remaining),
            starting=partial(spinning, quiet, "Starting Spark", usual=SPARK_STARTS_WITHIN),
            dashboard=dashboard and not json and not quiet,
        )
    if json:
        say(json_format.dumps(run_demo.as_dict(shown)))
    elif not quiet:
        say(run_demo.as_text(shown))
