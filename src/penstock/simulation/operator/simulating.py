"""Simulating one operator: tuples, instances with queues, and a grouping."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.placement.cost_sketch import CostSketch
from penstock.simulation.operator.completions import Completions, ControlMessages
from penstock.simulation.operator.groupings import (
    Grouping,
    MicroBatches,
    Posg,
    RoundRobin,
)
from penstock.simulation.operator.micro_batches import in_micro_batches
from penstock.simulation.operator.posg_kernel import posg
from penstock.simulation.operator.posg_state import (
    MATRICES,
    REPLIES,
    REQUESTS,
    RUN,
    SENT,
    Floats,
    Rules,
    Whole,
    learning,
    scheduling,
)
from penstock.simulation.operator.queues import in_turn, to_the_least_loaded
from penstock.simulation.operator.tuples import Tuples


def simulate(
    tuples: Tuples, instances: int, grouping: Grouping, network_seconds: float = 0.0
) -> Completions:
    """Return when every tuple is completed, by which instance.

    A tuple is submitted when it arrives and is in its instance's queue ``network_seconds`` later;
    each instance works on its queue in order. What instances tell the scheduler takes
    ``network_seconds`` too, and is heard before a tuple that arrives at the same moment.

    >>> from penstock.simulation.operator.groupings import FullKnowledge
    >>> a_b_a = Tuples(np.arange(3.0), np.array([1, 2, 1]), np.array([10.0, 1.0, 10.0]))
    >>> float(simulate(a_b_a, 2, RoundRobin()).seconds.sum())
    29.0
    >>> float(simulate(a_b_a, 2, FullKnowledge()).seconds.sum())
    21.0
    """
    _check(tuples, instances, network_seconds)
    if isinstance(grouping, MicroBatches):
        return in_micro_batches(tuples, instances, grouping, network_seconds)
    if isinstance(grouping, Posg):
        return _by_posg(tuples, instances, grouping, network_seconds)
    seconds, chosen = np.empty(len(tuples)), np.empty(len(tuples), np.int32)
    stream = (tuples.arrival_seconds, tuples.seconds, *_periods(tuples, instances))
    if isinstance(grouping, RoundRobin):
        in_turn(*stream, network_seconds, seconds, chosen)
    else:
        from_tuple, idle_counts = grouping.from_tuple, grouping.idle_counts
        to_the_least_loaded(*stream, network_seconds, seconds, chosen, from_tuple, idle_counts)
    return Completions(seconds, chosen)


def _by_posg(tuples: Tuples, instances: int, how: Posg, network_seconds: float) -> Completions:
    sketch = CostSketch(how.epsilon, how.delta, how.seed)
    knows = scheduling(instances, sketch.rows, sketch.columns)
    seconds, chosen = np.empty(len(tuples)), np.empty(len(tuples), np.int32)
    happened = posg(
        tuples.arrival_seconds,
        _cells(sketch, tuples.keys),
        tuples.seconds,
        *_periods(tuples, instances),
        learning(instances, sketch.rows, sketch.columns),
        knows,
        _rules(how, network_seconds),
        seconds,
        chosen,
    )
    sent, requests, replies = (int(knows.numbers[at]) for at in (SENT, REQUESTS, REPLIES))
    return Completions(
        seconds,
        chosen,
        ControlMessages(
            sent, requests, replies, *(_tuples_of(happened, what) for what in (MATRICES, RUN))
        ),
    )


def _tuples_of(happened: list[tuple[int, int]], what: int) -> tuple[int, ...]:
    return tuple(number for number, kind in happened if kind == what)


def _rules(how: Posg, network_seconds: float) -> Rules:
    return Rules(
        window=how.window,
        mu=float(how.mu),
        only_if_moved=how.only_if_moved,
        alike=how.alike,
        idle_counts=how.idle_counts,
        resync_tuples=how.resync_tuples or 0,
        network_seconds=float(network_seconds),
    )


def _cells(sketch: CostSketch, keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the cells of every tuple side by side, as the kernel reads them."""
    cells = np.empty((len(keys), sketch.rows), np.int32)
    for part, found in sketch.hashes.blocks(keys.astype(np.uint64, copy=False)):
        cells[part] = found.T
    return cells


def _periods(tuples: Tuples, instances: int) -> tuple[Whole, Floats]:
    """Return where periods of other speeds begin, and the multipliers of each."""
    starts = [0, *(each.from_tuple for each in tuples.speeds)]
    multipliers = [(1.0,) * instances, *(each.multipliers for each in tuples.speeds)]
    return np.array(starts, np.int64), np.array(multipliers, np.float64)


def _check(tuples: Tuples, instances: int, network_seconds: float) -> None:
    if instances < 1:
        raise ConfigurationError(f"{instances} instances can't work. Give 1 or more.")
    if not (isfinite(network_seconds) and network_seconds >= 0):
        raise ConfigurationError(
            f"network_seconds={network_seconds} can't be. Give seconds of 0 or more."
        )
    for each in tuples.speeds:
        if len(each.multipliers) != instances:
            raise ConfigurationError(
                f"the speeds from tuple {each.from_tuple} on are of {len(each.multipliers)} "
                f"instances, not of {instances}. Give one multiplier for each instance."
            )
