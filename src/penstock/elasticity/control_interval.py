"""When a policy is asked again: every so many seconds, or every so many micro-batches."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.elasticity.settings import length, whole
from penstock.windows.durations import Duration


@dataclass(frozen=True, slots=True)
class ControlInterval:
    """The time between two changes of plan: ``seconds``, or a number of micro-``batches``.

    >>> ControlInterval.of("AutoScalePlus", "10 seconds").due(seconds=4.0, batches=9)
    False
    >>> ControlInterval.of("AutoScalePlus", 3).due(seconds=4.0, batches=3)
    True
    """

    seconds: float | None = None
    batches: int | None = None

    @classmethod
    def of(cls, owner: str, written: Duration) -> ControlInterval:
        """Read what a user wrote: a whole number means micro-batches, all else is a duration."""
        if isinstance(written, int):
            return cls(batches=whole(owner, "interval", written))
        return cls(seconds=length(owner, "interval", written, positive=True))

    def due(self, *, seconds: float, batches: int) -> bool:
        """Say whether it is over, so many seconds and micro-batches after the last time."""
        if self.batches is not None:
            return batches >= self.batches
        # A batch that is a hair early would put the decision off by a whole batch.
        return self.seconds is not None and seconds >= 0.999 * self.seconds

    def length_seconds(self, batch_interval_seconds: float) -> float:
        """Return how long it takes, where batches start so many seconds apart."""
        if self.seconds is not None:
            return self.seconds
        return (self.batches or 1) * batch_interval_seconds
