"""Several queries that share one pool of slots, each with a policy of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace

from penstock.elasticity.decision import Decision, Policy, decided
from penstock.elasticity.observation import Observation
from penstock.elasticity.query_progress import (
    QueryProgress,
    TaskTimes,
    inferred_trigger_seconds,
    observe,
)

_REPORTS_KEPT = 40


@dataclass(frozen=True, slots=True)
class Pool:
    """The slots there are for all queries together, and how many there may be at most.

    ``cores`` is how many processor cores they share; None: each has its own.
    """

    slots: int
    most_slots: int | None = None
    cores: int | None = None


@dataclass(slots=True)
class Watched:
    """One run of a query, what it last reported, and what its policy wants for it.

    ``trigger_known`` says that nobody has to guess ``trigger_seconds``.
    """

    policy: Policy
    decision: Decision
    progress: QueryProgress
    trigger_seconds: float | None = None
    trigger_known: bool = False
    last: Observation | None = None
    reports: deque[QueryProgress] = field(default_factory=lambda: deque(maxlen=_REPORTS_KEPT))


def decision_for_query(by_policy: object) -> Decision:
    """Return what a policy decided, without tasks: how many a plain query has is its own affair.

    Anything but a Decision is refused here, before it is added up with what other queries want.
    """
    return replace(decided(by_policy), tasks={})


class WatchedQueries:
    """Adds up what the policies of all queries want; a policy sees its query's share of the pool.

    So policies need not know of each other, and each that keeps what it has keeps the pool.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._by_run: dict[str, Watched] = {}

    @property
    def by_run(self) -> Mapping[str, Watched]:
        """The queries that run, by the id of their run."""
        return self._by_run

    def planned(self, pool: Pool) -> int:
        """Return how many slots all queries together should have; 1 where there is none."""
        wanted = max(1, sum(query.decision.slots for query in self._by_run.values()))
        return wanted if pool.most_slots is None else min(wanted, pool.most_slots)

    def share(self, run_id: str, slots: int) -> int:
        """Return how many of the slots fall to a query, in proportion to what each wants."""
        total = sum(query.decision.slots for query in self._by_run.values())
        before = 0
        for run, query in self._by_run.items():
            upto = before + query.decision.slots
            if run == run_id:
                # Rounded on one line for all, so that the shares add up to the slots.
                return max(1, slots * upto // total - slots * before // total)
            before = upto
        return max(1, slots - total)

    def begin(
        self, progress: QueryProgress, pool: Pool, trigger: Callable[[], tuple[bool, float | None]]
    ) -> Watched:
        """Take up a query with a copy of the policy; ``trigger`` says its trigger if it can."""
        policy = deepcopy(self._policy)
        known, seconds = trigger()
        start = Observation(
            batch_id=-1,
            at_seconds=progress.started_seconds,
            batch_seconds=0.0,
            trigger_seconds=seconds,
            slots=self.share(progress.run_id, pool.slots),
            most_slots=self._most(progress.run_id, pool),
            cores=pool.cores,
        )
        query = Watched(policy, decision_for_query(policy.decide(start)), progress, seconds, known)
        self._by_run[progress.run_id] = query
        return query

    def see(
        self, progress: QueryProgress, pool: Pool, times: TaskTimes | None = None
    ) -> Observation:
        """Note what a query reported, and return it as its policy is to see it."""
        query = self._by_run[progress.run_id]
        query.progress = progress
        if progress.ran_batch:
            query.reports.append(progress)
        if not query.trigger_known:
            query.trigger_seconds = inferred_trigger_seconds(query.reports)
        query.last = observe(
            progress,
            slots=self.share(progress.run_id, pool.slots),
            most_slots=self._most(progress.run_id, pool),
            cores=pool.cores,
            trigger_seconds=query.trigger_seconds,
            times=times,
        )
        return query.last

    def end(self, run_id: str) -> Watched | None:
        """Forget a run; what it had falls to the others, or goes."""
        return self._by_run.pop(run_id, None)

    def _most(self, run_id: str, pool: Pool) -> int | None:
        if pool.most_slots is None:
            return None
        others = sum(q.decision.slots for run, q in self._by_run.items() if run != run_id)
        return max(1, pool.most_slots - others)
