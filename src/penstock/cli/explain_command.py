"""The options of ``penstock explain``."""

from __future__ import annotations

import json as json_format
from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.job_file import JobFile
from penstock.cli.options import AsJson, File, OnlyResult
from penstock.cli.saying import kept_for_result, say
from penstock.cli.time_left import SPARK_STARTS_WITHIN, spinning


class ExplainFormat(StrEnum):
    """How a topology is shown."""

    text = "text"
    mermaid = "mermaid"
    html = "html"


def explain(
    file: File,
    format: Annotated[
        ExplainFormat, typer.Option(help="Text, a Mermaid drawing, or a page.")
    ] = ExplainFormat.text,
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Show what a job does, without running it.

    Example: penstock explain job.py --format html > topology.html
    """
    from penstock.cli.run_job import explain_job

    what = "Starting Spark, to check the expressions"
    with kept_for_result(), spinning(quiet, what, usual=SPARK_STARTS_WITHIN):
        text = explain_job(JobFile.parse(file), format.value)
    say(json_format.dumps({"format": format.value, "topology": text}) if json else text)
