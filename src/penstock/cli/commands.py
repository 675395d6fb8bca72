"""The commands, as Typer knows them: arguments in, the work elsewhere, text or JSON out."""

from __future__ import annotations

import json as json_format
import logging
import platform
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

# Asked of the package, a name is first looked for in the whole public API, which takes seconds.
import penstock.doctor as checks
from penstock.cli.agree_command import agree
from penstock.cli.complaints import WRONG, Commands
from penstock.cli.job_file import JobFile
from penstock.cli.options import AsJson
from penstock.cli.progress import LiveProgress, NoProgress, PlainProgress, Progress
from penstock.cli.replay_command import replay
from penstock.cli.reproduce_command import reproduce
from penstock.cli.simulate_command import simulate
from penstock.cli.skyline_command import skyline
from penstock.version import __version__
from penstock.windows.durations import seconds as seconds_of

app = typer.Typer(
    cls=Commands,
    name="penstock",
    help="Elastic, data-aware stream processing for PySpark.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

File = Annotated[str, typer.Argument(metavar="FILE.py[:FUNCTION]", help="FUNCTION is build.")]
Master = Annotated[str, typer.Option(help="Where Spark runs, as spark.master has it.")]


def main() -> None:
    """Run the command line."""
    # A run that is broken off loses its JVM first; what Py4J then logs can't even be formatted.
    logging.raiseExceptions = False
    app(prog_name="penstock")


def _version_asked(asked: bool) -> None:
    if asked:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _penstock(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_version_asked, is_eager=True
        ),
    ] = False,
) -> None:
    """Elastic, data-aware stream processing for PySpark."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("version")
def version_command(json: AsJson = False) -> None:
    """Print the versions of Penstock, PySpark and Python."""
    versions = {
        "penstock": __version__,
        "pyspark": checks.pyspark_version(),
        "python": platform.python_version(),
    }
    text = f"penstock {__version__} (PySpark {versions['pyspark']}, Python {versions['python']})"
    typer.echo(json_format.dumps(versions) if json else text)


@app.command()
def doctor(
    json: AsJson = False,
    only: Annotated[str | None, typer.Option(help="Look at one thing only, such as java.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only what is wrong.")] = False,
    start_spark: Annotated[
        bool, typer.Option("--start-spark", help="Also start Spark and run a tiny job.")
    ] = False,
) -> None:
    """Check that this machine can run Penstock.

    Says how to mend what is wrong. Exits with 0 if all is well, else with 2.
    Example: penstock doctor --start-spark
    """
    findings = checks.examine(start_spark=start_spark)
    if only is not None:
        names = ", ".join(finding.name for finding in findings)
        findings = tuple(f for f in findings if f.name.casefold() == only.casefold())
        if not findings:
            raise typer.BadParameter(f"there is no check '{only}'. Write one of: {names}")
    shown = [finding for finding in findings if not (quiet and finding.ok)]
    if json:
        typer.echo(json_format.dumps(checks.as_dicts(shown)))
    elif shown:
        typer.echo(checks.render(shown))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(WRONG)


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


@app.command()
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
        _progress(json, job.path.name),
        trigger=trigger,
        available_now=available_now,
        placement=placement.value,
        elasticity=run_job.Elasticity(policy.value, min_slots, max_slots),
        master=master,
        settings=run_job.parse_settings(conf or []),
    )
    typer.echo(json_format.dumps(run_job.as_dict(ended)) if json else run_job.as_text(ended))


class ExplainFormat(StrEnum):
    """How a topology is shown."""

    text = "text"
    mermaid = "mermaid"
    html = "html"


@app.command()
def explain(
    file: File,
    format: Annotated[
        ExplainFormat, typer.Option(help="Text, a Mermaid drawing, or a page.")
    ] = ExplainFormat.text,
    json: AsJson = False,
) -> None:
    """Show what a job does, without running it.

    Example: penstock explain job.py --format html > topology.html
    """
    from penstock.cli.run_job import explain_job

    text = explain_job(JobFile.parse(file), format.value)
    typer.echo(json_format.dumps({"format": format.value, "topology": text}) if json else text)


@app.command()
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
    json: AsJson = False,
) -> None:
    """See it work: a minute and a half on local Spark.

    A job meets a load that comes in bursts. Ctrl-C ends it after the running micro-batch.
    Example: penstock demo --seconds 20
    """
    from penstock.cli import run_demo
    from penstock.demo import TRIGGER_SECONDS, Load, claim

    title = f"Penstock demo on {master}, a micro-batch every {TRIGGER_SECONDS} seconds"
    with claim(out, keep=keep) as directory:
        shown = run_demo.run_demo(
            directory,
            master,
            Load(seconds, rate),
            say=(lambda _: None) if json else typer.echo,
            progress=_progress(json, title),
        )
    typer.echo(json_format.dumps(run_demo.as_dict(shown)) if json else run_demo.as_text(shown))


app.command()(replay)
app.command()(reproduce)
app.command()(simulate)
app.command()(agree)
app.command()(skyline)


def _progress(json: bool, title: str) -> Callable[[Sequence[str]], Progress]:
    """Choose the display: none beside JSON, a live one in a terminal, else plain lines."""
    console = Console()
    if json:
        return lambda outputs: NoProgress()
    if console.is_terminal:
        return lambda outputs: LiveProgress(outputs, console, title)
    return lambda outputs: PlainProgress(outputs, _write_line)


def _write_line(text: str) -> None:
    # Whoever reads a pipe wants to see the line now.
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
