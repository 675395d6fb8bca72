"""As many slots as the last interval's rows, and those that wait, take: PSPS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.elasticity.adapting import Adapting
from penstock.elasticity.rates_in_words import rate_in_words, waiting_in_words
from penstock.elasticity.settings import number
from penstock.elasticity.wish import Moment, Wish, figure, whole_slots
from penstock.windows.durations import Duration

NAMED = 3


@dataclass(frozen=True, kw_only=True)
class ReplicaPool(Adapting):
    """PSPS: a pool of slots of which every interval uses what it needs (equations 1 to 4).

    What came in the last interval is expected in the next (2a), carried through the topology by
    what each operator hands on (2b, 2c); rows that wait at a source are to be done in it, too (3,
    4). With the time that a row takes, every operator needs a fraction of slots (1). In Penstock
    operators share slots in time, so that the fractions add up before they are rounded; each
    operator's own replicas are named in the reason.

    A slot is planned to be busy ``utilisation`` of the time; 1 is the paper's.

    >>> from penstock.elasticity.observation import (
    ...     Observation, OperatorObservation, SourceObservation)
    >>> policy = ReplicaPool(interval=1, max_slots=16)
    >>> for second in range(5):  # 500 rows/s, 10 ms of slot time each
    ...     parse = OperatorObservation("parse", 500, 500, 5.0, 8, 0.7, 0.7)
    ...     clicks = SourceObservation("clicks", 500, waiting_rows=250)
    ...     seen = Observation(second, float(second), 0.8, 1.0, 8, (parse,), (clicks,))
    ...     decision = policy.decide(seen)
    >>> decision.reason  # doctest: +ELLIPSIS
    '500 rows/s came and 250 rows wait; demand 9... slots at 90 % utilisation (replicas: parse 7...'
    """

    interval: Duration = "5 seconds"
    utilisation: float = 0.9

    kind: ClassVar[str] = "ReplicaPool"

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.kind, "utilisation", self.utilisation, above=0, up_to=1)

    def _wish(self, moment: Moment) -> Wish | None:
        load = self._workload
        if not load.arrivals.rates or not load.tells_demand:
            return None
        span, interval = moment.batch_seconds, moment.interval_seconds
        rates, pending = load.arrivals.mean_rates(), load.pending(moment.seen)
        share = moment.batch_share
        rows = load.rows(rates, span, {name: share * each for name, each in pending.items()})
        demand = load.capacity.demand(rows, span, utilisation=self.utilisation)
        work = {name: each / span for name, each in load.capacity.work(rows).items()}
        dearest = sorted(work, key=lambda name: (-work[name], name))[:NAMED]
        replicas = ", ".join(f"{name} {figure(work[name])}" for name in dearest if work[name] > 0)
        waiting = sum(pending.values())
        came = f"{rate_in_words(sum(rates.values()))} came"
        left = waiting_in_words(waiting)
        came += f" and {left}" if left else ""
        utilised = f"{self.utilisation * 100:g} % utilisation"
        reason = f"{came}; demand {figure(demand.slots)} slots at {utilised}"
        reason += f" (replicas: {replicas})" if replicas else ""
        return Wish(
            whole_slots(demand.slots),
            reason,
            demand_slots=demand.slots,
            horizon_seconds=interval,
            expected_rows=load.rows(rates, interval),
        )
