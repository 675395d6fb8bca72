"""Proactive online shuffle grouping (POSG, section III): two state machines, tuple by tuple.

Each instance of an operator learns what its tuples cost and sends its sketch to the scheduler when
that no longer changes. The scheduler gives every tuple to the instance with the least work, by its
own estimates, which it corrects whenever a new sketch comes: it asks every instance how far the
estimate of its work is off, and waits for all answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import numpy as np

from penstock.errors import ConfigurationError
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.count_min import Amounts
from penstock.placement.posg_messages import Matrices, Reply, Request, Submission

__all__ = [
    "Instance",
    "InstanceState",
    "Matrices",
    "Reply",
    "Request",
    "Scheduler",
    "SchedulerState",
    "Submission",
]

_ALL_BITS = (1 << 64) - 1


class InstanceState(Enum):
    """Where an instance is on its way to a sketch worth sending (figure 2)."""

    START = auto()
    STABILIZING = auto()


class SchedulerState(Enum):
    """How the scheduler chooses instances, and what it waits for (figure 3)."""

    ROUND_ROBIN = auto()
    SEND_ALL = auto()
    WAIT_ALL = auto()
    RUN = auto()


class Instance:
    """One of the parallel instances of an operator.

    Every ``window`` tuples it looks whether its costs moved by more than ``mu`` in that time, as a
    share of the whole (equation 1). If not, it sends its sketch and begins a new one. With
    ``only_if_moved`` it keeps a sketch to itself that is within ``mu`` of the one it sent last.
    That saves messages; it is off because every sketch also makes the scheduler correct its loads,
    which drift away from the truth otherwise.

    With ``idle_counts`` it answers with the time at which it was done, and not with the time it
    worked. The scheduler's loads are then when instances will be free, and one that had to wait
    for tuples does not look as if it had room for more. The paper's text has the time worked; the
    authors' code the time at which it was done.

    >>> instance = Instance(0, window=2)
    >>> [len(instance.execute(7, seconds=0.5)) for _ in range(4)]
    [0, 0, 0, 1]
    """

    def __init__(
        self,
        number: int,
        window: int = 1024,
        mu: float = 0.05,
        epsilon: float = 0.05,
        delta: float = 0.1,
        seed: int = 0,
        only_if_moved: bool = False,
        idle_counts: bool = False,
    ) -> None:
        if window < 1 or not mu >= 0:
            raise ConfigurationError(
                f"an instance can't have window={window} and mu={mu}. "
                "Give a window of 1 tuple or more, and mu of 0 or more."
            )
        self.number = number
        self.window = window
        self.mu = mu
        self.only_if_moved = only_if_moved
        self.idle_counts = idle_counts
        self.state = InstanceState.START
        self.worked_seconds = 0.0
        self._empty = CostSketch(epsilon, delta, seed)
        self._sketch = self._empty.copy()
        self._snapshot = self._sketch.snapshot()
        self._sent: Amounts | None = None
        self._keys: list[int] = []
        self._seconds: list[float] = []

    def execute(
        self,
        key: int,
        seconds: float,
        request: Request | None = None,
        done_seconds: float | None = None,
    ) -> list[Matrices | Reply]:
        """Learn that a tuple took so long; return what the scheduler must be told.

        ``done_seconds`` is when it was done, by a clock that began with the stream. It is needed
        for a request where idle time counts.
        """
        self.worked_seconds += seconds
        self._keys.append(key & _ALL_BITS)
        self._seconds.append(seconds)
        messages: list[Matrices | Reply] = []
        if request is not None:
            difference = self._spent(done_seconds) - request.estimated_seconds
            messages.append(Reply(self.number, request.epoch, difference))
        # Nobody looks at the matrices before the window is full, so they are updated all at once.
        if len(self._keys) == self.window:
            self._sketch.update(np.array(self._keys, np.uint64), np.array(self._seconds))
            self._keys, self._seconds = [], []
            messages += self._at_the_end_of_a_window()
        return messages

    def _spent(self, done_seconds: float | None) -> float:
        if not self.idle_counts:
            return self.worked_seconds
        if done_seconds is None:
            raise ConfigurationError(
                f"instance {self.number} counts idle time but was not told the time. "
                "Give execute() done_seconds."
            )
        return done_seconds

    def _at_the_end_of_a_window(self) -> list[Matrices | Reply]:
        if self.state is InstanceState.START or self._sketch.distance(self._snapshot) > self.mu:
            self._snapshot = self._sketch.snapshot()
            self.state = InstanceState.STABILIZING
            return []
        stable, self._sketch = self._sketch, self._empty.copy()
        self.state = InstanceState.START
        known = self._sent is not None and stable.distance(self._sent) <= self.mu
        if self.only_if_moved and known:
            return []
        self._sent = stable.snapshot()
        return [Matrices(self.number, stable)]


class Scheduler:
    """Gives every tuple to one of ``instances``, in turn until it knows what tuples cost.

    Its ``epsilon``, ``delta`` and ``seed`` must be those of the instances. ``loads`` are the
    seconds of work each instance was given, by its estimates. Each instance has estimates of its
    own, because it may be faster or slower than others. Where all are ``alike``, one estimate for
    all of them is better: the small sample that each instance saw makes it look a little slower
    or faster than it is, and its load drifts away by that much with every tuple.

    With ``resync_tuples`` it also asks for corrections after running for so many tuples with no
    news, as the authors' code does after N k tuples. The paper's text has it ask only when matrices
    come, and matrices that are seldom stable come seldom.

    >>> scheduler = Scheduler(instances=2)
    >>> [scheduler.submit(7).instance for _ in range(3)]
    [0, 1, 0]
    """

    def __init__(
        self,
        instances: int,
        epsilon: float = 0.05,
        delta: float = 0.1,
        seed: int = 0,
        alike: bool = False,
        resync_tuples: int | None = None,
    ) -> None:
        if instances < 1:
            raise ConfigurationError(f"{instances} instances can't work. Give 1 or more.")
        if resync_tuples is not None and resync_tuples < 1:
            raise ConfigurationError(
                f"a scheduler can't ask every {resync_tuples} tuples. Give 1 or more, or None."
            )
        self.instances = instances
        self.alike = alike
        self.resync_tuples = resync_tuples
        self.state = SchedulerState.ROUND_ROBIN
        self.epoch = 0
        self.loads = [0.0] * instances
        self.hashes = CostSketch(epsilon, delta, seed).hashes
        self._sketches: dict[int, CostSketch] = {}
        self._costs: list[_Costs] = []
        self._turn = 0
        self._to_ask = 0
        self._running_tuples = 0
        self._differences: dict[int, float] = {}

    def submit(self, key: int, cells: Sequence[int] | None = None) -> Submission:
        """Choose the instance for a tuple (listing III.2).

        ``cells`` saves the hashing where ``hashes`` gave the cells of many keys at once.
        """
        if self.state is SchedulerState.RUN and self.resync_tuples is not None:
            self._running_tuples += 1
            if self._running_tuples >= self.resync_tuples:
                self._ask_all()
        if self.state is SchedulerState.ROUND_ROBIN:
            return Submission(self._next_in_turn(), None)
        if self.state is SchedulerState.SEND_ALL:
            instance = self._next_in_turn()
        else:
            instance = self.loads.index(min(self.loads))
        cells = self.hashes.cells_of(key) if cells is None else cells
        self.loads[instance] += self._costs[instance].of(cells)
        if self.state is not SchedulerState.SEND_ALL:
            return Submission(instance, None)
        self._to_ask -= 1
        if not self._to_ask:
            self.state = SchedulerState.WAIT_ALL
        return Submission(instance, Request(self.epoch, self.loads[instance]))

    def receive(self, message: Matrices | Reply) -> None:
        """Take a message of an instance."""
        if message.instance not in range(self.instances):
            raise ConfigurationError(
                f"there is no instance {message.instance} of {self.instances}. "
                "Number the instances from 0."
            )
        if isinstance(message, Matrices):
            self._take_matrices(message)
        elif message.epoch == self.epoch:
            self._differences[message.instance] = message.difference_seconds
            self._run_if_all_replied()

    def _take_matrices(self, message: Matrices) -> None:
        if message.sketch.hashes != self.hashes:
            raise ConfigurationError(
                f"instance {message.instance} sent a sketch of {message.sketch.hashes}, the "
                f"scheduler has {self.hashes}. Give all of them the same epsilon, delta and seed."
            )
        self._sketches[message.instance] = message.sketch
        if len(self._sketches) == self.instances:
            self._costs = self._estimators()
            self._ask_all()

    def _ask_all(self) -> None:
        self.epoch += 1
        self._differences = {}
        self._to_ask = self.instances
        self.state = SchedulerState.SEND_ALL

    def _estimators(self) -> list[_Costs]:
        """Return what estimates the costs on each instance."""
        if not self.alike:
            return [_Costs(self._sketches[instance]) for instance in range(self.instances)]
        together = self._sketches[0].copy()
        for instance in range(1, self.instances):
            together.merge(self._sketches[instance])
        return [_Costs(together)] * self.instances

    def _run_if_all_replied(self) -> None:
        if self.state is SchedulerState.WAIT_ALL and len(self._differences) == self.instances:
            for instance, difference in self._differences.items():
                self.loads[instance] += difference
            self._differences = {}
            self._running_tuples = 0
            self.state = SchedulerState.RUN

    def _next_in_turn(self) -> int:
        instance = self._turn
        self._turn = (instance + 1) % self.instances
        return instance


class _Costs:
    """A sketch as lists, which give up single numbers faster than arrays do."""

    __slots__ = ("_counts", "_mean", "_ratios")

    def __init__(self, sketch: CostSketch) -> None:
        self._counts: list[list[float]] = sketch.counts.tolist()
        self._ratios: list[list[float]] = sketch.snapshot().tolist()
        self._mean = sketch.mean

    def of(self, cells: Sequence[int]) -> float:
        """Return the estimate of ``CostSketch.estimate`` for a key in these cells."""
        fewest, ratio = np.inf, self._mean
        for row, column in enumerate(cells):
            count = self._counts[row][column]
            if count < fewest:
                fewest, ratio = count, self._ratios[row][column]
        return ratio if fewest else self._mean
