"""Checks that a policy of one's own decides what can be carried out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy

from penstock.arguments import checked
from penstock.elasticity.decision import Decision, Policy, StatefulPolicy
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.settings import whole

MOST_BATCHES = 100_000


@checked
def check_policy(make: Callable[[], Policy], *, batches: int = 50, seed: int = 0) -> None:
    """Fail unless a policy keeps what every policy promises, over a load that rises and falls.

    Each decision is a ``Decision`` with at least one slot, with no more tasks for an operator than
    slots, and with a reason; the observation stays as it was. The same observations lead to the
    same decisions. One with ``save`` and ``load`` goes on after them as if nothing had happened,
    and what it saves is JSON.

    Parameters
    ----------
    make
        Makes a policy: its class, or a function. It is called a few times.
    batches
        How many observations it is shown.
    seed
        Which ones.

    Examples
    --------
    >>> import penstock as ps
    >>> check_policy(lambda: ps.AutoScalePlus(interval=1))
    >>> class Never:
    ...     def decide(self, observation):
    ...         return None
    >>> check_policy(Never)
    Traceback (most recent call last):
        ...
    AssertionError: after batch 0 the policy returned None; return Decision(slots, reason)

    """
    whole("check_policy", "batches", batches, least=0, most=MOST_BATCHES)
    history = _history(batches, int(seed))
    policy = make()
    assert isinstance(policy, Policy), f"{type(policy).__name__} has no decide(observation)"
    decisions = []
    for observation in history:
        before = deepcopy(observation)
        decision = policy.decide(observation)
        _check_decision(decision, observation)
        assert observation == before, f"the observation of batch {before.batch_id} was changed"
        decisions.append(decision)
    again = make()
    assert [again.decide(each) for each in history] == decisions, (
        "the same observations led to other decisions; take a seed, and the time from at_seconds"
    )
    if isinstance(policy, StatefulPolicy):
        _check_saved(make, history, decisions)


def _check_decision(decision: object, observation: Observation) -> None:
    where = f"after batch {observation.batch_id}"
    assert isinstance(decision, Decision), (
        f"{where} the policy returned {decision!r}; return Decision(slots, reason)"
    )
    for name, tasks in decision.tasks.items():
        assert tasks <= decision.slots, (
            f"{where} '{name}' gets {tasks} tasks, and there are {decision.slots} slots"
        )
    assert decision.reason.strip(), f"{where} the decision has no reason"


def _check_saved(
    make: Callable[[], Policy], history: list[Observation], decisions: list[Decision]
) -> None:
    half = len(history) // 2
    one, other = make(), make()
    assert isinstance(one, StatefulPolicy)
    assert isinstance(other, StatefulPolicy)
    for observation in history[:half]:
        one.decide(observation)
    other.load(json.loads(json.dumps(one.save(), allow_nan=False)))
    after = [other.decide(each) for each in history[half:]]
    assert after == decisions[half:], (
        "a policy that was saved and loaded decides otherwise; put all that it learnt into save()"
    )


def _history(batches: int, seed: int) -> list[Observation]:
    """Return a made-up run: rows that rise and fall, idle batches, a slot that is lost."""
    dice = random.Random(seed)
    at_seconds, rate = 1_700_000_000.0, 1_000.0
    history = []
    for batch in range(batches):
        rate = min(max(rate * dice.uniform(0.6, 1.7), 10.0), 50_000.0)
        rows = 0 if batch % 7 == 3 else round(rate * dice.uniform(0.8, 1.2))
        slots = dice.randint(1, 8)
        busy_seconds = rows * dice.uniform(0.8, 1.2) / 2_000
        batch_seconds = 0.2 + busy_seconds / slots
        at_seconds += max(batch_seconds, 2.0)
        history.append(
            Observation(
                batch_id=batch,
                at_seconds=at_seconds,
                batch_seconds=batch_seconds,
                trigger_seconds=2.0,
                slots=slots,
                operators=(
                    _operator("parse", rows, rows, busy_seconds, slots, ()),
                    _operator("keep", rows, rows // 3, busy_seconds / 4, slots, ("parse",)),
                ),
                sources=(SourceObservation("source", rows, dice.choice([None, rows // 2])),),
                most_slots=8,
            )
        )
    return history


def _operator(
    name: str, rows_in: int, rows_out: int, busy: float, tasks: int, inputs: tuple[str, ...]
) -> OperatorObservation:
    return OperatorObservation(
        name,
        rows_in,
        rows_out,
        busy_seconds=busy,
        tasks=tasks,
        slowest_task_seconds=1.3 * busy / tasks,
        mean_task_seconds=busy / tasks,
        inputs=inputs,
    )
