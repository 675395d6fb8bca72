"""Which executors there should be: planned, requested and observed kept apart. No Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Protocol

from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Executor:
    """One executor as the driver knows it: its slots, and what it runs and holds just now."""

    id: str
    host: str
    slots: int
    running_tasks: int = 0
    cached_blocks: int = 0


class Cluster(Protocol):
    """What is seen of an application's executors, and asked for; any call may take its time."""

    @property
    def is_stopped(self) -> bool:
        """Whether the application has ended."""
        ...

    def executors(self) -> Mapping[str, Executor]:
        """Return the executors that are there, by id."""
        ...

    def cached_blocks(self) -> Mapping[str, Set[str]]:
        """Return, for each block of cached data, the executors that hold it."""
        ...

    def runs_jobs(self) -> bool:
        """Whether any job is running."""
        ...

    def request(self, executors: int) -> bool:
        """Ask for so many executors in all; say whether that was taken."""
        ...

    def release(self, executor_ids: Iterable[str]) -> tuple[str, ...]:
        """Let executors go; return which are going."""
        ...


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """Slots as planned, as requested of the cluster manager, as observed, and ready to be used."""

    planned: int
    requested: int
    observed: int
    warm: int


def executors_for(slots: int, slots_each: int) -> int:
    """Return how many executors have at least so many slots.

    >>> executors_for(5, slots_each=4)
    2
    """
    return -(-slots // slots_each)


@dataclass(frozen=True, slots=True)
class ExecutorBounds:
    """How many executors there may be, so that their slots stay within what a user wrote."""

    least: int
    most: int
    slots_each: int

    @classmethod
    def within(cls, least_slots: int, most_slots: int, slots_each: int) -> ExecutorBounds:
        """Return how many whole executors lie between two numbers of slots.

        >>> ExecutorBounds.within(3, 9, slots_each=2)
        ExecutorBounds(least=2, most=4, slots_each=2)
        """
        least, most = executors_for(least_slots, slots_each), most_slots // slots_each
        if most < 1:
            raise ConfigurationError(
                f"an executor has {slots_each} slots, and ExecutorSlots(max={most_slots}) allows "
                "for none. Raise max, or lower spark.executor.cores."
            )
        if least > most:
            raise ConfigurationError(
                f"an executor has {slots_each} slots, and no number of executors has "
                f"{least_slots} to {most_slots}. Write ExecutorSlots(min={most * slots_each}, "
                f"max={most_slots}) or ExecutorSlots(min={least_slots}, "
                f"max={least * slots_each}), or lower spark.executor.cores."
            )
        return cls(least, most, slots_each)

    @property
    def most_slots(self) -> int:
        """The slots of as many executors as there may be."""
        return self.most * self.slots_each


def by_age(executor_id: str) -> tuple[int, str]:
    """Order executors by when they came: cluster managers number them."""
    return (int(executor_id), "") if executor_id.isdigit() else (1 << 62, executor_id)


@dataclass(frozen=True, slots=True)
class Change:
    """Executors that came, that were lost, that ended while leaving, and that went as asked."""

    came: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    went: tuple[str, ...] = ()


class ExecutorLedger:
    """Keeps the books on executors; what to do about them is done by whoever asks it.

    ``planned`` and ``requested`` are numbers of executors. An executor that is there is *warm*
    (it counts), or cold; one that is *leaving* counts no more, runs on until it can be released,
    and comes back at once if the plan grows before that.
    """

    def __init__(self, bounds: ExecutorBounds) -> None:
        self._slots_each = bounds.slots_each
        self._least, self._most = bounds.least, bounds.most
        self.planned = bounds.least
        self.requested = 0
        self.observed: Mapping[str, Executor] = {}
        self.leaving: frozenset[str] = frozenset()
        self.released: frozenset[str] = frozenset()
        self._warm: frozenset[str] = frozenset()

    def plan(self, slots: int) -> None:
        """Plan for so many slots, within the bounds; who has to leave is leaving at once."""
        self.plan_executors(executors_for(slots, self._slots_each))

    def plan_executors(self, executors: int) -> None:
        """Plan for so many executors, within the bounds."""
        self.planned = max(self._least, min(executors, self._most))
        self._settle()

    def see(self, present: Mapping[str, Executor]) -> Change:
        """Take in which executors there are now, and say what changed."""
        before, now = set(self.observed), set(present)
        missing = before - now
        self.observed = dict(present)
        change = Change(
            came=tuple(sorted(now - before, key=by_age)),
            lost=tuple(sorted(missing - self.released - self.leaving, key=by_age)),
            ended=tuple(sorted(missing & self.leaving, key=by_age)),
            went=tuple(sorted(missing & self.released, key=by_age)),
        )
        self.released &= now
        self._warm &= now
        self.leaving &= now
        self._settle()
        return change

    def count_as_warm(self, executor_ids: Iterable[str]) -> None:
        """Let executors count that are ready, if they are still there."""
        self._warm |= set(executor_ids) & set(self.observed)

    def has_released(self, executor_ids: Iterable[str]) -> None:
        """Note executors that Spark uses no more, and that will soon be gone."""
        self.released |= set(executor_ids)
        self.leaving -= self.released

    @property
    def staying(self) -> frozenset[str]:
        """The executors that are there and not on their way out."""
        return frozenset(self.observed) - self.leaving - self.released

    @property
    def cold(self) -> tuple[Executor, ...]:
        """The executors that stay and are not ready yet, oldest first."""
        cold = sorted(self.staying - self._warm, key=by_age)
        return tuple(self.observed[executor_id] for executor_id in cold)

    def surplus(self, keep: int) -> tuple[Executor, ...]:
        """Return who is too many where so many may stay, whatever the bounds; the leaving first."""
        there = frozenset(self.observed) - self.released
        by_worth = sorted(there, key=lambda each: (each not in self.leaving, *self._worth(each)))
        return tuple(self.observed[each] for each in by_worth[: max(0, len(there) - keep)])

    @property
    def missing(self) -> int:
        """How many executors are planned and not there."""
        return max(0, self.planned - len(self.staying))

    @property
    def available_slots(self) -> int:
        """The slots that count; never less than 1, since Spark waits where there is none."""
        ready = self.staying & self._warm
        return max(1, sum(self.observed[executor_id].slots for executor_id in ready))

    @property
    def counts(self) -> SlotCounts:
        """All four numbers, in slots."""
        ready = self.staying & self._warm
        return SlotCounts(
            planned=self.planned * self._slots_each,
            requested=self.requested * self._slots_each,
            observed=sum(executor.slots for executor in self.observed.values()),
            warm=sum(self.observed[executor_id].slots for executor_id in ready),
        )

    def _settle(self) -> None:
        """Let the surplus leave, or have some of the leaving stay."""
        short = self.planned - len(self.staying)
        if short > 0:
            back = sorted(self.leaving, key=lambda each: (each not in self._warm, *by_age(each)))
            self.leaving -= set(back[:short])
        elif short < 0:
            by_worth = sorted(self.staying, key=self._worth)
            self.leaving |= set(by_worth[:-short])

    def _worth(self, executor_id: str) -> tuple[bool, bool, bool, int, str]:
        """Order executors by what their leaving costs: the cold, the empty, the idle, the young."""
        executor = self.observed[executor_id]
        number, name = by_age(executor_id)
        return (
            executor_id in self._warm,
            executor.cached_blocks > 0,
            executor.running_tasks > 0,
            -number,
            name,
        )


class Overdue:
    """Notices when executors that were asked for take longer than one's patience.

    >>> overdue = Overdue(patience_seconds=60)
    >>> [overdue.seconds(planned=4, there=2, now=now) for now in (0, 30, 61, 90, 121)]
    [None, None, 61, None, 121]
    """

    def __init__(self, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self._planned = 0
        self._since: float | None = None
        self._complaints = 0

    def seconds(self, planned: int, there: int, now: float) -> float | None:
        """Return for how long some are missing, once in each time of patience; else None."""
        if there >= planned or planned != self._planned or self._since is None:
            self._planned, self._complaints = planned, 0
            self._since = now if there < planned else None
            return None
        waited = now - self._since
        if waited < self._patience_seconds * (self._complaints + 1):
            return None
        self._complaints += 1
        return waited
