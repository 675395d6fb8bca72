"""Where a dashboard listens."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from penstock.errors import ConfigurationError

LOCALHOST = "127.0.0.1"
DEFAULT_PORT = 8765


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port, as a browser is told them.

    >>> str(Address("::1", 8765))
    'http://[::1]:8765'
    """

    host: str
    port: int

    @classmethod
    def of(cls, listening: socket.socket) -> Address:
        """Return where a socket listens."""
        host, port = listening.getsockname()[:2]
        return cls(host, port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def listening_on(host: str, port: int) -> socket.socket:
    """Take a port, or say what is in the way; 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(
            f"the dashboard can't listen on {host} port {port}: {reason}. "
            "Take another port, or 0 for any that is free."
        ) from None
    return listening


def inherited(number: int) -> socket.socket:
    """Return the socket that the process which started this one listens on, by its number."""
    try:
        listening = socket.socket(fileno=number)
        if listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return listening
        reason = "it is connected, or not yet open"
        listening.detach()  # it is not ours to close
    except (OSError, ValueError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    raise ConfigurationError(
        f"--listening {number} is no socket that the dashboard could take over: {reason}. It is "
        "for a process that starts the dashboard beside itself. Write --port instead."
    )
