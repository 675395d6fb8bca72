"""Several policies against one recorded load, and which of them to take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.elasticity.decision import Policy
from penstock.elasticity.static import Static
from penstock.replay.arrivals import arrivals_of
from penstock.replay.batches import Conditions, Replayed
from penstock.replay.model import replay
from penstock.replay.recording import Recording
from penstock.replay.work import Work, work_of

SLOTS_UNTOLD = 4
_MORE_BEHIND = 0.01
_SAME_COST = 0.02
_HOUR = 3_600.0


@dataclass(frozen=True, slots=True)
class Given:
    """What the user says of a replay; None is for what the log shall tell, or a usual choice."""

    slots_then: int | None = None
    least_slots: int = 1
    most_slots: int | None = None
    trigger_seconds: float | None = None
    executor_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one policy."""

    policy: str
    replayed: Replayed

    @property
    def slot_hours(self) -> float:
        """What it cost."""
        return self.replayed.slot_seconds / _HOUR


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The policy to take, and a sentence that says why."""

    policy: str
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """All policies against one recorded run; ``slots_assumed``: the log did not tell its slots."""

    recording: Recording
    work: Work
    conditions: Conditions
    slots_then: int
    slots_assumed: bool
    outcomes: tuple[Outcome, ...]
    recommendation: Recommendation


def as_it_was(slots_then: int) -> str:
    """Name the policy that the recorded run had: as many slots all the time."""
    return f"static:{slots_then}"


def slots_of(recording: Recording, given: Given) -> tuple[int, bool]:
    """Return how many slots the recorded run had, and whether that is only assumed."""
    if given.slots_then is not None:
        return given.slots_then, False
    told = [batch.slots for batch in recording.batches if batch.slots is not None]
    return (max(told), False) if told else (SLOTS_UNTOLD, True)


def conditions_of(recording: Recording, given: Given) -> Conditions:
    """Put together what a replay of this recording is made under."""
    slots_then, _ = slots_of(recording, given)
    most = given.most_slots or max(2 * slots_then, given.least_slots)
    trigger = given.trigger_seconds or recording.trigger_seconds
    return Conditions(
        least_slots=given.least_slots,
        most_slots=most,
        start_slots=max(given.least_slots, min(slots_then, most)),
        trigger_seconds=trigger,
        limit_seconds=trigger or recording.limit_seconds,
        ended_seconds=recording.ended_seconds,
        executor_seconds=given.executor_seconds,
        tells_waiting=any(batch.waiting_rows is not None for batch in recording.batches),
    )


def try_policy(
    recording: Recording,
    name: str,
    policy: Policy,
    given: Given,
    on_batch: Callable[[float], object] = lambda share: None,
) -> Outcome:
    """Replay a recording with one policy; ``on_batch`` is told how much of it is done."""
    slots_then, _ = slots_of(recording, given)
    arrivals, work = arrivals_of(recording), work_of(recording, slots_then)
    conditions = _wide_enough(conditions_of(recording, given), policy)
    return Outcome(name, replay(arrivals, work, policy, conditions, on_batch))


def _wide_enough(conditions: Conditions, policy: Policy) -> Conditions:
    """Let a fixed number of slots be what it is: held to bounds it would be another one."""
    if not isinstance(policy, Static) or policy.slots is None:
        return conditions
    return replace(
        conditions,
        least_slots=min(conditions.least_slots, policy.slots),
        most_slots=max(conditions.most_slots, policy.slots),
    )


def compare(recording: Recording, outcomes: Sequence[Outcome], given: Given) -> Comparison:
    """Put what came of each policy side by side, and recommend one."""
    slots_then, assumed = slots_of(recording, given)
    conditions = conditions_of(recording, given)
    return Comparison(
        recording=recording,
        work=work_of(recording, slots_then),
        conditions=conditions,
        slots_then=slots_then,
        slots_assumed=assumed,
        outcomes=tuple(outcomes),
        recommendation=recommend(
            outcomes,
            conditions,
            as_it_was(slots_then),
            may_stay=conditions.least_slots <= slots_then <= conditions.most_slots,
        ),
    )


def recommend(
    outcomes: Sequence[Outcome], conditions: Conditions, before: str, *, may_stay: bool = True
) -> Recommendation:
    """Take the cheapest policy of those that were behind no longer than any must be.

    A hundredth of the time more than the best counts as no longer. Of policies that cost about the
    same, it is the one that was behind least. Unless it ``may_stay`` as it was, with slots that the
    user rules out from now on, that is only taken where nothing else was tried.
    """
    allowed = [each for each in outcomes if may_stay or each.policy != before] or outcomes
    least = min(allowed, key=lambda each: each.replayed.behind_seconds)
    seconds = max(conditions.ended_seconds, least.replayed.ended_seconds)
    slack = _MORE_BEHIND * (seconds - least.replayed.timeline[0][0])
    keeping_up = [
        each
        for each in allowed
        if each.replayed.behind_seconds <= least.replayed.behind_seconds + slack
    ]
    cheapest = min(each.slot_hours for each in keeping_up)
    best = min(
        (each for each in keeping_up if each.slot_hours <= cheapest * (1 + _SAME_COST)),
        key=lambda each: (each.replayed.behind_seconds, each.slot_hours),
    )
    found = next((each for each in outcomes if each.policy == before), None)
    return Recommendation(best.policy, f"{_cost(best, found)} {_service(best, found)}")


def _cost(best: Outcome, before: Outcome | None) -> str:
    hours = f"{best.policy} takes {best.slot_hours:.2f} slot-hours"
    if before is None:
        return f"{hours}, the least of those that keep up."
    if best.policy == before.policy:
        return f"{hours} as it was, and none of the others keeps up with fewer."
    less = 1 - best.slot_hours / before.slot_hours
    change = f"{less:.0%} less" if less >= 0 else f"{-less:.0%} more"
    return f"{hours}, {change} than the {before.slot_hours:.2f} of {before.policy}, as it was."


def _service(best: Outcome, before: Outcome | None) -> str:
    it = best.replayed
    was = ""
    if before is not None and before.policy != best.policy:
        was = f" instead of {before.replayed.behind_seconds:.0f} s"
    return (
        f"It is behind for {it.behind_seconds:.0f} s{was}; 95 % of the rows are done within "
        f"{it.p95_latency_seconds:.1f} s."
    )
