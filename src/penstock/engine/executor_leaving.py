"""Which executors can leave now, and why others stay. No Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from penstock.engine.executors import Executor, by_age

RUNS_A_TASK = "it runs a task"
HOLDS_ONLY_COPY = "it holds the only copy of cached data"


@dataclass(frozen=True, slots=True)
class Leave:
    """The executors that can go, oldest first, and why each of the others stays."""

    free: tuple[str, ...]
    kept: Mapping[str, str]


def free_to_go(
    leaving: Iterable[Executor], cached: Mapping[str, Set[str]], gone: Set[str] = frozenset()
) -> Leave:
    """Say which of the leaving executors can be released now without losing anything.

    They run no task, and each cached block they hold is also held by one that stays; ``cached``
    says which executors hold a block, and ``gone`` which of them are already on their way out.

    >>> both = Executor("1", "host", 1), Executor("2", "host", 1)
    >>> free_to_go(both, {"rdd_7_0": {"1", "2"}})
    Leave(free=('1',), kept={'2': 'it holds the only copy of cached data'})
    """
    going = set(gone)
    kept: dict[str, str] = {}
    for executor in leaving:
        others = going | {executor.id}
        if executor.running_tasks > 0:
            kept[executor.id] = RUNS_A_TASK
        elif any(executor.id in holders and not holders - others for holders in cached.values()):
            kept[executor.id] = HOLDS_ONLY_COPY
        else:
            going.add(executor.id)
    return Leave(tuple(sorted(going - gone, key=by_age)), kept)


class Waiting:
    """Notices which executors have waited to leave for longer than one's patience, each by itself.

    >>> waiting = Waiting(patience_seconds=60)
    >>> [sorted(waiting.overdue({"1", "2"} if now else {"1"}, now)) for now in (0, 40, 60, 100)]
    [[], [], ['1'], ['1', '2']]
    """

    def __init__(self, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self._since: dict[str, float] = {}

    def overdue(self, leaving: Iterable[str], now: float) -> frozenset[str]:
        """Return those that are leaving for too long; whoever is not named waits no more."""
        self._since = {each: self._since.get(each, now) for each in leaving}
        return frozenset(
            each for each, since in self._since.items() if now - since >= self._patience_seconds
        )
