"""When each row of a trace is due: whole microseconds, so nothing is ever rounded twice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.sources.trace import Trace


class Schedule:
    """The due times of the rows of a trace, in trace time since its start.

    A step's rows are spread evenly over it, the first one at its start. With ``loop`` the trace
    starts over when it ends, and row numbers and due times go on growing.

    >>> schedule = Schedule(Trace(step_micros=(1_000_000, 1_000_000), counts=(2, 4)))
    >>> schedule.due_micros(np.arange(6)).tolist()
    [0, 500000, 1000000, 1250000, 1500000, 1750000]
    >>> schedule.rows_due(1_000_000), schedule.rows_due(1_300_000), schedule.rows_due(9_000_000)
    (2, 4, 6)
    """

    def __init__(self, trace: Trace, loop: bool = False) -> None:
        self._loop = loop
        self._step_micros = np.array(trace.step_micros, dtype=np.int64)
        self._counts = np.array(trace.counts, dtype=np.int64)
        self._edges_micros = np.concatenate(([0], np.cumsum(self._step_micros)))
        self._rows_before = np.concatenate(([0], np.cumsum(self._counts)))
        self.duration_micros = int(self._edges_micros[-1])
        self.rows_per_pass = int(self._rows_before[-1])

    def rows_due(self, elapsed_micros: int) -> int:
        """Count the rows that came due before ``elapsed_micros`` of trace time.

        At the end of a step this is exactly the count of all steps so far.
        """
        if elapsed_micros <= 0:
            return 0
        if self._loop:
            passes, within = divmod(elapsed_micros, self.duration_micros)
        else:
            passes, within = 0, min(elapsed_micros, self.duration_micros)
        return passes * self.rows_per_pass + self._rows_due_in_pass(within)

    def _rows_due_in_pass(self, within_micros: int) -> int:
        step = int(np.searchsorted(self._edges_micros, within_micros, side="left")) - 1
        if step < 0:
            return 0
        into_step = within_micros - int(self._edges_micros[step])
        # Row j of the step is due at floor(length * j / count), before `into_step` exactly when
        # j < into_step * count / length: so as many as that, rounded up.
        due = -(-into_step * int(self._counts[step]) // int(self._step_micros[step]))
        return int(self._rows_before[step]) + due

    def due_micros(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the due time of each row number, in trace time.

        Row numbers must be from 0, and below ``rows_per_pass`` unless the schedule loops.
        """
        passes, within = np.divmod(rows, self.rows_per_pass)
        step = np.searchsorted(self._rows_before, within, side="right") - 1
        within -= self._rows_before[step]
        within *= self._step_micros[step]
        within //= self._counts[step]
        within += self._edges_micros[step]
        within += passes * self.duration_micros
        return within

    def end_of_pass(self, row: int) -> int:
        """Give the row number at which the pass that ``row`` belongs to ends.

        A row number at the very end of a pass is already there: nothing is left of that pass.

        >>> schedule = Schedule(Trace(step_micros=(1_000_000,), counts=(10,)), loop=True)
        >>> [schedule.end_of_pass(row) for row in (0, 4, 10, 11)]
        [10, 10, 10, 20]
        """
        if not self._loop:
            return self.rows_per_pass
        return max(1, -(-row // self.rows_per_pass)) * self.rows_per_pass

    def is_over(self, elapsed_micros: int) -> bool:
        """Say whether no more rows will ever come due after ``elapsed_micros``."""
        return not self._loop and elapsed_micros >= self.duration_micros
