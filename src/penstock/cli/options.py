"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
OnlyResult = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the result only: no progress, no advice.")
]
OnlyErrors = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors; --json is still printed.")
]
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE.py[:FUNCTION]", help="FUNCTION is build unless said, or else topology."
    ),
]
Master = Annotated[str, typer.Option(help="Where Spark runs, as spark.master has it.")]
