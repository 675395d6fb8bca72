"""The simulated engine: how often it looks, what it bears, how it deals rows and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import ConfigurationError
from penstock.simulation.replicas.groupings import ByChance, Grouping
from penstock.simulation.replicas.mechanisms import Mechanism, Pool
from penstock.simulation.topology import SimulatedTopology


@dataclass(frozen=True, slots=True)
class ReplicaEngine:
    """An engine like Storm, in which every operator has replicas of its own.

    The policy is asked every ``interval_seconds``. A row that comes when ``queue_limit`` rows wait
    at the operator is dropped, and so is one older than ``timeout_seconds`` when its turn comes;
    the row of the load that it came of has failed then, as it has when it is done later than that.
    Rows travel for ``network_seconds`` to each operator. ``grouping``, ``start_replicas`` and
    ``most_replicas`` are for all operators, or by name: an operator that is not named is shuffled
    by chance, begins with one replica and may have any number.

    >>> ReplicaEngine(interval_seconds=0)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: ReplicaEngine(interval_seconds=0): write a number above 0.
    """

    interval_seconds: float = 10.0
    queue_limit: int | None = None
    timeout_seconds: float | None = None
    network_seconds: float = 0.0
    grouping: Grouping | Mapping[str, Grouping] = field(default_factory=ByChance)
    mechanism: Mechanism = field(default_factory=Pool)
    start_replicas: int | Mapping[str, int] = 1
    most_replicas: int | Mapping[str, int] | None = None
    step_seconds: float = 1.0

    def __post_init__(self) -> None:
        above = ("interval_seconds", "timeout_seconds", "step_seconds", "queue_limit")
        for name in above:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(
                    f"ReplicaEngine({name}={value!r}): write a number above 0."
                )
        if not 0 <= self.network_seconds < float("inf"):
            raise ConfigurationError(
                f"ReplicaEngine(network_seconds={self.network_seconds!r}): write 0 or more."
            )
        for name in ("start_replicas", "most_replicas"):
            value = getattr(self, name)
            numbers = value.values() if isinstance(value, Mapping) else (value,)
            if any(number is not None and number < 1 for number in numbers):
                raise ConfigurationError(f"ReplicaEngine({name}={value!r}): write 1 or more.")

    def check(self, topology: SimulatedTopology) -> None:
        """Refuse settings for operators that the topology doesn't have."""
        names = [each.name for each in topology.operators]
        for field_name in ("grouping", "start_replicas", "most_replicas"):
            value = getattr(self, field_name)
            for name in value if isinstance(value, Mapping) else ():
                if name not in names:
                    raise ConfigurationError(
                        f"ReplicaEngine({field_name}=...) names '{name}', which is no operator of "
                        f"'{topology.name}'. There are: {', '.join(names)}."
                    )

    def grouping_of(self, operator: str) -> Grouping:
        """Return how an operator's rows are dealt."""
        if isinstance(self.grouping, Mapping):
            return self.grouping.get(operator, ByChance())
        return self.grouping

    def start_of(self, operator: str) -> int:
        """Return how many replicas an operator begins with."""
        start = self.start_replicas
        wanted = start.get(operator, 1) if isinstance(start, Mapping) else start
        return self.within(operator, wanted)

    def within(self, operator: str, replicas: int) -> int:
        """Return a number of replicas that the operator may have."""
        most = self.most_replicas
        if isinstance(most, Mapping):
            most = most.get(operator)
        return max(1, replicas if most is None else min(replicas, most))
