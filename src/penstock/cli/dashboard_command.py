"""The options of ``penstock dashboard``."""

from __future__ import annotations

import json as json_format
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson, OnlyResult
from penstock.cli.saying import say
from penstock.dashboard.guard import TOKEN_VARIABLE

if TYPE_CHECKING:
    from penstock.dashboard.listening import Address


def dashboard(
    journals: Annotated[
        list[Path],
        typer.Argument(metavar="JOURNAL...", help="Journals, or checkpoints that have one."),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Listen on this port; 0 chooses a free one.")
    ] = 8765,
    host: Annotated[
        str, typer.Option(help="Listen on this address; any but this machine's needs a token.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A further name by which browsers ask; repeat it."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar=TOKEN_VARIABLE,
            show_default=False,
            help="Who looks must know this. Better set as the variable than written here.",
        ),
    ] = None,
    control: Annotated[
        bool,
        typer.Option("--control", help="Allow to pause scaling and to set slots; needs a token."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Start also where there is no journal yet.")
    ] = False,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open it in this machine's browser.")
    ] = False,
    parent: Annotated[int | None, typer.Option(hidden=True)] = None,
    listening: Annotated[int | None, typer.Option(hidden=True)] = None,
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Show journals in a browser, while queries run or afterwards.

    Reads the journals and nothing else; no query is touched. Ctrl-C ends it.
    Example: penstock dashboard my-checkpoint
    Example: penstock dashboard live simulated/journal/static-8 --port 0 --open
    """
    from penstock.dashboard.serving import serve

    def ready(address: Address) -> None:
        if json:
            say(json_format.dumps({"address": str(address)}))
        elif quiet:
            say(str(address))
        else:
            asks = "  (asks for the token)" if token else ""
            say(f"Dashboard: {address}{asks}\nCtrl-C ends it; queries go on.")
        sys.stdout.flush()
        if open_browser:
            webbrowser.open(str(address))

    serve(
        journals,
        host=host,
        port=port,
        names=name or (),
        token=token,
        control=control,
        wait=wait,
        parent=parent,
        listening=listening,
        ready=ready,
    )
