"""``MicroBatch``: a policy on a simulated topology that runs as Penstock runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from penstock.elasticity.decision import Decision, Policy, decided
from penstock.elasticity.observation import Observation
from penstock.errors import ConfigurationError
from penstock.replay.arrivals import Arrivals
from penstock.replay.batches import Conditions, run_batches
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.load import Load
from penstock.simulation.micro_batch.operators import batch_operators
from penstock.simulation.micro_batch.outcome import outcome_of
from penstock.simulation.micro_batch.placed import PlacedKeys, PlacementName, check_placement
from penstock.simulation.micro_batch.query import SimulatedQuery
from penstock.simulation.run import NoRecorder, Recorder, SimulatedRun, TimedDecision
from penstock.simulation.topology import SimulatedTopology
from penstock.sources.trace import MICROS

MECHANISM = "micro-batch"
# Where rows arrive anywhere in a step, they do so in so many parts of it, each evenly.
_RANDOM_PARTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """Micro-batches, one every ``trigger_seconds``, or end to end where it is None.

    A batch takes what has arrived, ``most_rows`` at most. It costs what ``costs`` say besides the
    work of its rows. Chains of operators are one stage; a new one begins where branches meet, and
    where one stream is read by several. Unless ``fused``, each operator is a stage of its own.

    There are ``least_slots`` to ``most_slots``, at first ``start_slots`` (the most, unless said).
    A slot comes ``executor_seconds`` after it was asked for, and goes at once. ``placement`` finds
    each stage's imbalance from the rows' keys; without it, all have that of ``costs``. Rows that
    are done later than ``deadline_seconds`` after they arrived count as failed; latencies are of
    all rows, these too.

    >>> from penstock.elasticity.static import Static
    >>> from penstock.simulation.laws import Constant
    >>> from penstock.simulation.topology import SimulatedOperator, SimulatedSource
    >>> from penstock.sources.trace import trace_of_counts
    >>> score = SimulatedOperator("score", {"clicks": 1.0}, Constant(0.004))
    >>> topology = SimulatedTopology("clicks", (SimulatedSource("clicks"),), (score,))
    >>> spark = MicroBatch(most_slots=4, costs=BatchCosts(0.2, task_seconds=0.0, imbalance=1.0))
    >>> run = spark.run(topology, Load(trace_of_counts([200] * 60)), Static(2))
    >>> run.done_rows, run.mean_slots, round(run.mean_latency_seconds, 6)
    (12000, 2.0, 1.1)
    """

    trigger_seconds: float | None = 1.0
    costs: BatchCosts = field(default_factory=BatchCosts)
    executor_seconds: float = 15.0
    least_slots: int = 1
    most_slots: int = 8
    start_slots: int | None = None
    fused: bool = True
    placement: PlacementName | None = None
    most_rows: int | None = None
    deadline_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("trigger_seconds", "deadline_seconds", "most_rows"):
            value = getattr(self, name)
            if value is not None and not 0 < value < inf:
                raise ConfigurationError(
                    f"MicroBatch({name}={value}) can't be. Write a number above 0, or leave it out."
                )
        if not 0 <= self.executor_seconds < inf:
            raise ConfigurationError(
                f"MicroBatch(executor_seconds={self.executor_seconds}): write 0 seconds or more."
            )
        if not 1 <= self.least_slots <= self.most_slots:
            raise ConfigurationError(
                f"MicroBatch: {self.least_slots} to {self.most_slots} slots can't be. Write 1 or "
                "more for the least, and no less for the most."
            )
        start = self.start_slots
        if start is not None and not self.least_slots <= start <= self.most_slots:
            raise ConfigurationError(
                f"MicroBatch(start_slots={start}): write {self.least_slots} to {self.most_slots}, "
                "the least and the most there may be, or leave it out."
            )
        if self.placement is not None:
            check_placement(self.placement)

    def run(
        self,
        topology: SimulatedTopology,
        load: Load,
        policy: Policy,
        *,
        name: str = "",
        seed: int = 0,
        recorder: Recorder | None = None,
        on_progress: Callable[[float], object] = lambda share: None,
    ) -> SimulatedRun:
        """Let a policy meet a load, until the last of its rows is done.

        ``recorder`` is told what a live run would journal, ``on_progress`` how much of the load is
        done, as a share. The time of observations and decisions is that since the start.
        """
        conditions = self._conditions(load.duration_seconds)
        operators = batch_operators(topology, fused=self.fused)
        placed = None
        if self.placement is not None:
            placed = PlacedKeys(topology, operators, self.placement, seed)
        query = SimulatedQuery(operators, self.costs, conditions, placed)
        arrivals = arrivals_of(load, seed)
        told = _Told(policy, recorder or NoRecorder())
        ran = run_batches(arrivals, query, told, conditions, on_progress)
        return outcome_of(
            ran,
            arrivals,
            policy=name or type(policy).__name__,
            mechanism=MECHANISM,
            duration_seconds=load.duration_seconds,
            deadline_seconds=self.deadline_seconds,
            decisions=tuple(told.decisions),
        )

    def _conditions(self, duration_seconds: float) -> Conditions:
        return Conditions(
            least_slots=self.least_slots,
            most_slots=self.most_slots,
            start_slots=self.start_slots or self.most_slots,
            trigger_seconds=self.trigger_seconds,
            limit_seconds=self.trigger_seconds or inf,
            ended_seconds=duration_seconds,
            executor_seconds=self.executor_seconds,
            tells_waiting=True,
            cores=self.costs.cores,
            most_rows=self.most_rows,
        )


def arrivals_of(load: Load, seed: int = 0) -> Arrivals:
    """Return when the rows of a load arrive: evenly in each step, or in parts drawn at random."""
    counts = np.array(load.trace.counts, dtype=np.int64)
    lengths = np.array(load.trace.step_micros, dtype=np.float64) / MICROS
    if load.spacing == "random":
        rng = np.random.default_rng(seed)
        even = np.full(_RANDOM_PARTS, 1 / _RANDOM_PARTS)
        counts = rng.multinomial(counts, even).ravel()
        lengths = np.repeat(lengths / _RANDOM_PARTS, _RANDOM_PARTS)
    times = np.concatenate(([0.0], np.cumsum(lengths)))
    totals = np.concatenate(([0], np.cumsum(counts)))
    return Arrivals(tuple(times.tolist()), tuple(totals.tolist()))


class _Told:
    """A policy whose recorder is told what it saw and decided."""

    def __init__(self, policy: Policy, recorder: Recorder) -> None:
        self._policy, self._recorder = policy, recorder
        self.decisions: list[TimedDecision] = []

    def decide(self, observation: Observation) -> Decision:
        if observation.batch_seconds > 0:
            self._recorder.batch(observation)
        decision = decided(self._policy.decide(observation))
        if not self.decisions or decision != self.decisions[-1].decision:
            self.decisions.append(TimedDecision(observation.at_seconds, decision))
            self._recorder.decision(observation.batch_id, decision, observation.at_seconds)
        return decision
