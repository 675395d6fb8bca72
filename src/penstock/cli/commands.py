"""The commands there are; each has a file of its own with its options."""

from __future__ import annotations

import io
import logging
import sys
from typing import Annotated

import typer

from penstock.cli.agree_command import agree
from penstock.cli.bench_command import bench
from penstock.cli.command_line import CommandLine
from penstock.cli.complaints import Commands
from penstock.cli.dashboard_command import dashboard
from penstock.cli.demo_command import demo
from penstock.cli.doctor_command import doctor
from penstock.cli.explain_command import explain
from penstock.cli.init_command import init
from penstock.cli.inspect_command import inspect
from penstock.cli.metrics_command import metrics
from penstock.cli.replay_command import replay
from penstock.cli.report_command import ReportCommand, report
from penstock.cli.reproduce_command import reproduce
from penstock.cli.run_command import run
from penstock.cli.saying import say
from penstock.cli.simulate_command import simulate
from penstock.cli.skyline_command import skyline
from penstock.cli.version_command import version
from penstock.version import __version__

_HELP = """Elastic, data-aware stream processing for PySpark.

Example: penstock demo
Example: penstock init shop
Example: penstock run job.py --available-now
"""
app = CommandLine(
    cls=Commands,
    name="penstock",
    help=_HELP,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    # A run that is broken off loses its JVM first; what Py4J then logs can't even be formatted.
    logging.raiseExceptions = False
    _write_what_can_be_written()
    app(prog_name="penstock")


def _write_what_can_be_written() -> None:
    """Let a question mark stand for what the terminal's encoding, or any, does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _version_asked(asked: bool) -> None:
    if asked:
        say(f"penstock {__version__}")
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


# In the order in which the help lists them: first what a newcomer needs.
app.command()(demo)
app.command()(init)
app.command()(run)
app.command()(explain)
app.command()(dashboard)
app.command(cls=ReportCommand)(report)
app.command()(metrics)
app.command()(inspect)
app.command()(replay)
app.command()(simulate)
app.command()(skyline)
app.command()(agree)
app.command()(reproduce)
app.command()(bench)
app.command()(doctor)
app.command()(version)
