"""What was measured in one monitoring iteration, as AutoScale+ reads it."""

from __future__ import annotations

from math import ceil

import numpy as np

from penstock.elasticity.capacity import ThreadCpu, operator_usable_cpu
from penstock.elasticity.forecast import best_regression
from penstock.elasticity.forecast.curve import Floats
from penstock.elasticity.observation import Observation, OperatorObservation

# Lengths of samples are sums of floats: an iteration is not to last a sample more for that.
_ROUNDING = 1e-6


class Iteration:
    """The samples of one iteration, and what section 4.1's equations make of them.

    Every observation added is one sample, m_p in the paper. A row counts as received when it enters
    the operator's queue, so that rows held up there are no fewer rows that come; an operator that
    does not tell has no queue, and received what it took in.

    >>> iteration = Iteration()
    >>> for second, rows in enumerate((100, 110, 120), start=1):
    ...     parse = OperatorObservation("parse", rows, rows, rows * 0.02, 4, 0.0, 0.0)
    ...     iteration.add(Observation(second, float(second), 1.0, None, 4, (parse,)))
    >>> iteration.seconds, iteration.seconds_per_row("parse")
    (3.0, 0.02)
    >>> round(iteration.expected_rows("parse"), 6)  # 130, 140 and 150
    420.0
    """

    def __init__(self) -> None:
        self._seen: list[Observation] = []
        self._samples: dict[str, list[OperatorObservation]] = {}

    @property
    def seconds(self) -> float:
        """How long its samples are, together."""
        return sum(each.batch_seconds for each in self._seen)

    @property
    def operators(self) -> dict[str, tuple[str, ...]]:
        """What was observed, by name, with what each reads of it."""
        names = {each.name for each in self._seen[-1].operators}
        return {
            each.name: tuple(parent for parent in each.inputs if parent in names)
            for each in self._seen[-1].operators
        }

    def is_over(self, iteration_seconds: float) -> bool:
        """Say whether it has lasted as long as an iteration should."""
        return self.seconds >= iteration_seconds - _ROUNDING

    def add(self, seen: Observation) -> None:
        """Take in the next sample."""
        self._seen.append(seen)
        for each in seen.operators:
            self._samples.setdefault(each.name, []).append(each)

    def waiting_rows(self) -> dict[str, float]:
        """Return the rows that wait at each operator in the end (pending)."""
        return {each.name: float(each.waiting_rows) for each in self._seen[-1].operators}

    def expected_rows(self, operator: str) -> float:
        """Return the rows that it will receive in the next iteration, as long as this (EstimR, 3).

        The best of three curves through the samples is followed, and never below 0.
        """
        lengths = np.array([each.batch_seconds for each in self._seen])
        ends = np.cumsum(lengths)
        curve = best_regression(ends, self._received(operator) / lengths)
        following = zip(ends + ends[-1], lengths, strict=True)
        return sum(max(0.0, curve.rate_at(float(end))) * float(each) for end, each in following)

    def _received(self, operator: str) -> Floats:
        return np.array([float(_received(each)) for each in self._samples[operator]])

    def rows_per_row(self, parent: str, child: str) -> float | None:
        """Return how many rows the child received per row that the parent took in.

        That is the parent's mean selectivity (the paper's alpha), of what it hands to this child.
        None where the parent took in nothing.
        """
        came = sum(each.rows_in for each in self._samples[parent])
        if not came:
            return None
        if not self._samples[child][-1].received_rows:
            return sum(each.rows_out for each in self._samples[parent]) / came
        at = self._samples[child][-1].inputs.index(parent)
        return sum(each.received_rows[at] for each in self._samples[child]) / came

    def seconds_per_row(self, operator: str) -> float | None:
        """Return the processing latency of a row (Lat); None where none was processed."""
        samples = self._samples[operator]
        rows = sum(each.rows_in for each in samples)
        busy = sum(each.busy_seconds for each in samples)
        return busy / rows if rows and busy > 0 else None

    def usable_cpu(self, operator: str, reserved: float) -> float:
        """Return the share of a core that each of its executors can use (equations 7 and 8).

        Executors are spread evenly over the cores; ``reserved`` is the share of a core that each
        has for sure. Where nobody counts the cores, each executor has its own.
        """
        last = self._seen[-1]
        executors = sum(each.tasks for each in last.operators)
        crowd = 1 if last.cores is None else ceil(executors / max(1, last.cores))
        everybody = sum(sum(e.busy_seconds for e in each) for each in self._samples.values())
        busy = sum(each.busy_seconds for each in self._samples[operator])
        tasks = max(1, self._samples[operator][-1].tasks)
        per_executor = 100.0 / self.seconds
        thread = ThreadCpu(busy / tasks * per_executor, 100.0 * reserved)
        usual = ThreadCpu(everybody / max(1, executors) * per_executor, 100.0 * reserved)
        return operator_usable_cpu([(thread, [usual] * (crowd - 1))])


def _received(sample: OperatorObservation) -> int:
    return sum(sample.received_rows) if sample.received_rows else sample.rows_in
