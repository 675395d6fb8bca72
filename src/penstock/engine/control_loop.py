"""Plan and execute: the policy decides beside the query, and the slots hear what it decided."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from penstock.elasticity.decision import Decision, Policy, StatefulPolicy, decided
from penstock.elasticity.observation import Observation
from penstock.engine.slots import ElasticSlots, Slots
from penstock.journal.events import DecisionMade, FaultSeen, ForecastMade, KnownEvent

KEPT_DECISIONS = 1_000
MOST_DELAY_SECONDS = 0.005
MOST_BEHIND = 100
IDLE_SECONDS = 10.0
_LAST_WORD_SECONDS = 2.0

_log = logging.getLogger("penstock.engine")

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
    """

    def __init__(
        self,
        policy: Policy,
        slots: Slots,
        write: Callable[[KnownEvent], None],
        start: Observation,
        remembered: Remembered | None = None,
    ) -> None:
        self._policy = policy
        self._slots = slots
        self._write = write
        self.decisions: deque[Decision] = deque(maxlen=KEPT_DECISIONS)
        self.state: PolicyState = {}
        self.delay_seconds = 0.0
        self.idle: Callable[[], Observation | None] = lambda: None
        first = self._taken_up(remembered) if remembered else None
        self._adopt(start.batch_id, first or decided(policy.decide(start)))
        self._remember()
        self._observed: SimpleQueue[tuple[Observation, threading.Event] | None] = SimpleQueue()
        self._is_slow = False
        self._left_out = 0
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="penstock-policy", daemon=True)
        self._thread.start()

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
        while True:
            try:
                return self._observed.get(timeout=IDLE_SECONDS)
            except Empty:
                observation = self.idle()
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
            _log.warning("the policy failed, the last plan stays: %s", error)
            detail = f"{type(error).__name__}: {error}"
            self._write(FaultSeen(observation.batch_id, "policy failed", detail))
            return
        if self._ended:
            return
        if decision != self.decision:
            self._adopt(observation.batch_id, decision)
        self._remember()

    def _adopt(self, batch_id: int, decision: Decision) -> None:
        self.decision = decision
        self.decisions.append(decision)
        forecast = ForecastMade.of(batch_id, decision)
        if forecast is not None:
            self._write(forecast)
        self._write(DecisionMade(batch_id, decision))
        if isinstance(self._slots, ElasticSlots):
            try:
                self._slots.ask(decision.slots)
            except Exception as error:
                detail = f"{type(error).__name__}: {error}"
                self._write(FaultSeen(batch_id, "asking for slots failed", detail))

    def _taken_up(self, remembered: Remembered) -> Decision | None:
        """Let a policy go on with what it learnt in an earlier run, if it is of the same kind."""
        state, policy = remembered.policy, self._policy
        if not isinstance(policy, StatefulPolicy) or state.get("kind") != type(policy).__name__:
            return None
        try:
            policy.load(state["state"])
        except Exception as error:
            detail = f"it begins anew: {error}"
            self._write(FaultSeen(None, "the policy can't read what it once learnt", detail))
            return None
        return remembered.decision

    def _remember(self) -> None:
        """Take a copy of what the policy learnt; a commit must not meet what JSON can't hold."""
        if isinstance(self._policy, StatefulPolicy):
            try:
                learnt = json.loads(json.dumps(self._policy.save(), allow_nan=False))
            except Exception as error:
                detail = f"{type(error).__name__}: {error}"
                self._write(FaultSeen(None, "the policy can't save what it learnt", detail))
                return
            self.state = {"kind": type(self._policy).__name__, "state": learnt}
