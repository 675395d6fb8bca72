"""A topology in micro-batches: how long each takes, and what a live run's monitor would see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.replay.batches import Conditions, PlannedBatch
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.micro_batch.operators import BatchOperators, Numbers, Whole
from penstock.simulation.micro_batch.placed import PlacedKeys


class SimulatedQuery:
    """Runs the components of a topology, each with the tasks that the decision gives it.

    A component's tasks are planned as the engine plans them: those of its most demanding operator,
    as many as there are slots where the decision names none, never more than are there. Components
    that wait for each other run one after another; those that don't, side by side in the same
    slots. A component whose operators cost nothing is run with its neighbours, for nothing.
    """

    def __init__(
        self,
        operators: BatchOperators,
        costs: BatchCosts,
        conditions: Conditions,
        placed: PlacedKeys | None = None,
    ) -> None:
        self._operators, self._costs, self._given = operators, costs, conditions
        self._placed = placed
        self._alone = replace(costs, cores=None)
        works = np.bincount(operators.stage, operators.seconds_per_row > 0, operators.stages) > 0
        levels: dict[int, list[int]] = {}
        for stage in np.flatnonzero(works).tolist():
            levels.setdefault(int(operators.level[stage]), []).append(stage)
        self._levels = [levels[level] for level in sorted(levels)]
        self._planned_for: Decision | None = None
        self._wanted: Whole = np.zeros(0, dtype=np.int64)
        self._done_rows = 0
        self._ran: _Ran | None = None
        self._last: Observation | None = None

    def seconds(self, batch: PlannedBatch) -> float:
        """Return how long a batch takes: its fixed cost, and its stages."""
        operators = self._operators
        out = operators.rows_out(self._done_rows, batch.rows)
        taken = operators.rows_in(out)
        self._done_rows += batch.rows
        work = taken * operators.seconds_per_row
        by_stage = np.bincount(operators.stage, work, operators.stages).astype(np.float64)
        tasks = np.minimum(self._tasks(batch.decision), batch.slots)
        self._ran = ran = _Ran(out, taken, work, tasks, np.ones(operators.stages))
        seconds = self._costs.fixed_seconds
        for level in self._levels:
            seconds += self._level_seconds(level, by_stage, ran, batch.slots, batch.rows)
        return seconds

    def _level_seconds(
        self, level: list[int], work: Numbers, ran: _Ran, slots: int, rows: int
    ) -> float:
        """Return how long components take that run side by side; they share slots and cores."""
        took, alone = 0.0, 0.0
        for stage in level:
            tasks = int(ran.tasks[stage])
            if self._placed is not None:
                ran.imbalance[stage] = self._placed.imbalance(stage, tasks, rows)
            else:
                ran.imbalance[stage] = self._costs.imbalance if tasks > 1 else 1.0
            given = (float(work[stage]), tasks, slots, float(ran.imbalance[stage]))
            took = max(took, self._costs.stage_seconds(*given))
            alone = max(alone, self._alone.stage_seconds(*given))
        if len(level) > 1:
            tasks, together = int(ran.tasks[level].sum()), float(work[level].sum())
            # Tasks of several components fill each other's gaps, so that these are even.
            took = max(took, self._costs.stage_seconds(together, tasks, slots, 1.0))
            alone = max(alone, self._alone.stage_seconds(together, tasks, slots, 1.0))
        if took > alone > 0:
            # Tasks that wait for a core are busy for longer, as a live run measures them.
            for stage in level:
                ran.work[self._operators.stage == stage] *= took / alone
        return took

    def seen(self, batch: PlannedBatch, seconds: float, slots_after: int) -> Observation | None:
        """Return what the live engine's monitor would make of it; None before the first batch."""
        end = batch.started_seconds + seconds
        if batch.rows == 0:
            return None if self._last is None else self._last.idle_at(end, slots_after)
        assert self._ran is not None
        self._last = Observation(
            batch_id=batch.batch_id,
            at_seconds=end,
            batch_seconds=seconds,
            trigger_seconds=self._given.trigger_seconds,
            slots=slots_after,
            operators=self._seen_operators(self._ran),
            sources=self._seen_sources(self._ran, batch.left_rows),
            jobs=1,
            used_slots=min(batch.decision.slots, batch.slots),
            most_slots=self._given.most_slots,
            cores=self._costs.cores,
        )
        return self._last

    def _seen_operators(self, ran: _Ran) -> tuple[OperatorObservation, ...]:
        stage = self._operators.stage
        tasks = ran.tasks[stage]
        mean = ran.work / tasks
        slowest = mean * ran.imbalance[stage]
        cpu = ran.taken * self._operators.seconds_per_row * self._costs.cpu_share
        columns = (ran.taken, ran.out, ran.work, tasks, slowest, mean, cpu)
        return tuple(
            OperatorObservation(
                name=name,
                rows_in=rows_in,
                rows_out=rows_out,
                busy_seconds=busy,
                tasks=count,
                slowest_task_seconds=longest,
                mean_task_seconds=usual,
                estimated=not inputs,
                cpu_seconds=on_core,
                inputs=inputs,
            )
            for name, inputs, rows_in, rows_out, busy, count, longest, usual, on_core in zip(
                self._operators.names,
                self._operators.inputs,
                *(column.tolist() for column in columns),
                strict=True,
            )
        )

    def _seen_sources(self, ran: _Ran, left_rows: int) -> tuple[SourceObservation, ...]:
        count = self._operators.sources
        shares = self._operators.out_per_row[:count]
        return tuple(
            SourceObservation(name, rows, round(left_rows * share))
            for name, rows, share in zip(
                self._operators.names[:count],
                ran.out[:count].tolist(),
                shares.tolist(),
                strict=True,
            )
        )

    def _tasks(self, decision: Decision) -> Whole:
        """Return the tasks of every component, as a decision wants them."""
        if decision is not self._planned_for:
            named = decision.tasks
            wanted = np.array([named.get(name, 0) for name in self._operators.names], np.int64)
            most = np.zeros(self._operators.stages, dtype=np.int64)
            np.maximum.at(most, self._operators.stage, wanted)
            self._wanted = np.where(most > 0, most, decision.slots)
            self._planned_for = decision
        return self._wanted


class _Ran:
    """What came of a batch, until it is shown."""

    __slots__ = ("imbalance", "out", "taken", "tasks", "work")

    def __init__(
        self, out: Whole, taken: Whole, work: Numbers, tasks: Whole, imbalance: Numbers
    ) -> None:
        self.out, self.taken, self.work = out, taken, work
        self.tasks, self.imbalance = tasks, imbalance
