"""Leaving out what is measured while a system settles after a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from penstock.elasticity.observation import Observation
from penstock.simulation.replicas.policy import ReplicaPolicy

# Times are sums of floats: a sample is not to count as unsettled for that.
_ROUNDING = 1e-6


class Settling:
    """Monitoring that is switched off for some seconds after every change.

    Its clock stands still meanwhile, or whoever goes by it would spread the rows that came before
    and after over the time in which nobody counted.

    >>> settling = Settling(seconds=5)
    >>> settling.monitored(Observation(0, 10.0, 10.0, None, 1)).at_seconds
    10.0
    >>> settling.changed(at_seconds=10.0)
    >>> settling.monitored(Observation(1, 15.0, 5.0, None, 1)) is None
    True
    >>> settling.monitored(Observation(2, 25.0, 10.0, None, 1)).at_seconds
    20.0
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = -inf
        self._clock: float | None = None

    def changed(self, at_seconds: float) -> None:
        """Take down that replicas were added or taken away then."""
        self._until = at_seconds + self._seconds

    def monitored(self, seen: Observation) -> Observation | None:
        """Return an observation by the clock of the monitoring; None while it is off."""
        if seen.started_seconds < self._until - _ROUNDING:
            return None
        started = seen.started_seconds if self._clock is None else self._clock
        self._clock = started + seen.batch_seconds
        return replace(seen, at_seconds=self._clock)


@dataclass(frozen=True, slots=True)
class WhileSettled:
    """Asks a policy only about what was observed ``settling_seconds`` after the last change.

    >>> from penstock.elasticity.incremental import Incremental
    >>> from penstock.simulation.replicas.policy import PerOperator
    >>> policy = WhileSettled(PerOperator(lambda: Incremental(interval="10 seconds")), 10)
    """

    policy: ReplicaPolicy
    settling_seconds: float
    _settling: Settling = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_settling", Settling(self.settling_seconds))

    def plan(self, seen: Observation) -> Mapping[str, int]:
        """Return what the policy says; everything stays as it is while the system settles."""
        have = {each.name: each.tasks for each in seen.operators}
        monitored = self._settling.monitored(seen)
        if monitored is None:
            return have
        wanted = self.policy.plan(monitored)
        if any(have[name] != replicas for name, replicas in wanted.items()):
            self._settling.changed(seen.at_seconds)
        return wanted
