"""The options of ``penstock simulate``."""

from __future__ import annotations

import json as json_format
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.completion import complete_policy, complete_topology, complete_workload
from penstock.cli.options import AsJson, OnlyResult
from penstock.cli.saying import kept_for_result, say
from penstock.cli.time_left import shown
from penstock.plain_console import PlainConsole
from penstock.windows.durations import typed_seconds

if TYPE_CHECKING:
    from penstock.cli.simulate import Asked


class MechanismName(StrEnum):
    """How a simulated cluster adapts."""

    micro_batch = "micro-batch"
    pool = "pool"
    restart = "restart"


OF_MECHANISMS = {
    "trigger": ("micro-batch",),
    "min": ("micro-batch",),
    "executor-seconds": ("micro-batch",),
    "interval": ("pool", "restart"),
    "downtime": ("restart",),
}
OF_PLANS = ("availability", "resamples")


def simulate(
    context: typer.Context,
    trace: Annotated[
        str,
        typer.Argument(
            help="A file of counts, or a workload such as erratic.",
            autocompletion=complete_workload,
        ),
    ],
    topology: Annotated[
        str,
        typer.Option(
            help="A name such as tweets, FILE.yaml or FILE.py.", autocompletion=complete_topology
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="What to try, such as replica-pool:utilisation=0.8; repeat it.",
            autocompletion=complete_policy,
        ),
    ] = None,
    mechanism: Annotated[
        MechanismName, typer.Option(help="Penstock's micro-batches, PSPS's pool, or restarts.")
    ] = MechanismName.micro_batch,
    trigger: Annotated[
        str, typer.Option(help="How often batches begin, such as 1s; none: end to end.")
    ] = "1s",
    least: Annotated[int, typer.Option("--min", min=1, help="Slots at least.")] = 1,
    most: Annotated[
        int, typer.Option("--max", min=1, help="Slots at most; replicas of each operator.")
    ] = 8,
    executor_seconds: Annotated[
        float, typer.Option(min=0.0, help="How long a slot takes to come.")
    ] = 15.0,
    interval: Annotated[
        str, typer.Option(help="How often replicas are decided on, for pool and restart.")
    ] = "10s",
    downtime: Annotated[str, typer.Option(help="How long a restart takes.")] = "10s",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="OWNER.SETTING=VALUES", help="policy.margin=0.1,0.2; repeat it."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as cores unless said.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for figures and tables.")] = None,
    journal: Annotated[
        bool, typer.Option("--journal", help="Write each run's journal, too, under --out.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="A report in one file.")] = None,
    target_latency: Annotated[
        str | None,
        typer.Option(help="Plan instead: the cheapest way to have rows done within 2s, say."),
    ] = None,
    availability: Annotated[
        float, typer.Option(help="The share of rows to be done within the target.")
    ] = 0.999,
    resamples: Annotated[
        int, typer.Option(min=1, help="Days drawn from the trace, to be sure of a plan.")
    ] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 0,
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Compare policies on a trace, on a simulated cluster.

    Settings before the dot of --set: policy, mechanism, costs, topology (scale). Several values
    of a setting are all tried.
    Example: penstock simulate rates.csv --topology tweets --max 32 --html report.html
    """
    from penstock.cli import simulate as simulating

    if least > most:
        raise typer.BadParameter(f"--min {least} is more than --max {most}")
    _refuse_unused(context, mechanism, plans=target_latency is not None)
    asked = simulating.Asked(
        trace=trace,
        topology=topology,
        policies=policy or (),
        mechanism=mechanism.value,
        trigger_seconds=None if trigger == "none" else typed_seconds(trigger),
        least_slots=least,
        most_slots=most,
        executor_seconds=executor_seconds,
        interval_seconds=typed_seconds(interval),
        downtime_seconds=typed_seconds(downtime),
        settings=set_ or (),
        seed=seed,
        workers=workers,
        out=out,
        journal=journal,
        html=html,
        command=sys.argv[1:],
    )
    if target_latency is not None:
        target = (typed_seconds(target_latency), availability, resamples)
        _plan(asked, *target, json=json, quiet=quiet)
        return
    with kept_for_result(json), shown(quiet) as show:
        done = simulating.run(asked, show)
    if json:
        say(json_format.dumps(simulating.as_dict(done)))
    else:
        console = PlainConsole()
        console.print(simulating.as_screen(done, console.width))


def _refuse_unused(context: typer.Context, mechanism: MechanismName, *, plans: bool) -> None:
    """Refuse options that would change nothing: whoever wrote them expects that they do."""
    names = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    written = [
        option.removeprefix("--")
        for name, option in names.items()
        if name is not None and _was_written(context, name)
    ]
    for option in written:
        owners = OF_MECHANISMS.get(option, (mechanism.value,))
        if mechanism.value not in owners:
            raise typer.BadParameter(
                f"--{option} changes nothing with --mechanism {mechanism.value}. "
                f"Leave it out, or write --mechanism {owners[0]}"
            )
        if option in OF_PLANS and not plans:
            raise typer.BadParameter(
                f"--{option} is of a plan. Write --target-latency 2s with it, or leave it out"
            )


def _was_written(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _plan(
    asked: Asked,
    target_seconds: float,
    availability: float,
    resamples: int,
    *,
    json: bool,
    quiet: bool,
) -> None:
    from penstock.cli import capacity_plan
    from penstock.simulation.planner import as_dict

    target = capacity_plan.Target(target_seconds, availability, resamples)
    with kept_for_result(json), shown(quiet) as show:
        found = capacity_plan.plan(asked, target, show)
    if json:
        say(json_format.dumps(as_dict(found)))
    else:
        PlainConsole().print(capacity_plan.as_screen(found))
