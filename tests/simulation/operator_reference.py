"""One operator simulated in plain Python, one event after the other: slow, and easy to believe.

Every tuple is submitted when it arrives, and an instance works on its queue in order. POSG's
machines are the classes themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

from penstock.placement.posg import Instance, Matrices, Reply, Scheduler, SchedulerState
from penstock.simulation.operator.groupings import FullKnowledge, Posg, RoundRobin
from penstock.simulation.operator.tuples import Tuples


@dataclass
class Reference:
    seconds: list[float] = field(default_factory=list)
    instances: list[int] = field(default_factory=list)
    matrices: int = 0
    requests: int = 0
    replies: int = 0
    matrices_at: list[int] = field(default_factory=list)
    run_from: list[int] = field(default_factory=list)


def simulated(
    tuples: Tuples, k: int, how: RoundRobin | FullKnowledge | Posg, delay: float
) -> Reference:
    found, free, loads = Reference(), [0.0] * k, [0.0] * k
    on_the_way: list[tuple[float, int, Matrices | Reply]] = []
    if isinstance(how, Posg):
        sizes = (how.epsilon, how.delta, how.seed)
        scheduler = Scheduler(k, *sizes, how.alike, how.resync_tuples)
        rest = (how.only_if_moved, how.idle_counts)
        learners = [Instance(i, how.window, how.mu, *sizes, *rest) for i in range(k)]
    for number, now in enumerate(tuples.arrival_seconds.tolist()):
        while on_the_way and on_the_way[0][0] <= now:
            message = heappop(on_the_way)[2]
            found.matrices_at += [number] if isinstance(message, Matrices) else []
            before = scheduler.state
            scheduler.receive(message)
            if scheduler.state is SchedulerState.RUN is not before:
                found.run_from.append(number)
        key, request = int(tuples.keys[number]), None
        if isinstance(how, Posg):
            at, request = scheduler.submit(key % 2**64)
        elif isinstance(how, RoundRobin) or number < how.from_tuple:
            at = number % k
        else:
            at = loads.index(min(loads))
        speeds = [each for each in tuples.speeds if each.from_tuple <= number]
        cost = float(tuples.seconds[number]) * (speeds[-1].multipliers[at] if speeds else 1.0)
        free[at] = max(free[at], now + delay) + cost
        loads[at] = free[at] if getattr(how, "idle_counts", False) else loads[at] + cost
        found.seconds.append(free[at] - now)
        found.instances.append(at)
        if isinstance(how, Posg):
            found.requests += request is not None
            for message in learners[at].execute(key, cost, request, free[at]):
                is_reply = isinstance(message, Reply)
                found.replies += is_reply
                found.matrices += not is_reply
                heappush(on_the_way, (free[at] + delay, 2 * number + (not is_reply), message))
    return found
