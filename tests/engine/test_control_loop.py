"""The loop that asks the policy: order, patience, faults, and what a restart takes up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static
from penstock.engine import control_loop
from penstock.engine.control_loop import ControlLoop, Remembered
from penstock.journal.events import DecisionMade, FaultSeen, ForecastMade, KnownEvent


def seen(batch_id: int) -> Observation:
    return Observation(batch_id, 100.0 + batch_id, 0.5, 1.0, slots=4)


class Pool:
    """Slots that only note what they are asked for."""

    most = 9

    def __init__(self) -> None:
        self.asked: list[int] = []

    def available(self, context: object) -> int:
        return 4

    def attach(self, spark: object, write: Callable[[KnownEvent], None]) -> None: ...

    def ask(self, slots: int) -> None:
        self.asked.append(slots)
        if slots == 7:
            raise RuntimeError("no more machines")

    def detach(self) -> None: ...


class Counting:
    """Wants as many slots as it has seen batches, and remembers how many those were."""

    def __init__(self) -> None:
        self.batches = 0
        self.gate: threading.Event | None = None

    def decide(self, observation: Observation) -> Decision:
        if self.gate is not None:
            self.gate.wait(10)
        self.batches += 1
        return Decision(self.batches, f"batch {observation.batch_id}")

    def save(self) -> dict[str, Any]:
        return {"batches": self.batches}

    def load(self, state: dict[str, Any]) -> None:
        if "batches" not in state:
            raise ValueError("no batches in it")
        self.batches = int(state["batches"])


def loop_of(
    policy: Any, events: list[KnownEvent], slots: Any = None, remembered: Remembered | None = None
) -> ControlLoop:
    return ControlLoop(policy, slots or Pool(), events.append, seen(-1), remembered)


def test_a_slow_policy_keeps_no_batch_waiting_and_is_shown_every_observation_in_order() -> None:
    events: list[KnownEvent] = []
    policy = Counting()
    loop = loop_of(policy, events)
    policy.gate = threading.Event()
    for batch_id in range(3):
        loop.observe(seen(batch_id))  # would wait for ten seconds
    assert loop.decision == Decision(1, "batch -1")
    policy.gate.set()
    loop.close()
    assert [d.reason for d in loop.decisions] == ["batch -1", "batch 0", "batch 1", "batch 2"]
    assert loop.decision.slots == 4


def test_slots_are_asked_for_what_was_decided_and_their_refusal_stops_nothing() -> None:
    events: list[KnownEvent] = []
    pool = Pool()
    policy = Counting()
    policy.batches = 5
    loop = loop_of(policy, events, pool)
    loop.observe(seen(0))
    loop.observe(seen(1))
    loop.close()
    assert pool.asked == [6, 7, 8]
    faults = [(f.batch_id, f.what, f.detail) for f in events if isinstance(f, FaultSeen)]
    assert faults == [(0, "asking for slots failed", "RuntimeError: no more machines")]
    assert loop.decision.slots == 8


def test_what_is_expected_is_journaled_before_the_decision_it_led_to() -> None:
    class Seer:
        def decide(self, observation: Observation) -> Decision:
            expected = {"parse": 120.0} if observation.batch_id == 0 else {}
            return Decision(2, "two", horizon_seconds=30.0, expected_rows=expected)

    events: list[KnownEvent] = []
    loop = loop_of(Seer(), events)
    loop.observe(seen(0))
    loop.close()
    assert [type(event) for event in events] == [DecisionMade, ForecastMade, DecisionMade]
    assert events[1] == ForecastMade(0, 30.0, {"parse": 120.0})


def test_a_restarted_policy_goes_on_with_what_it_learnt_and_the_plan_in_force() -> None:
    events: list[KnownEvent] = []
    first = loop_of(Counting(), events)
    first.observe(seen(0))
    first.close()
    again = loop_of(Counting(), events, remembered=Remembered(Decision(3, "before"), first.state))
    assert again.decision == Decision(3, "before")
    again.observe(seen(1))
    again.close()
    assert again.decision == Decision(3, "batch 1")
    assert not [event for event in events if isinstance(event, FaultSeen)]


def test_what_another_policy_learnt_is_left_alone() -> None:
    events: list[KnownEvent] = []
    learnt = {"kind": "Counting", "state": {"batches": 9}}
    loop = loop_of(Static(2), events, remembered=Remembered(Decision(9, "before"), learnt))
    loop.close()
    assert loop.decision.slots == 2
    assert loop.state == {}


def test_a_state_that_is_none_is_journaled_and_the_policy_begins_anew() -> None:
    events: list[KnownEvent] = []
    learnt = {"kind": "Counting", "state": {"wrong": 1}}
    loop = loop_of(Counting(), events, remembered=Remembered(Decision(9, "before"), learnt))
    loop.close()
    assert loop.decision == Decision(1, "batch -1")
    fault = next(event for event in events if isinstance(event, FaultSeen))
    assert fault.detail == "it begins anew: no batches in it"


class Numbers(Counting):
    """Saves what JSON can't hold, or what changes afterwards."""

    def __init__(self, kept: Any) -> None:
        super().__init__()
        self.kept = kept

    def save(self) -> dict[str, Any]:
        return {"batches": 0, "kept": self.kept}


