"""What the slots can do: seconds of slot per row, and what every batch costs besides."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, sqrt
from typing import Any

from penstock.elasticity.capacity.demand import Demand
from penstock.elasticity.capacity.fixed_cost import FixedCost
from penstock.elasticity.capacity.row_cost import RowCost
from penstock.elasticity.capacity.usable_cpu import ThreadCpu, usable_cpu
from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.errors import ConfigurationError

MEMORY = 0.7
# Tasks shorter than this are measured too coarsely to compare with each other.
SHORT_TASK_SECONDS = 0.001
MOST_IMBALANCE = 10.0
# Fixed costs leave the work at least this much of the time, or demand would have no bound.
LEAST_ROOM = 0.25


class Capacity:
    """Learns from every batch what rows, tasks and batches cost; says what rows will take.

    >>> parse = OperatorObservation("parse", 10_000, 10_000, 2.0, 4, 0.5, 0.5)
    >>> capacity = Capacity()
    >>> capacity.observe(Observation(0, 10.0, 0.7, 1.0, slots=4, operators=(parse,)))
    >>> capacity.seconds_per_row("parse")
    0.0002
    >>> demand = capacity.demand({"parse": 20_000}, interval_seconds=2.0)
    >>> round(demand.work_seconds, 3), round(demand.slots, 1)
    (4.0, 2.8)
    >>> capacity.tasks({"parse": 20_000}, slots=8), capacity.tasks({"parse": 20}, slots=8)
    ({'parse': 8}, {'parse': 1})
    """

    def __init__(self) -> None:
        self._costs: dict[str, RowCost] = {}
        self._usable: dict[str, float] = {}
        self._fixed = FixedCost()
        self._slowest, self._mean = 0.0, 0.0
        self._cores: int | None = None

    @property
    def knows_rows(self) -> bool:
        """Whether what a row costs is known of any operator."""
        return bool(self._costs)

    @property
    def batch_seconds(self) -> float:
        """What a batch takes however few rows and tasks it has."""
        return self._fixed.batch_seconds

    @property
    def task_seconds(self) -> float:
        """What each task adds to a batch, besides its work."""
        return self._fixed.task_seconds

    @property
    def imbalance(self) -> float:
        """How much longer than the mean the slowest task of an operator takes, 1 or more."""
        if self._mean <= 0:
            return 1.0
        return min(MOST_IMBALANCE, max(1.0, self._slowest / self._mean))

    def observe(self, observation: Observation) -> None:
        """Take in what one batch showed."""
        if observation.batch_seconds <= 0:
            return
        self._cores = observation.cores
        for operator in observation.operators:
            if operator.rows_in > 0:
                cost = self._costs.setdefault(operator.name, RowCost())
                busy, cpu = operator.busy_seconds, operator.cpu_seconds
                if _counts_waiting(observation, operator) and cpu is not None:
                    cost.observe(operator.rows_in, operator.tasks, cpu)
                    self._usable[operator.name] = 1.0
                else:
                    cost.observe(operator.rows_in, operator.tasks, busy, cpu)
                    self._usable[operator.name] = _usable(observation, operator, cost.cpu_share)
            if operator.tasks > 1 and operator.mean_task_seconds >= SHORT_TASK_SECONDS:
                self._slowest = MEMORY * self._slowest + operator.slowest_task_seconds
                self._mean = MEMORY * self._mean + operator.mean_task_seconds
        at_work = sum(operator.slowest_task_seconds for operator in observation.operators)
        tasks = sum(operator.tasks for operator in observation.operators)
        self._fixed.observe(tasks, observation.batch_seconds - at_work)

    def seconds_per_row(self, operator: str) -> float | None:
        """Return the seconds of one slot that a row takes; None before any row was seen.

        On cores that several slots share it is what the CPU that a row needs takes with what the
        operator's tasks can use of a core (equations 7 to 9), where that is longer.
        """
        cost = self._costs.get(operator)
        if cost is None:
            return None
        needs_cpu = cost.seconds_per_row * (cost.cpu_share or 0.0)
        usable = self._usable.get(operator, 1.0)
        return max(cost.seconds_per_row, needs_cpu / usable) if usable > 0 else cost.seconds_per_row

    def work(self, rows: Mapping[str, float]) -> dict[str, float]:
        """Return the seconds of slot that each operator's rows take; unknown ones take none."""
        return {
            name: max(0.0, count) * (self.seconds_per_row(name) or 0.0)
            for name, count in rows.items()
        }

    def demand(
        self, rows: Mapping[str, float], interval_seconds: float, *, utilisation: float = 0.8
    ) -> Demand:
        """Return the slots with which the rows of an interval are done in it.

        Stages share the slots in time, so their works add up. The batch must fit in
        ``utilisation`` of the interval if all tasks are equally long, and in the interval with the
        imbalance there is.
        """
        if not (interval_seconds > 0 and 0 < utilisation <= 1):
            raise ConfigurationError(
                f"no demand for {interval_seconds:g} seconds at utilisation {utilisation:g}. "
                "Give an interval over 0 seconds and a utilisation in (0, 1], such as 0.8."
            )
        works = self.work(rows)
        work, room = sum(works.values()), utilisation * interval_seconds
        starts = sum(self._costs[name].start_seconds for name in works if name in self._costs)
        least = self.batch_seconds + starts + self.task_seconds * len(works)
        # One task of each operator is in it already, the others come with the slots.
        most = max(1, ceil(work / room))
        more = sum(n - 1 for n in self.tasks(rows, most).values())
        fixed = least + self.task_seconds * more
        if least >= interval_seconds:
            slots = work / room
        else:
            # Where fixed costs leave nothing of the room, what must fit in the interval decides.
            even = work / max(room - fixed, LEAST_ROOM * room)
            uneven = work * self.imbalance / max(interval_seconds - fixed, LEAST_ROOM * room)
            slots = max(even, uneven if even > 1 else 0.0)
        return Demand(
            slots=slots,
            work_seconds=work,
            fixed_seconds=fixed,
            interval_seconds=interval_seconds,
            by_operator={
                name: slots * each / work if work else 0.0 for name, each in works.items()
            },
            bound_by_fixed=least >= interval_seconds,
            bound_by_cores=self._cpu_seconds(rows) > (self._cores or float("inf")) * room,
        )

    def tasks(self, rows: Mapping[str, float], slots: int) -> dict[str, int]:
        """Return the tasks with which each operator is done soonest, within ``slots``.

        Starting n tasks takes n x ``task_seconds``, and the work is done n times as fast: the sum
        is least at the root of work / ``task_seconds``. An operator never seen gets all slots.
        """
        works = self.work(rows)
        return {
            name: _soonest(work, self.task_seconds, slots) if name in self._costs else max(1, slots)
            for name, work in works.items()
        }

    def _cpu_seconds(self, rows: Mapping[str, float]) -> float:
        return sum(
            max(0.0, count) * self._costs[name].seconds_per_row * (self._costs[name].cpu_share or 0)
            for name, count in rows.items()
            if name in self._costs
        )

    def save(self) -> dict[str, Any]:
        """Return all that was learnt, in what JSON knows."""
        return {
            "costs": {name: cost.save() for name, cost in self._costs.items()},
            "usable": dict(self._usable),
            "fixed": self._fixed.save(),
            "slowest": self._slowest,
            "mean": self._mean,
            "cores": self._cores,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        try:
            costs = {str(name): RowCost.saved(each) for name, each in state["costs"].items()}
            usable = {str(name): float(each) for name, each in state["usable"].items()}
            fixed = FixedCost.saved(state["fixed"])
            slowest, mean = float(state["slowest"]), float(state["mean"])
            cores = None if state["cores"] is None else int(state["cores"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"no saved capacity: {error!r}") from error
        self._costs, self._usable, self._fixed = costs, usable, fixed
        self._slowest, self._mean, self._cores = slowest, mean, cores


def _soonest(work_seconds: float, task_seconds: float, slots: int) -> int:
    if task_seconds <= 0:
        return max(1, slots)
    return max(1, min(slots, round(min(sqrt(work_seconds / task_seconds), float(slots)))))


def _usable(
    observation: Observation, operator: OperatorObservation, cpu_share: float | None
) -> float:
    """Apply equation 7 to an operator's tasks, which are alike and evenly spread over the cores."""
    if observation.cores is None or cpu_share is None:
        return 1.0
    tasks = min(max(1, operator.tasks), observation.slots_in_use)
    threads = ceil(tasks / max(1, observation.cores))
    each = ThreadCpu(100.0 * cpu_share, 100.0 / threads)
    return usable_cpu(each.used, each.reserved, [each] * (threads - 1))


def _counts_waiting(observation: Observation, operator: OperatorObservation) -> bool:
    """Say whether an operator's busy time is mostly waiting: for Python workers, and for cores.

    What is estimated is a share of the JVM's task time. Where more slots run than there are cores
    that time grows with the slots, so that more slots would seem to make rows dearer.
    """
    cores = observation.cores
    return operator.estimated and cores is not None and observation.slots_in_use > cores
