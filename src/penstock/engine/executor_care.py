"""The thread that looks after executors: sees, asks, warms, releases, and says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Set

from penstock.engine.executor_leaving import RUNS_A_TASK, Leave, Waiting, free_to_go
from penstock.engine.executors import Change, Cluster, ExecutorLedger, Overdue, SlotCounts
from penstock.engine.warming import OnReady, Warming
from penstock.journal.events import FaultSeen, KnownEvent, SlotsChanged
from penstock.secrets import logger

_LOOK_EVERY_SECONDS = 0.25
_STOP_WITHIN_SECONDS = 15.0
# What a standalone cluster's master itself writes down for an application that named no number.
_NO_LIMIT = 2**31 - 1

_log = logger("penstock.engine")


class ExecutorCare:
    """Makes what is there follow what is planned, four times a second, in a thread of its own.

    ``ask`` and ``available`` touch the ledger only and never wait for Spark.
    """

    def __init__(
        self,
        cluster: Cluster,
        ledger: ExecutorLedger,
        write: Callable[[KnownEvent], None],
        patience_seconds: float,
        warming: Callable[[OnReady], Warming] | None = None,
    ) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._write = write
        self._patience_seconds = patience_seconds
        self._warming = warming(self._is_ready) if warming is not None else None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = False
        self._is_given_up = False
        self._is_asked = False
        self._reasons: list[str] = []
        self._told: SlotCounts | None = None
        self._found = 1
        self._has_limit = True
        self._waiting = Waiting(patience_seconds)
        self._overdue = Overdue(patience_seconds)
        self._refused = 0
        self._ask_again_at = 0.0
        self._kept_told: set[tuple[str, str]] = set()
        self._thread = threading.Thread(target=self._run, name="penstock-executors", daemon=True)

    def start(self, initial_executors: int | None) -> None:
        """Count what is there, and begin."""
        self.take_stock(initial_executors)
        self._thread.start()

    def take_stock(self, initial_executors: int | None) -> None:
        """Count what is there; so many may still be on their way, None: there is no limit."""
        present = self._cluster.executors()
        self._has_limit = initial_executors is not None
        self._found = max(len(present), initial_executors or 0, 1)
        self._ledger.plan_executors(self._found)
        self._ledger.see(present)
        self._ledger.count_as_warm(present)
        self._reasons.append(f"{_some(len(present))} when the query began")

    @property
    def counts(self) -> SlotCounts:
        """Slots as planned, requested, observed and warm."""
        with self._lock:
            return self._ledger.counts

    def ask(self, slots: int) -> None:
        """Plan for so many slots; the thread does the rest."""
        with self._lock:
            self._is_asked = True
            before = self._ledger.planned
            self._ledger.plan(slots)
            after = self._ledger.planned
            if after != before:
                self._reasons.append(f"{_some(after)} planned instead of {before}")
                self._wake.set()

    def available(self) -> int:
        """Return the slots that count now."""
        with self._lock:
            if self._ledger.leaving:
                # Between two batches nothing runs: the moment in which executors can leave.
                self._wake.set()
            return self._ledger.available_slots

    def stop(self, within_seconds: float = _STOP_WITHIN_SECONDS) -> None:
        """End the thread, which leaves the session as it was found; give it up if it can't."""
        self._stopping = True
        self._wake.set()
        self._thread.join(within_seconds)
        if self._thread.is_alive():
            # Somebody else may look after the executors from now on.
            self._is_given_up = True
            detail = f"Spark did not answer within {within_seconds:g} s"
            self._fault("executors not handed back", f"{detail}; the session keeps those it has")

    def _run(self) -> None:
        last_failure = ""
        while not self._stopping:
            try:
                self.turn(time.monotonic())
                last_failure = ""
            except Exception as error:
                if self._cluster.is_stopped:
                    break
                failure = type(error).__name__
                # The same failure four times a second would drown the journal.
                if failure != last_failure:
                    _log.warning("looking after executors failed: %s", error)
                    self._fault("looking after executors failed", f"{failure}: {error}")
                last_failure = failure
            self._wake.wait(_LOOK_EVERY_SECONDS)
            self._wake.clear()
        self.end()

    def turn(self, now: float) -> None:
        """Look once, and do what is due at this time; the thread calls it again and again."""
        present = self._cluster.executors()
        if self._cluster.is_stopped:  # then none is lost: Spark ended
            self._stopping = True
            return
        with self._lock:
            is_asked = self._is_asked
            if not is_asked:  # executors that come now are the session's own
                self._found = max(self._found, len(present))
                self._ledger.plan_executors(self._found)
            change = self._ledger.see(present)
        self._tell(change)
        if is_asked and not self._is_given_up:
            self._request(now, again=bool(change.lost))
        if is_asked and not self._is_given_up:
            self._release(now)
        if self._is_given_up:
            return
        self._warm_up()
        self._journal()

    def _tell(self, change: Change) -> None:
        with self._lock:
            self._reasons += [f"executor {each} came" for each in change.came]
            self._reasons += [f"executor {each} is gone as asked" for each in change.went]
            self._reasons += [f"executor {each} was lost" for each in change.lost]
            self._reasons += [f"executor {each} ended while leaving" for each in change.ended]
        for each in change.lost:
            self._fault("executor lost", f"executor {each} ended unasked; asking for another")
        for each in change.ended:
            detail = f"executor {each} ended before it was let go; it was to leave, so none follows"
            self._fault("executor lost", detail)

    def _request(self, now: float, *, again: bool) -> None:
        """Ask for as many executors as are planned, again where some were lost or do not come."""
        with self._lock:
            planned, there = self._ledger.planned, len(self._ledger.staying)
            known = self._ledger.requested
        overdue = self._overdue.seconds(planned, there, now)
        if overdue is not None:
            detail = f"asked for {_some(planned)} {overdue:.0f} s ago, {there} came"
            self._fault("executors missing", f"{detail}; asking again")
        is_refused = planned == self._refused and now < self._ask_again_at
        if not again and overdue is None and (planned == known or is_refused):
            return
        if self._cluster.request(planned):
            with self._lock:
                self._ledger.requested = planned
            return
        self._refused, self._ask_again_at = planned, now + self._patience_seconds
        self._fault("executors refused", f"the cluster manager did not take {_some(planned)}")

    def _release(self, now: float) -> None:
        """Let those go that are to leave, as soon as nobody needs what they hold."""
        with self._lock:
            leaving = [self._ledger.observed[each] for each in sorted(self._ledger.leaving)]
            going = self._ledger.released
        overdue = self._waiting.overdue((executor.id for executor in leaving), now)
        if not leaving:
            self._kept_told.clear()
            return
        # A job in progress may yet read what an idle executor shuffled. Spark would compute it
        # anew, so for one that finds no pause between jobs for long, that is the lesser evil.
        is_pause = not self._cluster.runs_jobs()
        may_go = [executor for executor in leaving if is_pause or executor.id in overdue]
        if not may_go:
            return
        leave = free_to_go(may_go, self._cluster.cached_blocks(), going)
        released = self._cluster.release(leave.free) if leave.free else ()
        with self._lock:
            self._ledger.has_released(released)
            if not is_pause:
                self._reasons += [
                    f"executor {each} is let go while a job runs: it found no pause for "
                    f"{self._patience_seconds:g} s"
                    for each in released
                ]
            self._say_who_stays(leave, overdue)

    def _say_who_stays(self, leave: Leave, overdue: Set[str]) -> None:
        """Journal once why an executor can't leave; that it is busy, only when that lasts."""
        stays = {
            (each, why) for each, why in leave.kept.items() if why != RUNS_A_TASK or each in overdue
        }
        self._reasons += [
            f"executor {each} can't leave: {why}" for each, why in sorted(stays - self._kept_told)
        ]
        known = self._kept_told | stays
        self._kept_told = {(each, why) for each, why in known if each in self._ledger.leaving}

    def _warm_up(self) -> None:
        with self._lock:
            cold = self._ledger.cold
            if self._warming is None:
                self._ledger.count_as_warm(executor.id for executor in cold)
        if self._warming is not None:
            self._warming.make_ready(cold)

    def _is_ready(self, executor_id: str, problem: str | None) -> None:
        with self._lock:
            self._ledger.count_as_warm([executor_id])
            self._reasons.append(f"executor {executor_id} is ready")
        if problem is not None:
            self._fault(
                "executor not warmed", f"executor {executor_id} counts, but is cold: {problem}"
            )
        self._wake.set()

    def _journal(self) -> None:
        with self._lock:
            counts, reasons = self._ledger.counts, self._reasons
            self._reasons = []
        if counts != self._told or reasons:
            self._told = counts
            self._write(
                SlotsChanged(
                    counts.planned,
                    counts.requested,
                    counts.observed,
                    counts.warm,
                    "; ".join(reasons) or "executors changed",
                )
            )

    def _fault(self, what: str, detail: str) -> None:
        self._write(FaultSeen(None, what, detail))

    def end(self) -> None:
        """Leave the session with as many executors as it had, as far as that can be done now."""
        try:
            if self._warming is not None:
                self._warming.stop()
            if self._cluster.is_stopped or self._is_given_up or not self._is_asked:
                return
            self._cluster.request(self._found if self._has_limit else _NO_LIMIT)
            surplus = self._ledger.surplus(self._found) if self._has_limit else ()
            if surplus and not self._is_given_up and not self._cluster.runs_jobs():
                cached = self._cluster.cached_blocks()
                self._cluster.release(free_to_go(surplus, cached, self._ledger.released).free)
        except Exception as error:
            if not self._cluster.is_stopped:
                _log.warning("handing executors back failed: %s", error)


def _some(executors: int) -> str:
    return "1 executor" if executors == 1 else f"{executors} executors"
