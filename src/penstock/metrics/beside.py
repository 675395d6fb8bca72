"""Serves the metrics of a query from the process that it runs in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from penstock.errors import ConfigurationError
from penstock.metrics.collector import JournalCollector
from penstock.metrics.server import DEFAULT_HOST, DEFAULT_PORT, MetricsServer

# A long journal is read with a third of a core, beside a query that needs the others.
_REST = 2.0


class Ends(Protocol):
    """What has a journal and an end, such as a query."""

    metrics_address: str | None

    def when_ended(self, then: Callable[[], object]) -> None:
        """Have ``then`` called at the end."""
        ...


Served = TypeVar("Served", bound=Ends)


@contextmanager
def metrics_of(port: Any, host: Any) -> Iterator[Callable[[Served, str], Served]]:
    """Hold a port while something starts; what is yielded then serves its metrics to its end.

    Without a port nothing is served. A port that is taken is an error before anything has started.
    """
    if port is None:
        _check_no_host(host)
        yield lambda served, journal: served
        return
    server = MetricsServer(port, DEFAULT_HOST if host is None else host, rest=_REST)

    def serve(served: Served, journal: str) -> Served:
        server.serve(JournalCollector([Path(journal)]))
        served.metrics_address = server.address
        served.when_ended(server.close)
        return served

    try:
        yield serve
    except BaseException:
        server.close()
        raise


def _check_no_host(host: object) -> None:
    if host is not None:
        raise ConfigurationError(
            f"metrics_host={host!r} says where metrics are served, but nothing says that they are. "
            f"Write metrics_port={DEFAULT_PORT} too."
        )
