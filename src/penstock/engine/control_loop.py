"""Plan and execute: the policy decides beside the query, and the slots hear what it decided."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from penstock.elasticity.control import before_control, carried_out
from penstock.elasticity.decision import Decision, Policy, StatefulPolicy, decided
from penstock.elasticity.observation import Observation
from penstock.engine.slots import ElasticSlots, Slots
from penstock.engine.taking_control import TakingControl
from penstock.errors import text_of
from penstock.journal.control_file import WatchedControl
from penstock.journal.events import DecisionMade, FaultSeen, ForecastMade, KnownEvent
from penstock.secrets import logger

KEPT_DECISIONS = 1_000
MOST_DELAY_SECONDS = 0.005
MOST_BEHIND = 100
IDLE_SECONDS = 10.0
LOOK_SECONDS = 1.0
_LAST_WORD_SECONDS = 2.0

_log = logger("penstock.engine")

PolicyState = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a checkpoint holds of an earlier run: the plan in force, and what the policy learnt."""

    decision: Decision
    policy: PolicyState


class ControlLoop:
    """Asks the policy after every micro-batch what comes next.

    ``decision`` is the one in force. The policy thinks in a thread of its own and a batch waits for
    it for 5 ms at most: what it decides later holds from the batch that starts next. It is shown
    every observation, in order, unless it is a hundred behind. One that raises is journaled, and
    the last plan stays.

    A source that falls silent makes no batches. ``idle`` is then asked, every ten seconds, for an
    observation with no rows in it, so that slots can be given back.

    ``watched`` is what somebody outside asks for: it is looked at before every batch, after every
    decision, and every second in silence. The policy is asked as ever; what it wants is carried
    out as far as the control allows.
    """

    def __init__(
        self,
        policy: Policy,
        slots: Slots,
        write: Callable[[KnownEvent], None],
        start: Observation,
        remembered: Remembered | None = None,
        watched: WatchedControl | None = None,
    ) -> None:
        self._policy = policy
        self._slots = slots
        self._write = write
        self._asked = TakingControl(watched, write)
        self._most_slots = start.most_slots
        self._batch_id = start.batch_id
        # A batch that is about to begin and the policy's thread may both find a new control.
        self._adopting = threading.Lock()
        self._decision: Decision | None = None
        self.decisions: deque[Decision] = deque(maxlen=KEPT_DECISIONS)
        self.state: PolicyState = {}
        self.delay_seconds = 0.0
        self.idle: Callable[[], Observation | None] = lambda: None
        self._ended = False
        first = self._taken_up(remembered) if remembered else None
        self._asked.look(start.batch_id, when="as the query starts")
        self._wanted = first or decided(policy.decide(start))
        # What a pause keeps over a restart is the plan of the last batch, whoever decided it.
        self._carry_out(remembered.decision if remembered else None)
        self._remember()
        self._observed: SimpleQueue[tuple[Observation, threading.Event] | None] = SimpleQueue()
        self._is_slow = False
        self._left_out = 0
        self._thread = threading.Thread(target=self._run, name="penstock-policy", daemon=True)
        self._thread.start()

    @property
    def decision(self) -> Decision:
        """The decision in force: the policy's, or what the control makes of it."""
        assert self._decision is not None
        return self._decision

    def look_at_control(self) -> None:
        """Let what somebody asks for take effect now, where that is new."""
        with self._adopting:
            if not self._ended and self._asked.look(self._batch_id):
                self._carry_out(self.decision)

    def observe(self, observation: Observation) -> None:
        """Show the policy what was measured; wait a moment for what it makes of it."""
        began = time.perf_counter()
        done = threading.Event()
        self._observed.put((observation, done))
        in_time = done.wait(MOST_DELAY_SECONDS)
        self.delay_seconds = time.perf_counter() - began
        if not in_time and not self._is_slow:
            self._is_slow = True
            _log.info("the policy takes longer than 5 ms; its decisions come a batch later")

    def close(self) -> None:
        """Let the policy finish what it was shown, within a short time; what comes later is void.

        Slots may belong to another query by then.
        """
        self._observed.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(_LAST_WORD_SECONDS)
        self._ended = True

    def _run(self) -> None:
        while (task := self._next()) is not None and not self._ended:
            observation, done = task
            if self._observed.qsize() > MOST_BEHIND:
                self._left_out += 1
            else:
                self._tell_left_out(observation.batch_id)
                self._decide(observation)
            done.set()

    def _next(self) -> tuple[Observation, threading.Event] | None:
        silent_since = time.monotonic()
        while True:
            try:
                return self._observed.get(timeout=min(LOOK_SECONDS, IDLE_SECONDS))
            except Empty:
                self.look_at_control()
                if time.monotonic() - silent_since < IDLE_SECONDS:
                    continue
                observation, silent_since = self.idle(), time.monotonic()
                if observation is not None:
                    return observation, threading.Event()

    def _tell_left_out(self, batch_id: int) -> None:
        if self._left_out:
            detail = f"it was not shown {self._left_out} micro-batches"
            self._write(FaultSeen(batch_id, "the policy is slower than the batches", detail))
            self._left_out = 0

    def _decide(self, observation: Observation) -> None:
        try:
            decision = decided(self._policy.decide(observation))
        except Exception as error:
            _log.warning("the policy failed, the last plan stays: %s", text_of(error))
            detail = f"{type(error).__name__}: {text_of(error)}"
            self._write(FaultSeen(observation.batch_id, "policy failed", detail))
            return
        with self._adopting:
            if self._ended:
                return
            self._batch_id, self._most_slots = observation.batch_id, observation.most_slots
            self._wanted = decision
            self._asked.look(self._batch_id)
            self._carry_out(self.decision)
        self._remember()

    def _carry_out(self, in_force: Decision | None) -> None:
        """Carry out what the policy wants, as far as the control allows; tell if that is new."""
        decision = carried_out(self._asked.control, self._wanted, in_force, self._most_slots)
        if decision != self._decision:
            self._adopt(self._batch_id, decision)

    def _adopt(self, batch_id: int, decision: Decision) -> None:
        self._decision = decision
        self.decisions.append(decision)
        forecast = ForecastMade.of(batch_id, decision)
        if forecast is not None:
            self._write(forecast)
        self._write(DecisionMade(batch_id, decision))
        if isinstance(self._slots, ElasticSlots):
            try:
                self._slots.ask(decision.slots)
            except Exception as error:
                detail = f"{type(error).__name__}: {text_of(error)}"
                self._write(FaultSeen(batch_id, "asking for slots failed", detail))

    def _taken_up(self, remembered: Remembered) -> Decision | None:
        """Let a policy go on with what it learnt in an earlier run, if it is of the same kind."""
        state, policy = remembered.policy, self._policy
        if not isinstance(policy, StatefulPolicy) or state.get("kind") != type(policy).__name__:
            return None
        try:
            policy.load(state["state"])
        except Exception as error:
            detail = f"it begins anew: {text_of(error)}"
            self._write(FaultSeen(None, "the policy can't read what it once learnt", detail))
            return None
        return before_control(remembered.decision)

    def _remember(self) -> None:
        """Take a copy of what the policy learnt; a commit must not meet what JSON can't hold."""
        if isinstance(self._policy, StatefulPolicy):
            try:
                learnt = json.loads(json.dumps(self._policy.save(), allow_nan=False))
            except Exception as error:
                detail = f"{type(error).__name__}: {text_of(error)}"
                self._write(FaultSeen(None, "the policy can't save what it learnt", detail))
                return
            self.state = {"kind": type(self._policy).__name__, "state": learnt}
