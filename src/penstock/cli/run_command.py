"""The options of ``penstock run``."""

from __future__ import annotations

import json as json_format
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from penstock.cli.completion import complete_policy
from penstock.cli.display import display
from penstock.cli.job_file import JobFile
from penstock.cli.options import AsJson, File, Master, OnlyErrors
from penstock.cli.remaining import OfAvailable
from penstock.cli.saying import kept_for_result, say
from penstock.cli.time_left import SPARK_STARTS_WITHIN, spinning
from penstock.windows.durations import seconds as seconds_of


class PlacementName(StrEnum):
    """The placements that need no settings."""

    round_robin = "round-robin"
    least_loaded = "least-loaded"
    cost_aware = "cost-aware"
    key_groups = "key-groups"


def run(
    file: File,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="A directory; a restart goes on from it. FILE.checkpoint unless said."),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            help="How many slots are used: a name, and settings such as fuzzy:interval=5s.",
            autocompletion=complete_policy,
        ),
    ] = "static",
    slots: Annotated[
        str | None,
        typer.Option(metavar="N|MIN..MAX", help="Use at most N slots, or from MIN to MAX."),
    ] = None,
    min_slots: Annotated[
        int | None, typer.Option(min=1, help="Keep at least so many slots.")
    ] = None,
    max_slots: Annotated[
        int | None, typer.Option(min=1, help="Use no more slots than this.")
    ] = None,
    placement: Annotated[
        PlacementName, typer.Option(help="Where rows go, with its usual settings.")
    ] = PlacementName.round_robin,
    trigger: Annotated[
        str | None, typer.Option(help="Start a micro-batch this often, such as '5 seconds'.")
    ] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Take what is there now, and end.")
    ] = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Show the run in a browser; prints the address.")
    ] = False,
    dashboard_port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Show it at this port.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Serve metrics to Prometheus here.")
    ] = None,
    journal: Annotated[
        str | None, typer.Option(help="Where the event log goes; into the checkpoint unless said.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The query's name; the file's unless said.")
    ] = None,
    master: Master = "local[*]",
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; repeat it.")
    ] = None,
    json: AsJson = False,
    quiet: OnlyErrors = False,
) -> None:
    """Run a job from a Python file.

    The file has a function build(spark) or topology(spark) that returns stream.to(sink), or a list
    of them. Ctrl-C ends it after the running micro-batch, a second one breaks that off.
    Example: penstock run job.py --trigger "5 seconds"
    Example: penstock run job.py:nightly --checkpoint ck --available-now --json
    Example: penstock run job.py --policy auto-scale-plus:margin=0.2 --slots 2..8 --dashboard
    """
    from penstock.cli import run_job
    from penstock.cli.elasticity import Elasticity, slot_bounds

    if trigger is not None and available_now:
        raise typer.BadParameter("--trigger and --available-now exclude each other. Give one")
    if trigger is not None and seconds_of(trigger) <= 0:
        raise typer.BadParameter(f"--trigger '{trigger}' is no time. Leave it out to run always")
    job = JobFile.parse(file)
    left = OfAvailable() if available_now else None
    remaining = {"remaining": left} if left else {}
    # How long a cluster takes, only its owner can say.
    usual = SPARK_STARTS_WITHIN if master.startswith("local") else None
    with kept_for_result(json):
        ended = run_job.run_job(
            job,
            checkpoint,
            display(name or job.path.name, json=json, quiet=quiet, **remaining),
            trigger=trigger,
            available_now=available_now,
            placement=placement.value,
            elasticity=Elasticity(policy, *slot_bounds(slots, min_slots, max_slots)),
            master=master,
            settings=run_job.parse_settings(conf or []),
            name=name,
            journal=journal,
            views=run_job.Views(
                dashboard if dashboard_port is None else dashboard_port, metrics_port
            ),
            left=left,
            starting=partial(spinning, quiet, f"Starting Spark on {master}", usual=usual),
        )
    if json:
        say(json_format.dumps(run_job.as_dict(ended)))
    elif not quiet:
        say(run_job.as_text(ended))
