"""POSG tuple by tuple, compiled: the state machines of ``placement/posg.py`` to the last bit."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from penstock.compiling import compiled
from penstock.placement.cell_hashes import BLOCK_KEYS
from penstock.simulation.operator.matrices import add, clear, distance, fill_ratios, move
from penstock.simulation.operator.posg_state import (
    EPOCH,
    KNOWN,
    MATRICES,
    REPLIED,
    REPLIES,
    REPLY,
    REQUESTS,
    ROUND_ROBIN,
    RUN,
    SEND_ALL,
    SENT,
    SINCE_RUN,
    STATE,
    TO_ASK,
    TURN,
    WAIT_ALL,
    Floats,
    Learning,
    Rules,
    Scheduling,
    Whole,
)
from penstock.simulation.operator.summing import pairwise_sum

_NO_EPOCH = -1
# When it arrives, in which order it was sent, what it is, from whom, which pair, epoch, value.
Message = tuple[float, int, int, int, int, int, float]


@compiled
def _sends(learning: Learning, at: int, rules: Rules) -> bool:
    """End a window; say whether the matrices are to be sent, which then are to be reset."""
    now, before = learning.ratios[at], learning.snapshot[at]
    move(learning.recent_counts[at], learning.counts[at])
    move(learning.recent_costs[at], learning.costs[at])
    fill_ratios(learning.counts[at], learning.costs[at], now)
    learning.executed[at] = 0
    if not learning.stabilizing[at] or distance(before, now) > rules.mu:
        clear(before)
        add(now, before)
        learning.stabilizing[at] = True
        return False
    learning.stabilizing[at] = False
    known = learning.has_sent[at] and distance(learning.sent[at], now) <= rules.mu
    if rules.only_if_moved and known:
        clear(learning.counts[at])
        clear(learning.costs[at])
        return False
    learning.has_sent[at] = True
    clear(learning.sent[at])
    add(now, learning.sent[at])
    return True


@compiled
def _estimator(scheduling: Scheduling, at: int) -> None:
    counts, costs = scheduling.estimated_counts[at], scheduling.estimated_costs[at]
    fill_ratios(counts, costs, scheduling.ratios[at])
    rows = pairwise_sum(counts[0])
    scheduling.means[at] = pairwise_sum(costs[0]) / rows if rows else 0.0


@compiled
def _ask_all(scheduling: Scheduling) -> None:
    numbers = scheduling.numbers
    numbers[EPOCH] += 1
    numbers[REPLIED] = 0
    for each in range(len(scheduling.loads)):
        scheduling.has_replied[each] = False
    numbers[TO_ASK] = len(scheduling.loads)
    numbers[STATE] = SEND_ALL


@compiled
def _take_matrices(scheduling: Scheduling, at: int, pair: Floats, alike: bool) -> None:
    """Estimate by new matrices, which are used up; of instances that are alike by all together."""
    numbers, instances = scheduling.numbers, len(scheduling.loads)
    clear(scheduling.counts[at])
    clear(scheduling.costs[at])
    move(pair[0], scheduling.counts[at])
    move(pair[1], scheduling.costs[at])
    if not scheduling.is_known[at]:
        scheduling.is_known[at] = True
        numbers[KNOWN] += 1
    place = 0 if alike else at
    clear(scheduling.estimated_counts[place])
    clear(scheduling.estimated_costs[place])
    for other in range(0 if alike else at, instances if alike else at + 1):
        add(scheduling.counts[other], scheduling.estimated_counts[place])
        add(scheduling.costs[other], scheduling.estimated_costs[place])
    _estimator(scheduling, place)
    if numbers[KNOWN] == instances:
        _ask_all(scheduling)


@compiled
def _take_reply(scheduling: Scheduling, at: int, epoch: int, difference: float) -> None:
    numbers, instances = scheduling.numbers, len(scheduling.loads)
    if epoch != numbers[EPOCH]:
        return
    if not scheduling.has_replied[at]:
        scheduling.has_replied[at] = True
        numbers[REPLIED] += 1
    scheduling.differences[at] = difference
    if numbers[STATE] == WAIT_ALL and numbers[REPLIED] == instances:
        for each in range(instances):
            scheduling.loads[each] += scheduling.differences[each]
            scheduling.has_replied[each] = False
        numbers[REPLIED] = 0
        numbers[SINCE_RUN] = 0
        numbers[STATE] = RUN


# Called for every tuple, these take just the arrays they need: counting references to all the
# arrays of a machine would take longer than the work.


@compiled
def _submit(
    numbers: Whole,
    loads: Floats,
    counts: Floats,
    ratios: Floats,
    means: Floats,
    cells: NDArray[np.int32],
    number: int,
    alike: bool,
) -> tuple[int, int]:
    """Choose an instance; return it and the epoch of the request that goes with the tuple."""
    state, instances = numbers[STATE], len(loads)
    if state in (ROUND_ROBIN, SEND_ALL):
        at = numbers[TURN]
        numbers[TURN] = (at + 1) % instances
        if state == ROUND_ROBIN:
            return at, _NO_EPOCH
    else:
        at = 0
        for other in range(1, instances):
            if loads[other] < loads[at]:
                at = other
    by = 0 if alike else at
    fewest, ratio = np.inf, means[by]
    for row in range(cells.shape[1]):
        count = counts[by, row, cells[number, row]]
        if count < fewest:
            fewest, ratio = count, ratios[by, row, cells[number, row]]
    loads[at] += ratio if fewest != 0.0 else means[by]
    if state != SEND_ALL:
        return at, _NO_EPOCH
    numbers[TO_ASK] -= 1
    numbers[REQUESTS] += 1
    if numbers[TO_ASK] == 0:
        numbers[STATE] = WAIT_ALL
    return at, numbers[EPOCH]


@compiled
def _learn(
    counts: Floats, costs: Floats, at: int, cells: NDArray[np.int32], number: int, cost: float
) -> None:
    for row in range(cells.shape[1]):
        counts[at, row, cells[number, row]] += 1.0
        costs[at, row, cells[number, row]] += cost


@compiled
def _end_block(learning: Learning, at: int) -> None:
    """Take in tuples before their window ends, where a sketch would, for the same roundings."""
    move(learning.recent_counts[at], learning.counts[at])
    move(learning.recent_costs[at], learning.costs[at])


@compiled
def _packed(learning: Learning, at: int, pairs: list[Floats], unused: list[int]) -> int:
    """Put the matrices of an instance, which begins anew, where they are kept on their way."""
    if not unused:
        unused.append(len(pairs))
        pairs.append(np.zeros((2, learning.counts.shape[1], learning.counts.shape[2])))
    pair = unused.pop()
    move(learning.counts[at], pairs[pair][0])
    move(learning.costs[at], pairs[pair][1])
    return pair


@compiled
def _deliver(
    now: float,
    number: int,
    on_the_way: list[Message],
    pairs: list[Floats],
    unused: list[int],
    scheduling: Scheduling,
    alike: bool,
    happened: list[tuple[int, int]],
) -> None:
    """Let the scheduler hear all that has arrived by now."""
    while on_the_way and on_the_way[0][0] <= now:
        _, _, kind, sender, pair, epoch, value = heappop(on_the_way)
        before = scheduling.numbers[STATE]
        if kind == MATRICES:
            _take_matrices(scheduling, sender, pairs[pair], alike)
            unused.append(pair)
            happened.append((number, MATRICES))
        else:
            _take_reply(scheduling, sender, epoch, value)
        if before != RUN and scheduling.numbers[STATE] == RUN:
            happened.append((number, RUN))


@compiled
def posg(
    arrivals: Floats,
    cells: NDArray[np.int32],
    seconds: Floats,
    starts: Whole,
    multipliers: Floats,
    learning: Learning,
    scheduling: Scheduling,
    rules: Rules,
    completions: Floats,
    chosen: NDArray[np.int32],
) -> list[tuple[int, int]]:
    """Fill in every tuple's completion time and instance.

    Returns before which tuples the scheduler took MATRICES, or began to RUN.
    """
    numbers, loads, delay, period = scheduling.numbers, scheduling.loads, rules.network_seconds, 0
    counts, ratios, means = scheduling.estimated_counts, scheduling.ratios, scheduling.means
    recent_counts, recent_costs = learning.recent_counts, learning.recent_costs
    free, worked, executed = learning.free, learning.worked, learning.executed
    happened = [(0, 0) for _ in range(0)]
    pairs = [learning.counts[:2] for _ in range(0)]  # matrices on their way
    unused = [0 for _ in range(0)]
    on_the_way = [(0.0, 0, 0, 0, 0, 0, 0.0) for _ in range(0)]
    for number in range(len(seconds)):
        now = arrivals[number]
        if on_the_way and on_the_way[0][0] <= now:
            _deliver(now, number, on_the_way, pairs, unused, scheduling, rules.alike, happened)
        while period + 1 < len(starts) and starts[period + 1] <= number:
            period += 1
        if rules.resync_tuples and numbers[STATE] == RUN:
            numbers[SINCE_RUN] += 1
            if numbers[SINCE_RUN] >= rules.resync_tuples:
                _ask_all(scheduling)
        at, epoch = _submit(numbers, loads, counts, ratios, means, cells, number, rules.alike)
        cost = seconds[number] * multipliers[period, at]
        done = max(free[at], now + delay) + cost
        free[at] = done
        completions[number], chosen[number] = done - now, at
        worked[at] += cost
        executed[at] += 1
        _learn(recent_counts, recent_costs, at, cells, number, cost)
        if epoch != _NO_EPOCH:
            value = (done if rules.idle_counts else worked[at]) - loads[at]
            heappush(on_the_way, (done + delay, 2 * number, REPLY, at, 0, epoch, value))
            numbers[REPLIES] += 1
        if executed[at] % BLOCK_KEYS == 0:
            _end_block(learning, at)
        if executed[at] == rules.window and _sends(learning, at, rules):
            pair = _packed(learning, at, pairs, unused)
            heappush(on_the_way, (done + delay, 2 * number + 1, MATRICES, at, pair, 0, 0.0))
            numbers[SENT] += 1
    return happened
