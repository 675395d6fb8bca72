"""Starts a dashboard beside a query: a process of its own, which ends with the query's process."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from penstock.dashboard.listening import DEFAULT_PORT, LOCALHOST, Address, listening_on
from penstock.errors import ConfigurationError
from penstock.secrets import logger

_END_WITHIN_SECONDS = 5.0
_log = logger("penstock.dashboard")


def _to_stderr(address: str) -> None:
    sys.stderr.write(f"Dashboard: {address}\n")


_tell: ContextVar[Callable[[str], object]] = ContextVar("tell", default=_to_stderr)


@contextlib.contextmanager
def addresses_told(tell: Callable[[str], object]) -> Iterator[None]:
    """Have the address of a dashboard that starts told in this way, and not on standard error."""
    before = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(before)


class DashboardBeside:
    """A dashboard to come: its port is taken, so that its address is known before it answers."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where browsers find it."""
        return str(Address.of(self._listening))

    def start(self, journal: str) -> None:
        """Start the process and tell its address.

        A dashboard that can't start is logged, and costs the query nothing. It lives as long as
        this process: also after the query, so that its end can be looked at.
        """
        place, address = self._listening.fileno(), self.address
        command = [sys.executable, "-m", "penstock", "dashboard", journal, "--quiet", "--wait"]
        command += ["--listening", str(place), "--parent", str(os.getpid())]
        try:
            # A list of our own words and a path, and no shell.
            self._process = subprocess.Popen(  # nosec B603
                command,
                pass_fds=[place],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C is for the query; the dashboard is to show how that ends.
                start_new_session=True,
            )
        except OSError as error:
            _log.warning("the dashboard could not be started: %s", error)
            return
        finally:
            self._listening.close()
        atexit.register(self.end)
        _tell.get()(address)

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.end)
        process.terminate()
        try:
            process.wait(_END_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def dashboard_beside(asked: bool | int) -> Iterator[DashboardBeside | None]:
    """Take the port that was asked for, and give it back where the query does not start.

    True is the usual port, or any other where that is taken; a number is that port, 0 any.
    """
    if asked is False or asked is None:
        yield None
        return
    if not isinstance(asked, int) or not 0 <= asked <= 65_535:
        raise ConfigurationError(
            f"dashboard={asked!r} is no port. Write dashboard=True, or a port such as 8765."
        )
    listening = _usual_or_any() if asked is True else listening_on(LOCALHOST, asked)
    with listening:
        yield DashboardBeside(listening)


def _usual_or_any() -> socket.socket:
    try:
        return listening_on(LOCALHOST, DEFAULT_PORT)
    except ConfigurationError:
        return listening_on(LOCALHOST, 0)
