"""How many tasks an operator needs, in the papers' own equations.

Rows and capacities are of one interval (the papers' iteration or td).
"""

from __future__ import annotations

from math import ceil, inf

from penstock.errors import ConfigurationError

# Quotients are off by some 1e-16; a whole task more for that would be wrong.
_ROUNDING = 1e-9


def ideal_capacity(interval_seconds: float, seconds_per_row: float) -> float:
    """Return the rows that one task can process in an interval (AutoScale+, equation 6).

    >>> ideal_capacity(10, 0.02)
    500.0
    """
    return interval_seconds / seconds_per_row if seconds_per_row > 0 else inf


def capacity(interval_seconds: float, seconds_per_row: float, usable_cpu: float = 1.0) -> float:
    """Return the rows a task can process with the CPU it can use (AutoScale+, equation 9).

    >>> capacity(10, 0.02, usable_cpu=0.4)
    200.0
    """
    return ideal_capacity(interval_seconds, seconds_per_row) * usable_cpu


def reserved_capacity(
    interval_seconds: float, seconds_per_row: float, reserved_cpu: float = 1.0, margin: float = 0.0
) -> float:
    """Return the rows a task is sure to process after a change (AutoScale+, equation 13).

    Of the CPU that is reserved, ``margin`` is left for tasks that need more than that.

    >>> reserved_capacity(10, 0.02, reserved_cpu=0.5, margin=0.2)
    200.0
    """
    return capacity(interval_seconds, seconds_per_row, reserved_cpu) * (1.0 - margin)


def ideal_parallelism(estimated_rows: float, rows_per_slot: float) -> float:
    """Return the tasks that the estimated rows need, as a fraction (AutoScale+, equation 10).

    >>> ideal_parallelism(1_300, 500)
    2.6
    """
    if estimated_rows <= 0:
        return 0.0
    return estimated_rows / rows_per_slot if rows_per_slot > 0 else inf


def parallelism(estimated_rows: float, rows_per_slot: float) -> int:
    """Return the fewest tasks that can take the estimated rows, 1 at least (equation 12).

    >>> parallelism(1_300, 500), parallelism(1_500, 500), parallelism(0, 500)
    (3, 3, 1)
    """
    ideal = ideal_parallelism(estimated_rows, rows_per_slot)
    if ideal == inf:
        raise ConfigurationError(
            f"no number of tasks takes {estimated_rows:g} rows at {rows_per_slot:g} rows a slot. "
            "Give the rows that one slot processes in the interval, more than 0."
        )
    return max(1, ceil(ideal - _ROUNDING))


def least_parallelism(current: int, beta: float = 0.8) -> float:
    """Return the lower end of the working interval (AutoScale+, equation 11).

    >>> least_parallelism(10)
    8.0
    """
    return beta * current


def working_interval(ideal: float, current: int, beta: float = 0.8) -> int:
    """Say where ``ideal`` lies: 1 above the working interval, -1 below it, 0 within.

    >>> [working_interval(ideal, current=10) for ideal in (10.1, 10.0, 8.0, 7.9)]
    [1, 0, 0, -1]
    """
    if ideal > current + _ROUNDING:
        return 1
    return -1 if ideal < least_parallelism(current, beta) - _ROUNDING else 0


def replicas(rows: float, seconds_per_row: float, interval_seconds: float) -> int:
    """Return the replicas that process these rows in an interval, 1 at least (PSPS, equation 1).

    Table II of the paper:

    >>> [replicas(rows, et, 1.0) for rows, et in ((100, 0.0166), (91, 0.025), (83, 0.1))]
    [2, 3, 9]
    """
    return parallelism(rows, ideal_capacity(interval_seconds, seconds_per_row))


def replica_utilisation(rows: float, seconds_per_row: float, interval_seconds: float) -> float:
    """Return how much of an interval a replica is busy with these rows (PSPS, equation 5).

    >>> replica_utilisation(20, 0.025, 1.0)
    0.5
    """
    return rows * seconds_per_row / interval_seconds


def saved_resources(used: float, over_provisioned: float) -> float:
    """Return the share of an over-provisioned number of replicas that was not used.

    >>> saved_resources(4, 32)
    0.875
    """
    return 1.0 - used / over_provisioned
