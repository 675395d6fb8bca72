"""The options of ``penstock metrics``."""

from __future__ import annotations

import json as json_format
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson, OnlyResult
from penstock.cli.saying import say
from penstock.cli.time_left import shown
from penstock.errors import ConfigurationError

if TYPE_CHECKING:
    from penstock.metrics.collector import JournalCollector

_LINES_AT_ONCE = 2_000


def metrics(
    journals: Annotated[
        list[Path],
        typer.Argument(metavar="JOURNAL...", help="Journals, or checkpoints that have one."),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Serve on this port; 0 chooses a free one.")
    ] = 9108,
    host: Annotated[
        str, typer.Option(help="Serve on this address, such as 0.0.0.0 for other machines.")
    ] = "127.0.0.1",
    once: Annotated[
        bool, typer.Option("--once", help="Print the metrics as they are now, and end.")
    ] = False,
    json: AsJson = False,
    quiet: OnlyResult = False,
) -> None:
    """Serve the metrics of journals to Prometheus.

    Follows journals of queries that run, also of several, until Ctrl-C. Queries are not touched.
    With --json or --quiet only the address is printed.
    Example: penstock metrics ck --port 9108
    Example: penstock metrics ck --once
    """
    from penstock.journal.location import journal_of
    from penstock.metrics import exposition
    from penstock.metrics.collector import JournalCollector

    collector = JournalCollector(list(dict.fromkeys(journal_of(path) for path in journals)))
    if not once:
        _serve(collector, port, host, json=json, quiet=quiet)
        return
    _read(collector, quiet or json)
    if json:
        say(json_format.dumps({"metrics": exposition.as_json(collector)}))
    else:
        say(exposition.as_text(collector), nl=False)


def _serve(collector: JournalCollector, port: int, host: str, *, json: bool, quiet: bool) -> None:
    from penstock.metrics.server import MetricsServer

    server = MetricsServer(port, host)
    try:
        with suppress(KeyboardInterrupt):
            _read(collector, quiet or json)
            server.serve(collector)
            if json:
                say(json_format.dumps({"address": server.address}))
            elif quiet:
                say(server.address)
            else:
                say(f"serving metrics at {server.address} until Ctrl-C")
            # Who waits for the address reads it through a pipe.
            sys.stdout.flush()
            threading.Event().wait()
    finally:
        server.close()


def _read(collector: JournalCollector, quiet: bool) -> None:
    """Read journals for the first time, which takes a while where they are long."""
    with shown(quiet) as show:
        while not collector.read_on(_LINES_AT_ONCE, log=False):
            show("reading", collector.share_read())
    if collector.problems:
        raise ConfigurationError(collector.problems[0])
