"""The options of ``penstock doctor``."""

from __future__ import annotations

import json as json_format
from typing import Annotated

import typer

# Asked of the package, a name is first looked for in the whole public API, which takes seconds.
import penstock.doctor as checks
from penstock.cli.complaints import WRONG
from penstock.cli.options import AsJson
from penstock.cli.saying import say
from penstock.cli.time_left import SPARK_STARTS_WITHIN, spinning


def doctor(
    json: AsJson = False,
    only: Annotated[str | None, typer.Option(help="Look at one thing only, such as java.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is wrong.")] = False,
    start_spark: Annotated[
        bool, typer.Option("--start-spark", help="Also start Spark and run a tiny job.")
    ] = False,
) -> None:
    """Check that this machine can run Penstock.

    Says how to mend what is wrong. Exits with 0 if all is well, else with 2.
    Example: penstock doctor --start-spark
    """
    what = "Starting Spark and running a tiny job" if start_spark else "Looking"
    usual = SPARK_STARTS_WITHIN if start_spark else None
    with spinning(quiet, what, usual=usual):
        findings = checks.examine(start_spark=start_spark)
    if only is not None:
        names = ", ".join(finding.name for finding in findings)
        findings = tuple(f for f in findings if f.name.casefold() == only.casefold())
        if not findings:
            raise typer.BadParameter(f"there is no check '{only}'. Write one of: {names}")
    shown = [finding for finding in findings if not (quiet and finding.ok)]
    if json:
        ok = all(finding.ok for finding in findings)
        say(json_format.dumps({"ok": ok, "findings": checks.as_dicts(shown)}))
    elif shown:
        say(checks.render(shown))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(WRONG)