@pytest.mark.parametrize("kept", [{1, 2}, float("nan"), object()])
def test_a_state_that_json_can_not_hold_is_journaled_and_never_committed(kept: Any) -> None:
    events: list[KnownEvent] = []
    loop = loop_of(Numbers(kept), events)
    loop.close()
    assert loop.state == {}
    assert [f.what for f in events if isinstance(f, FaultSeen)] == [
        "the policy can't save what it learnt"
    ]


def test_what_is_committed_is_a_copy() -> None:
    kept: list[int] = [1]
    loop = loop_of(Numbers(kept), [])
    kept.append(2)
    loop.close()
    assert loop.state["state"]["kept"] == [1]


def test_a_load_that_fails_in_any_way_is_journaled() -> None:
    class Broken(Counting):
        def load(self, state: dict[str, Any]) -> None:
            raise AttributeError("nothing of the kind")

    events: list[KnownEvent] = []
    learnt = {"kind": "Broken", "state": {}}
    loop = loop_of(Broken(), events, remembered=Remembered(Decision(9, "before"), learnt))
    loop.close()
    assert loop.decision.slots == 1
    assert any(isinstance(event, FaultSeen) for event in events)


def test_a_policy_that_is_still_thinking_when_the_query_ends_asks_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control_loop, "_LAST_WORD_SECONDS", 0.01)
    pool, policy = Pool(), Counting()
    loop = loop_of(policy, [], pool)
    policy.gate = threading.Event()
    for batch_id in range(3):
        loop.observe(seen(batch_id))
    loop.close()
    policy.gate.set()
    loop._thread.join(10)
    assert not loop._thread.is_alive()
    assert pool.asked == [1]


def test_a_policy_far_behind_is_not_shown_the_oldest_and_the_journal_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control_loop, "MOST_BEHIND", 2)
    events: list[KnownEvent] = []
    policy = Counting()
    loop = loop_of(policy, events)
    policy.gate = threading.Event()
    for batch_id in range(6):
        loop.observe(seen(batch_id))
    policy.gate.set()
    loop.close()
    # The first was being decided; of the five others and the end, two may wait.
    assert [d.reason for d in loop.decisions] == ["batch -1", "batch 0", "batch 4", "batch 5"]
    told = [(f.batch_id, f.detail) for f in events if isinstance(f, FaultSeen)]
    assert told == [(4, "it was not shown 3 micro-batches")]


def test_a_policy_hears_of_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_loop, "IDLE_SECONDS", 0.01)
    heard = threading.Event()
    told: list[Observation] = []

    class Listening:
        def decide(self, observation: Observation) -> Decision:
            told.append(observation)
            if len(told) == 3:
                heard.set()
            return Decision(5 - min(len(told), 4), "fewer and fewer")

    pool = Pool()
    loop = loop_of(Listening(), [], pool)
    loop.idle = lambda: seen(3).idle_at(200.0, slots=4)
    assert heard.wait(10)
    loop.close()
    assert [each.batch_id for each in told[:3]] == [-1, 3, 3]
    assert pool.asked[:3] == [4, 3, 2]


def test_no_thread_is_left_behind() -> None:
    loop = loop_of(Static(2), [])
    loop.close()
    assert not [t for t in threading.enumerate() if t.name == "penstock-policy" and t.is_alive()]


def test_an_error_that_can_not_be_written_is_journaled_like_any_other() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    class Fails(Counting):
        def decide(self, observation: Observation) -> Decision:
            if observation.batch_id >= 0:
                raise MuteError
            return super().decide(observation)

    events: list[KnownEvent] = []
    loop = loop_of(Fails(), events)
    loop.observe(seen(0))
    loop.close()
    (fault,) = (each for each in events if isinstance(each, FaultSeen))
    assert fault.what == "policy failed"
    assert fault.detail == "MuteError: (a MuteError that cannot be written as text)"
