"""The replica engine once more, event by event: slow, plain, and by other means.

Every operator really has queues, replicas are really idle or busy, and time goes on from event to
event in one heap. Only what is drawn for a row is taken from the simulator, so that both see the
same rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from math import inf

import numpy as np

from penstock.placement.least_loaded import least_loaded
from penstock.placement.posg import Instance, Request, Scheduler
from penstock.simulation.load import Load
from penstock.simulation.replicas import (
    ByChance,
    InTurn,
    LeastLoaded,
    Posg,
    ReplicaEngine,
    Restart,
    SharedQueue,
)
from penstock.simulation.replicas.draws import copies, descendant, goes, replica_by_chance
from penstock.simulation.replicas.outcome import REASONS
from penstock.simulation.replicas.roots import Roots
from penstock.simulation.topology import SimulatedOperator, SimulatedTopology

FINISH, CONTROL, MESSAGE, ARRIVE = 0, 1, 2, 3  # what comes first of what happens at one time
Plan = Callable[[int, dict[str, int]], Mapping[str, int]]


@dataclass
class Row:
    root: int
    identity: np.uint64
    arrival: float
    seconds: float
    order: int = 0
    request: Request | None = None
    generation: int = 0


@dataclass
class Replica:
    queue: deque[Row] = field(default_factory=deque)
    serving: Row | None = None
    free_since: float = 0.0
    processed: int = 0


@dataclass
class Root:
    born: float
    open_rows: int = 1
    last: float = 0.0
    failed_at: float = inf
    why: str = ""
    done_at: float = inf


class Operator:
    def __init__(self, number: int, given: SimulatedOperator, engine: ReplicaEngine) -> None:
        self.number, self.given, self.engine = number, given, engine
        self.grouping = engine.grouping_of(given.name)
        self.active = engine.start_of(given.name)
        self.replicas = [Replica() for _ in range(self.active)]
        self.line: deque[Row] = deque()  # the shared queue
        self.arrived = 0
        self.turn = self.generation = 0
        self.processed = [0] * self.active
        self.keys = None

    def begin(self) -> None:
        """Start an interval."""
        if isinstance(self.grouping, LeastLoaded):
            mean = self.given.law.mean_seconds(self.keys) * self.grouping.execution_factor
            step = mean / self.engine.interval_seconds
            had = (self.processed + [0] * self.active)[: self.active]
            had = had if self.grouping.remembers else [0] * self.active
            self.chosen = least_loaded([n * Fraction(step) for n in had], step)

    def learn_anew(self) -> None:
        self.generation += 1
        if isinstance(self.grouping, Posg):
            by = self.grouping
            sizes = (by.epsilon, by.delta, by.seed)
            self.scheduler = Scheduler(self.active, *sizes, alike=by.alike)
            self.instances = [
                Instance(n, by.window, by.mu, *sizes) for n in range(len(self.replicas))
            ]

    def waiting(self) -> int:
        return len(self.line) + sum(len(each.queue) for each in self.replicas)

    def choose(self, row: Row, key: int) -> int:
        if isinstance(self.grouping, ByChance):
            return replica_by_chance(row.identity, self.active)
        if isinstance(self.grouping, LeastLoaded):
            return next(self.chosen)
        if isinstance(self.grouping, Posg):
            chosen, row.request = self.scheduler.submit(key)
            row.generation = self.generation
            return chosen
        assert isinstance(self.grouping, InTurn)
        chosen, self.turn = self.turn, (self.turn + 1) % self.active
        return chosen


class Reference:
    """Runs it all; ``plan`` is asked with the interval's number and the queues' lengths."""

    def __init__(
        self,
        topology: SimulatedTopology,
        load: Load,
        plan: Plan,
        engine: ReplicaEngine,
        seed: int,
    ) -> None:
        self.engine, self.topology, self.plan = engine, topology, plan
        drawn = Roots.of(topology, load, None, seed)
        self.key, self.end = drawn.key, load.duration_seconds
        self.roots = [Root(born, last=born) for born in drawn.born.tolist()]
        sources = len(topology.sources)
        self.operators = [
            Operator(n + sources, each, engine) for n, each in enumerate(topology.operators)
        ]
        for each in self.operators:
            each.keys = topology.sources[0].keys
            each.learn_anew()
            each.begin()
        numbers = {each.name: n for n, each in enumerate((*topology.sources, *topology.operators))}
        self.children: list[list[tuple[Operator, float, float]]] = [[] for _ in numbers]
        for operator in self.operators:
            for parent, share in operator.given.inputs.items():
                taken = sum(each[2] for each in self.children[numbers[parent]])
                self.children[numbers[parent]].append((operator, taken % 1.0, share))
        self.events: list[tuple[float, int, int, int, int, object]] = []
        self.serial = 0
        self.down_until, self.era = 0.0, 0
        self.changes = 0
        self.asked: list[dict[str, int]] = []  # the queues, when the policy was asked
        for n, root in enumerate(self.roots):
            self.push(
                root.born,
                ARRIVE,
                (-(1 << 40), n),
                ("born", n, int(drawn.source[n]), drawn.identity[n]),
            )
        interval = engine.interval_seconds
        for n in range(int(self.end / interval + 1e-9)):
            self.push((n + 1) * interval, CONTROL, (0, 0), n)

    def push(self, at: float, kind: int, place: tuple[int, int], what: object) -> None:
        self.serial += 1
        heappush(self.events, (at, kind, *place, self.serial, what))

    def run(self) -> Reference:
        while self.events and self.events[0][0] <= self.end:
            at, kind, _, _, _, what = heappop(self.events)
            if at == self.end and kind == ARRIVE:
                continue
            if kind == CONTROL:
                self.control(at, what)
            elif kind == FINISH:
                self.finish(at, *what)
            elif kind == MESSAGE:
                operator, generation, message = what
                if generation == operator.generation:
                    operator.scheduler.receive(message)
            elif what[0] == "born":
                self.born(at, *what[1:])
            elif what[0] == self.era:
                self.arrive(at, *what[1:])
        return self

    def born(self, at: float, root: int, source: int, identity: np.uint64) -> None:
        mechanism = self.engine.mechanism
        if (
            at < self.down_until
            and isinstance(mechanism, Restart)
            and mechanism.meanwhile == "lose"
        ):
            return self.fail(at, root, "lost in a restart")
        self.hand_on(max(at, self.down_until), source, root, root, identity, 1.0)
        return self.close(at, root)

    def hand_on(
        self, at: float, parent: int, order: int, root: int, identity: np.uint64, selectivity: float
    ) -> None:
        for child, low, share in self.children[parent]:
            for copy in range(copies(identity, selectivity)):
                if share > 0 and goes(identity, copy, low, share):
                    self.roots[root].open_rows += 1
                    made = descendant(identity, child.number, copy)
                    key = np.array([self.key[root]])
                    seconds = child.given.law.draw(key, np.random.default_rng(0))[0]
                    arrival = at + self.engine.network_seconds
                    row = Row(root, np.uint64(made), arrival, float(seconds))
                    first = parent
                    if parent < len(self.topology.sources):
                        # Rows that were held come all at once: interval by interval, by source.
                        interval = int(self.roots[root].born / self.engine.interval_seconds)
                        first += interval * len(self.topology.sources) - (1 << 30)
                    self.push(arrival, ARRIVE, (first, order), (self.era, child, row))

    def arrive(self, at: float, operator: Operator, row: Row) -> None:
        limit = self.engine.queue_limit
        row.order, operator.arrived = operator.arrived, operator.arrived + 1
        if limit is not None and operator.waiting() >= limit:
            return self.fail(at, row.root, "queue full")
        if isinstance(operator.grouping, SharedQueue):
            operator.line.append(row)
            idle = [n for n in range(operator.active) if operator.replicas[n].serving is None]
            if idle:
                first = min(idle, key=lambda n: (operator.replicas[n].free_since, n))
                self.begin(at, operator, first)
            return None
        chosen = operator.choose(row, int(self.key[row.root]))
        operator.replicas[chosen].queue.append(row)
        if operator.replicas[chosen].serving is None:
            self.begin(at, operator, chosen)
        return None

    def begin(self, at: float, operator: Operator, number: int) -> None:
        replica = operator.replicas[number]
        shared = isinstance(operator.grouping, SharedQueue)
        queue = operator.line if shared else replica.queue
        if shared and number >= operator.active:
            return
        timeout = inf if self.engine.timeout_seconds is None else self.engine.timeout_seconds
        while queue and replica.serving is None:
            row = queue.popleft()
            if at - self.roots[row.root].born > timeout:
                self.fail(at, row.root, "too late")
                continue
            replica.serving = row
            done = at + row.seconds
            self.push(done, FINISH, (operator.number, row.order), (operator, number, row, self.era))

    def finish(self, at: float, operator: Operator, number: int, row: Row, era: int) -> None:
        if era != self.era:
            return
        replica = operator.replicas[number]
        replica.serving, replica.free_since = None, at
        replica.processed += 1
        if isinstance(operator.grouping, Posg) and row.generation == operator.generation:
            key = int(self.key[row.root])
            for message in operator.instances[number].execute(key, row.seconds, row.request):
                # rows come when the scheduler has sent them, messages go the same way back
                heard = at + 2 * self.engine.network_seconds
                self.push(heard, MESSAGE, (0, 0), (operator, row.generation, message))
        selectivity = operator.given.selectivity
        self.hand_on(at, operator.number, row.order, row.root, row.identity, selectivity)
        self.close(at, row.root)
        self.begin(at, operator, number)

    def close(self, at: float, number: int) -> None:
        root = self.roots[number]
        root.open_rows -= 1
        root.last = max(root.last, at)
        timeout = inf if self.engine.timeout_seconds is None else self.engine.timeout_seconds
        if root.open_rows == 0 and not root.why:
            if root.last - root.born > timeout:
                root.failed_at, root.why = root.last, "too late"
            else:
                root.done_at = root.last

    def fail(self, at: float, number: int, why: str) -> None:
        root = self.roots[number]
        root.open_rows -= 1
        # Of reasons at the same instant the first of the list counts, in whatever order they come.
        order = list(REASONS.values()).index
        if not root.why or (at == root.failed_at and order(why) < order(root.why)):
            root.failed_at, root.why = at, why

    def control(self, at: float, interval: int) -> None:
        for operator in self.operators:
            operator.processed = [each.processed for each in operator.replicas][: operator.active]
            for replica in operator.replicas:
                replica.processed = 0
        if self.down_until < at:
            self.asked.append({each.given.name: each.waiting() for each in self.operators})
            wanted = self.plan(interval, self.asked[-1])
            before = [each.active for each in self.operators]
            after = [
                self.engine.within(each.given.name, wanted.get(each.given.name, each.active))
                for each in self.operators
            ]
            if before != after:
                self.changes += 1
                self.change(at, after)
        for operator in self.operators:
            operator.begin()

    def change(self, at: float, after: list[int]) -> None:
        mechanism = self.engine.mechanism
        restart = isinstance(mechanism, Restart)
        if isinstance(mechanism, Restart):
            self.lose(at)
            self.down_until = at + mechanism.downtime_seconds
        for operator, active in zip(self.operators, after, strict=True):
            changed, had = operator.active != active, operator.active
            operator.active = active
            while len(operator.replicas) < active:
                operator.replicas.append(Replica())
            for replica in operator.replicas[had:active]:
                replica.free_since = max(replica.free_since, at)
            operator.turn = operator.turn if operator.turn < active else 0
            if changed or restart:
                operator.learn_anew()
            if isinstance(operator.grouping, SharedQueue) and at < self.end:
                idle = [n for n in range(active) if operator.replicas[n].serving is None]
                for n in sorted(idle, key=lambda n: (operator.replicas[n].free_since, n)):
                    self.begin(at, operator, n)

    def lose(self, at: float) -> None:
        """Lose all rows in the engine: those that wait, are served, or are on their way."""
        lost = [row.root for each in self.operators for row in each.line]
        for operator in self.operators:
            for replica in operator.replicas:
                lost += [row.root for row in replica.queue]
                lost += [replica.serving.root] if replica.serving is not None else []
        lost += [
            what[2].root
            for _, kind, _, _, _, what in self.events
            if kind == ARRIVE and what[0] == self.era
        ]
        for root in lost:
            self.fail(at, root, "lost in a restart")
        self.era += 1
        for operator in self.operators:
            operator.line.clear()
            operator.replicas = [Replica(free_since=at) for _ in operator.replicas]
