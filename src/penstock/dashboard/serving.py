"""Serves a dashboard until somebody ends it."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.dashboard.guard import LOOPBACK, browsers_name, check_address
from penstock.dashboard.listening import DEFAULT_PORT, LOCALHOST, Address, inherited, listening_on
from penstock.dashboard.watched import Watched
from penstock.secrets import keep_secret

if TYPE_CHECKING:
    import uvicorn

_PARENT_EVERY_SECONDS = 1.0
_SWITCH_SECONDS = 0.0005


def serve(
    journals: Sequence[Path],
    *,
    host: str = LOCALHOST,
    port: int = DEFAULT_PORT,
    listening: int | None = None,
    names: Sequence[str] = (),
    token: str | None = None,
    control: bool = False,
    wait: bool = False,
    parent: int | None = None,
    ready: Callable[[Address], object] = lambda address: None,
) -> None:
    """Show journals until Ctrl-C, or until the process ``parent`` has ended.

    ``names`` are further ones by which the machine may be asked. ``ready`` is told the address
    once it answers. With ``wait`` a journal need not be there yet. ``listening`` is a socket that
    the parent has opened, by its number.
    """
    check_address(host, token, control=control)
    hosts = _hosts(host, names)
    keep_secret(token)
    # Whoever opens a page should not wait for the thread that reads journals.
    sys.setswitchinterval(_SWITCH_SECONDS)
    watched = Watched(journals, wait=wait)
    place = listening_on(host, port) if listening is None else inherited(listening)
    with place:
        # What is read first is read while the web server is still being loaded.
        watched.start()
        try:
            _serve(watched, place, hosts, token, control, parent, ready)
        finally:
            watched.stop()


def _serve(
    watched: Watched,
    listening: socket.socket,
    hosts: tuple[str, ...],
    token: str | None,
    control: bool,
    parent: int | None,
    ready: Callable[[Address], object],
) -> None:
    import uvicorn

    from penstock.dashboard.site import make_site

    app = make_site(watched, hosts, token, control=control)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws_max_size=1 << 20, timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    if parent is not None:
        threading.Thread(target=_end_with, args=(server, parent), daemon=True).start()
    address = Address.of(listening)
    threading.Thread(target=_tell_ready, args=(server, address, ready), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _tell_ready(
    server: uvicorn.Server, address: Address, ready: Callable[[Address], object]
) -> None:
    waiting = threading.Event()
    while not server.started:
        waiting.wait(0.02)
    ready(address)


def _end_with(server: uvicorn.Server, parent: int) -> None:
    """End the server when the process that started it is gone: nobody else would."""
    waiting = threading.Event()
    while os.getppid() == parent:
        waiting.wait(_PARENT_EVERY_SECONDS)
    server.should_exit = True


def _hosts(host: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names by which a dashboard may be asked; any, where it listens everywhere.

    >>> _hosts("127.0.0.1", ["Box"])
    ('127.0.0.1', 'localhost', '::1', 'box')
    """
    known = tuple(browsers_name(name) for name in names)
    if host in LOOPBACK:
        return (*LOOPBACK, *known)
    if known:
        return (host.lower(), *LOOPBACK, *known)
    return ("*",)
