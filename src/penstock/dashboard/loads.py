"""Pages that were sent, and whose browser has not come back for what changes in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

MOST_WAITING = 20


class Load(Protocol):
    """One page that was sent, and all that the process keeps of it."""

    id: str

    def on_connect(self, handler: Callable[[], object]) -> None:
        """Have this called when its browser has come back."""
        ...

    def on_delete(self, handler: Callable[[], object]) -> None:
        """Have this called when it is gone."""
        ...

    def delete(self) -> None:
        """Let go of it; a browser that comes back later loads the page anew."""
        ...


class Loads:
    """Keeps the newest pages whose browser may still come back, and lets go of older ones.

    A browser does so within a second or a few, a program that only reads the page never does; and
    of a long journal a page is megabytes.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._waiting: dict[str, Load] = {}

    def sent(self, load: Load) -> None:
        """Know of one more, for which the oldest may have to go."""

        def no_longer_waits() -> None:
            self._waiting.pop(load.id, None)

        load.on_connect(no_longer_waits)
        load.on_delete(no_longer_waits)
        self._waiting[load.id] = load
        while len(self._waiting) > self._most:
            oldest = next(iter(self._waiting))
            self._waiting.pop(oldest).delete()
