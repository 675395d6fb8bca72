"""Starts a dashboard beside a query: a process of its own, which ends with the query's process."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from penstock.dashboard.guard import TOKEN_VARIABLE, check_address
from penstock.dashboard.listening import DEFAULT_PORT, LOCALHOST, Address, listening_on
from penstock.errors import ConfigurationError
from penstock.secrets import logger

_END_WITHIN_SECONDS = 5.0
_LAST_LINES = 20
# Somebody ended it on purpose.
_AS_ASKED = (0, -signal.SIGTERM, -signal.SIGINT)
_log = logger("penstock.dashboard")


def _to_stderr(address: str) -> None:
    sys.stderr.write(f"Dashboard: {address}\n")


_tell: ContextVar[Callable[[str], object]] = ContextVar("tell", default=_to_stderr)


@contextlib.contextmanager
def addresses_told(tell: Callable[[str], object]) -> Iterator[None]:
    """Have the address of a dashboard that starts told in this way, and not on standard error.

    Where it asks for a token, what is told says so after the address.
    """
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

    def start(self, journal: str) -> str | None:
        """Start the process, tell its address and return it; None where it can't start.

        A dashboard that can't start, or ends before it is asked to, is logged, and costs the query
        nothing. It lives as long as this process: also after the query, so that its end can be
        looked at. Like any other it asks for the token that the environment has, if it has one.
        """
        place, address = self._listening.fileno(), self.address
        # As on the command line, an empty variable is none.
        token = os.environ.get(TOKEN_VARIABLE) or None
        command = [sys.executable, "-m", "penstock", "dashboard", journal, "--quiet", "--wait"]
        command += ["--listening", str(place), "--parent", str(os.getpid())]
        try:
            check_address(LOCALHOST, token, control=False)
            # A list of our own words and a path, and no shell.
            self._process = subprocess.Popen(  # nosec B603
                command,
                pass_fds=[place],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # Ctrl-C is for the query; the dashboard is to show how that ends.
                start_new_session=True,
            )
        except (OSError, ConfigurationError) as error:
            _log.warning("the dashboard could not be started: %s", error)
            return None
        finally:
            self._listening.close()
        atexit.register(self.end)
        threading.Thread(
            target=self._watch, args=(self._process,), name="penstock-dashboard-beside", daemon=True
        ).start()
        _tell.get()(address if token is None else f"{address} (asks for the token)")
        return address

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Read what the process complains of, and say it where it ends before it should."""
        assert process.stderr is not None
        with process.stderr:
            last = deque(process.stderr, _LAST_LINES)
        code = process.wait()
        if self._process is not process or code in _AS_ASKED:
            return
        said = [line for line in (each.decode(errors="replace").strip() for each in last) if line]
        why = said[-1].removeprefix("penstock: ") if said else f"exit code {code}"
        _log.warning("the dashboard has ended, and the query goes on without it: %s", why)

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
