"""The options of ``penstock replay``."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.completion import complete_policy
from penstock.cli.options import AsJson, OnlyResult
from penstock.cli.saying import say
from penstock.cli.time_left import shown
from penstock.plain_console import PlainConsole
from penstock.windows.durations import seconds as seconds_of


def replay(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Logged progress of queries, a journal, or its checkpoint."
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="What to try, such as static:8; repeat it. All usual ones unless said.",
            autocompletion=complete_policy,
        ),
    ] = None,
    trigger: Annotated[
        str | None, typer.Option(help="How often micro-batches began, where the log misleads.")
    ] = None,
    slots_then: Annotated[
        int | None, typer.Option(min=1, help="Slots (executor cores) that the query had.")
    ] = None,
    least: Annotated[int, typer.Option("--min", min=1, help="Slots at least.")] = 1,
    most: Annotated[
        int | None, typer.Option("--max", min=1, help="Slots at most; twice as many as then.")
    ] = None,
    executor_seconds: Annotated[
        float, typer.Option(min=0.0, help="How long a slot takes to come.")
    ] = 15.0,
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Show what policies would have done with a logged load.

    FILE holds the StreamingQueryProgress JSON of any query, one on each line, or Spark's log.
    Example: penstock replay progress.jsonl --slots-then 8 --max 20
    """
    from penstock.cli import replay_log
    from penstock.replay.comparison import Given

    if trigger is not None and seconds_of(trigger) <= 0:
        raise typer.BadParameter(f"--trigger '{trigger}' is no time. Leave it out to have it found")
    if most is not None and least > most:
        raise typer.BadParameter(f"--min {least} is more than --max {most}")
    given = Given(
        slots_then=slots_then,
        least_slots=least,
        most_slots=most,
        trigger_seconds=None if trigger is None else seconds_of(trigger),
        executor_seconds=executor_seconds,
    )
    with shown(quiet) as show:
        log = replay_log.replay_log(file, policy or (), given, show)
    if json:
        say(json_format.dumps(replay_log.as_dict(log)))
    else:
        PlainConsole().print(replay_log.as_screen(log))
