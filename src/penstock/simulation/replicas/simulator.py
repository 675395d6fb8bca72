"""Runs a topology, a load and a policy in a simulated engine with replicas.

Within an interval the number of replicas is fixed and rows only go one way, so that operators are
simulated one after the other in the order of the topology, each with all its rows of the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil

import numpy as np

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.errors import ConfigurationError
from penstock.simulation.load import MOST_ROWS, Load
from penstock.simulation.replicas import arrays, settling
from penstock.simulation.replicas.arrays import Floats, Identities, Integers
from penstock.simulation.replicas.dealing import dealer_for
from penstock.simulation.replicas.engine import ReplicaEngine
from penstock.simulation.replicas.mechanisms import Restart
from penstock.simulation.replicas.outcome import outcome
from penstock.simulation.replicas.policy import ReplicaPolicy
from penstock.simulation.replicas.queue_times import QueueTimes
from penstock.simulation.replicas.replica_times import ReplicaTimes
from penstock.simulation.replicas.roots import Roots, Rows
from penstock.simulation.replicas.routes import Route, routes
from penstock.simulation.replicas.station import Interval, Station
from penstock.simulation.run import NoRecorder, Recorder, SimulatedRun, TimedDecision
from penstock.simulation.topology import SimulatedTopology


def simulate(
    topology: SimulatedTopology,
    load: Load,
    policy: ReplicaPolicy,
    engine: ReplicaEngine,
    *,
    name: str | None = None,
    seed: int = 0,
    recorder: Recorder | None = None,
    on_interval: Callable[[float], object] = lambda share: None,
) -> SimulatedRun:
    """Let a policy meet a load; ``on_interval`` is told how much of it is over, as a share.

    The run ends with the load: rows that are not done by then are neither done nor failed.
    ``name`` is what the policy is called in the outcome.

    >>> from penstock.simulation.laws import Constant
    >>> from penstock.simulation.replicas.policy import FixedReplicas
    >>> from penstock.simulation.topology import SimulatedOperator, SimulatedSource
    >>> from penstock.sources.trace import trace_of_counts
    >>> parse = SimulatedOperator("parse", {"tweets": 1.0}, Constant(0.0625))
    >>> topology = SimulatedTopology("demo", (SimulatedSource("tweets"),), (parse,))
    >>> load = Load(trace_of_counts([8, 8]))
    >>> run = simulate(topology, load, FixedReplicas(), ReplicaEngine())
    >>> run.done_rows, run.mean_latency_seconds, run.mean_slots
    (16, 0.0625, 1.0)
    """
    engine.check(topology)
    _check_rows(topology, load)
    run = ReplicaRun(topology, load, policy, engine, seed, recorder or NoRecorder())
    while run.interval():
        on_interval(min(1.0, run.at_seconds / load.duration_seconds))
    return run.result(name or type(policy).__name__)


def _check_rows(topology: SimulatedTopology, load: Load) -> None:
    per_row = topology.rows_per_row()
    rows = {
        each.name: load.rows * per_row[each.name] * max(1.0, each.selectivity)
        for each in topology.operators
    }
    name = max(rows, key=rows.__getitem__)
    if rows[name] > MOST_ROWS:
        raise ConfigurationError(
            f"'{name}' has {rows[name]:,.0f} rows, and {MOST_ROWS:,} at most can be simulated one "
            "by one. Cut the trace, lower the selectivity, or leave the mechanism at micro-batch."
        )


class ReplicaRun:
    """One run, interval by interval; ``roots`` tells what has become of every row of the load."""

    def __init__(
        self,
        topology: SimulatedTopology,
        load: Load,
        policy: ReplicaPolicy,
        engine: ReplicaEngine,
        seed: int,
        recorder: Recorder,
    ) -> None:
        self._topology, self._policy, self._engine = topology, policy, engine
        self._recorder, self._end = recorder, load.duration_seconds
        self.roots = Roots.of(topology, load, engine.timeout_seconds, seed)
        self._routes = routes(topology)
        self._stations = _stations(topology, engine, seed)
        self._waits = QueueTimes(ceil(self._end / engine.step_seconds - 1e-9), engine.step_seconds)
        starts = {each.operator.name: each.replicas for each in self._stations}
        self._all = ReplicaTimes(sum(starts.values()))
        self._own = {name: ReplicaTimes(replicas) for name, replicas in starts.items()}
        self._decisions: list[TimedDecision] = []
        self._changes = self._intervals = 0
        self._down_until = 0.0
        self.at_seconds = 0.0

    def interval(self) -> bool:
        """Run an interval, and ask the policy at its end; say whether there is more to come."""
        since = self.at_seconds
        until = float(min(self._end, (self._intervals + 1) * self._engine.interval_seconds))
        sent = self._send(since, until)
        did = [self._work(station, since, until) for station in self._stations]
        self.at_seconds = until
        whole = until - since >= 0.999 * self._engine.interval_seconds
        # The engine is not asked while it is down, nor after what is left of the load.
        if whole and self._down_until < until:
            self._ask(self._observation(since, until, sent, did))
        self._intervals += 1
        return until < self._end

    def result(self, name: str) -> SimulatedRun:
        """Put together what came of it."""
        return outcome(
            name,
            self._engine.mechanism.name,
            self.roots,
            self._waits,
            self._all,
            self._own,
            tuple(self._decisions),
            self._end,
            self._changes,
        )

    def _send(self, since: float, until: float) -> list[int]:
        """Let the sources send what was born meanwhile; return how many rows each had."""
        roots, sent = self.roots, []
        rows = roots.born_between(since, until)
        mechanism = self._engine.mechanism
        lose = isinstance(mechanism, Restart) and mechanism.meanwhile == "lose"
        for source, own in roots.by_source(rows, len(self._topology.sources)):
            sent.append(len(own))
            lost = own[roots.born[own] < self._down_until] if lose else own[:0]
            roots.fail(roots.born[lost], lost, arrays.RESTARTED)
            kept = own[len(lost) :]  # rows are in order, and those lost are the first
            at = np.maximum(roots.born[kept], self._down_until)
            self._hand_on(source, at, kept, roots.identity[kept], 1.0)
            roots.complete(roots.born[kept], kept)
        return sent

    def _work(self, station: Station, since: float, until: float) -> tuple[Interval, int]:
        did = station.work(since, until, self.roots, self._waits)
        over, selectivity = did.over, float(station.operator.selectivity)
        put_out = self._hand_on(station.number, over.finish, over.root, over.identity, selectivity)
        self.roots.complete(over.finish, over.root)
        return did, put_out

    def _hand_on(
        self, parent: int, at: Floats, root: Integers, identity: Identities, selectivity: float
    ) -> int:
        """Send what came of rows to the operators below; return how many rows were put out."""
        children: tuple[Route, ...] = self._routes[parent]
        for route in children:
            made = settling.hand_on(
                at,
                root,
                identity,
                selectivity,
                route.low,
                route.share,
                route.child,
                float(self._engine.network_seconds),
                self.roots.open_rows,
            )
            station = self._stations[route.child - len(self._topology.sources)]
            station.receive(parent, Rows(*made))
        if selectivity == 1.0:
            return len(at)
        return int(settling.put_out(identity, selectivity))

    def _observation(
        self, since: float, until: float, sent: list[int], did: list[tuple[Interval, int]]
    ) -> Observation:
        operators = tuple(
            _observed(station, interval, put_out)
            for station, (interval, put_out) in zip(self._stations, did, strict=True)
        )
        sources = tuple(
            SourceObservation(source.name, rows, 0)
            for source, rows in zip(self._topology.sources, sent, strict=True)
        )
        return Observation(
            batch_id=self._intervals,
            at_seconds=until,
            batch_seconds=until - since,
            trigger_seconds=self._engine.interval_seconds,
            slots=sum(each.replicas for each in self._stations),
            operators=operators,
            sources=sources,
        )

    def _ask(self, seen: Observation) -> None:
        self._recorder.batch(seen)
        wanted = self._within(self._policy.plan(seen))
        before = {each.operator.name: each.replicas for each in self._stations}
        self._note(seen, before, wanted)
        changed = {name: number for name, number in wanted.items() if number != before[name]}
        if not changed:
            return
        self._changes += 1
        mechanism = self._engine.mechanism
        if isinstance(mechanism, Restart):
            self._down_until = seen.at_seconds + mechanism.downtime_seconds
        for station in self._stations:
            name = station.operator.name
            if name in changed:
                station.change(changed[name], seen.at_seconds)
                self._own[name].changed(seen.at_seconds, changed[name])
            if isinstance(mechanism, Restart):
                station.lose_all(seen.at_seconds, self._down_until, self.roots, self._waits)
        self._all.changed(seen.at_seconds, sum(each.replicas for each in self._stations))

    def _within(self, plan: Mapping[str, int]) -> dict[str, int]:
        known = {each.operator.name: each.replicas for each in self._stations}
        for name in plan:
            if name not in known:
                raise ConfigurationError(
                    f"the policy plans for '{name}', which is no operator of "
                    f"'{self._topology.name}'. There are: {', '.join(known)}."
                )
        return {
            name: self._engine.within(name, int(plan.get(name, replicas)))
            for name, replicas in known.items()
        }

    def _note(self, seen: Observation, before: dict[str, int], wanted: dict[str, int]) -> None:
        changes = [
            f"{name} {before[name]} to {number}"
            for name, number in wanted.items()
            if number != before[name]
        ]
        reason = f"replicas: {', '.join(changes)}" if changes else "every operator keeps its own"
        decision = Decision(sum(wanted.values()), reason, wanted)
        self._recorder.decision(seen.batch_id, decision, seen.at_seconds)
        if not self._decisions or self._decisions[-1].decision.tasks != decision.tasks:
            self._decisions.append(TimedDecision(seen.at_seconds, decision))


def _stations(topology: SimulatedTopology, engine: ReplicaEngine, seed: int) -> list[Station]:
    numbers = {each.name: number for number, each in enumerate(topology.sources)}
    numbers |= {
        each.name: number + len(topology.sources) for number, each in enumerate(topology.operators)
    }
    row_seconds = topology.row_seconds()
    stations = []
    for operator in topology.operators:
        replicas = engine.start_of(operator.name)
        dealer = dealer_for(
            engine.grouping_of(operator.name),
            replicas,
            engine.queue_limit,
            row_seconds[operator.name],
            engine.interval_seconds,
            engine.network_seconds,
        )
        number = numbers[operator.name]
        rng = np.random.default_rng((seed, number))
        parents = tuple(numbers[parent] for parent in operator.inputs)
        stations.append(Station(number, operator, parents, dealer, replicas, rng))
    return stations


def _observed(station: Station, did: Interval, put_out: int) -> OperatorObservation:
    busy = did.busy_seconds
    total = float(busy.sum())
    return OperatorObservation(
        name=station.operator.name,
        rows_in=int(did.processed.sum()),
        rows_out=put_out,
        busy_seconds=total,
        tasks=station.replicas,
        slowest_task_seconds=float(busy.max()),
        mean_task_seconds=total / station.replicas,
        inputs=tuple(station.operator.inputs),
        waiting_rows=did.waiting_rows,
        received_rows=did.received_rows,
    )
