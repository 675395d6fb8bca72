"""Serves a dashboard until somebody ends it."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.dashboard.guard import LOOPBACK, check_address
from penstock.errors import ConfigurationError

DEFAULT_PORT = 8765
TOKEN_VARIABLE = "PENSTOCK_DASHBOARD_TOKEN"
_PARENT_EVERY_SECONDS = 1.0
_SWITCH_SECONDS = 0.0005


@dataclass(frozen=True, slots=True)
class Address:
    """Where a dashboard listens."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def serve(
    journals: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    names: Sequence[str] = (),
    token: str | None = None,
    control: bool = False,
    wait: bool = False,
    parent: int | None = None,
    ready: Callable[[Address], object] = lambda address: None,
) -> None:
    """Show journals until Ctrl-C, or until the process ``parent`` has ended.

    ``names`` are further ones by which the machine may be asked. ``ready`` is told the address
    once it answers. With ``wait`` a journal need not be there yet.
    """
    check_address(host, token, control=control)
    from penstock.dashboard.watched import Watched

    # Whoever opens a page should not wait for the thread that reads journals.
    sys.setswitchinterval(_SWITCH_SECONDS)
    watched = Watched(journals, wait=wait)
    with _listening(host, port) as listening:
        # What is read first is read while the web server is still being loaded.
        watched.start()
        try:
            _serve(watched, listening, _hosts(host, names), token, control, parent, ready)
        finally:
            watched.stop()


def _serve(
    watched: object,
    listening: socket.socket,
    hosts: tuple[str, ...],
    token: str | None,
    control: bool,
    parent: int | None,
    ready: Callable[[Address], object],
) -> None:
    import uvicorn

    from penstock.dashboard.site import make_site

    app = make_site(watched, hosts, token, control=control)  # type: ignore[arg-type]
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws_max_size=1 << 20, timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    if parent is not None:
        threading.Thread(target=_end_with, args=(server, parent), daemon=True).start()
    host, port = listening.getsockname()[:2]
    threading.Thread(
        target=_tell_ready, args=(server, Address(host, port), ready), daemon=True
    ).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _tell_ready(server: object, address: Address, ready: Callable[[Address], object]) -> None:
    waiting = threading.Event()
    while not getattr(server, "started", False):
        waiting.wait(0.02)
    ready(address)


def _end_with(server: object, parent: int) -> None:
    """End the server when the process that started it is gone: nobody else would."""
    waiting = threading.Event()
    while os.getppid() == parent:
        waiting.wait(_PARENT_EVERY_SECONDS)
    server.should_exit = True  # type: ignore[attr-defined]


def _hosts(host: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names by which a dashboard may be asked; any, where it listens everywhere.

    >>> _hosts("127.0.0.1", ["box"])
    ('127.0.0.1', 'localhost', '::1', 'box')
    """
    if host in LOOPBACK:
        return (*LOOPBACK, *names)
    if names:
        return (host, *LOOPBACK, *names)
    return ("*",)


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigurationError(
                f"the dashboard can't listen on {host} port {port}: {reason}. "
                "Write --port 0 for any that is free."
            ) from None
        listening.listen(128)
        yield listening
