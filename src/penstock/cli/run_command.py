"""The options of ``penstock run``."""

from __future__ import annotations

import json as json_format
from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.display import display
from penstock.cli.job_file import JobFile
from penstock.cli.options import AsJson, File, Master
from penstock.windows.durations import seconds as seconds_of


class PlacementName(StrEnum):
    """The placements that need no settings."""

    round_robin = "round-robin"
    least_loaded = "least-loaded"
    cost_aware = "cost-aware"
    key_groups = "key-groups"


class PolicyName(StrEnum):
    """The policies that need no settings."""

    static = "static"
    incremental = "incremental"
    auto_scale_plus = "auto-scale-plus"
    replica_pool = "replica-pool"
    fuzzy = "fuzzy"
    batch_time_ratio = "batch-time-ratio"


def run(
    file: File,
    checkpoint: Annotated[str, typer.Option(help="A directory; a restart goes on from it.")],
    trigger: Annotated[
        str | None, typer.Option(help="Start a micro-batch this often, such as '5 seconds'.")
    ] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Take what is there now, and end.")
    ] = False,
    placement: Annotated[
        PlacementName, typer.Option(help="Where rows go, with its usual settings.")
    ] = PlacementName.round_robin,
    policy: Annotated[
        PolicyName, typer.Option(help="How many slots are used, with its usual settings.")
    ] = PolicyName.static,
    max_slots: Annotated[
        int | None, typer.Option(min=1, help="Use no more slots than this.")
    ] = None,
    min_slots: Annotated[
        int | None, typer.Option(min=1, help="On a cluster: keep at least so many.")
    ] = None,
    master: Master = "local[*]",
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; repeat it.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Run a job from a Python file.

    The file has a function build(spark) that returns stream.to(sink), or a list of them. Ctrl-C
    ends it after the running micro-batch.
    Example: penstock run job.py --checkpoint ck --trigger "5 seconds"
    """
    from penstock.cli import run_job

    if trigger is not None and available_now:
        raise typer.BadParameter("--trigger and --available-now exclude each other. Give one")
    if trigger is not None and seconds_of(trigger) <= 0:
        raise typer.BadParameter(f"--trigger '{trigger}' is no time. Leave it out to run always")
    job = JobFile.parse(file)
    ended = run_job.run_job(
        job,
        checkpoint,
        display(job.path.name, json=json),
        trigger=trigger,
        available_now=available_now,
        placement=placement.value,
        elasticity=run_job.Elasticity(policy.value, min_slots, max_slots),
        master=master,
        settings=run_job.parse_settings(conf or []),
    )
    typer.echo(json_format.dumps(run_job.as_dict(ended)) if json else run_job.as_text(ended))
