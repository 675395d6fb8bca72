"""A day of one-second batches as a journal, of a query with 12 operators, for benchmarks."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.journal.events import (
    BatchFinished,
    DecisionMade,
    ForecastMade,
    KnownEvent,
    QueryStarted,
    RowsFailed,
    RowsLate,
    SlotsChanged,
    SourceProgress,
)
from penstock.journal.lines import Event, to_json
from penstock.journal.placement_events import HotKey, HottestKeys
from penstock.journal.segments import SegmentAppender
from penstock.journal.topology_events import PlannedOperator, TopologyPlanned
from penstock.journal.window_events import PanesStored, WindowsClosed

OPERATORS = tuple(f"operator_{number}" for number in range(12))
WINDOWED = OPERATORS[8:10]
_SEGMENT_BYTES = 16 * 1024 * 1024
_DECIDED_EVERY, _CLOSED_EVERY = 10, 60


class DayWriter:
    """Writes batch after batch, a second apart; ``began_seconds`` is when the first one began."""

    def __init__(self, directory: Path, began_seconds: float, seed: int = 1) -> None:
        self._segments = SegmentAppender(directory, _SEGMENT_BYTES, max_segments=10_000)
        self._dice = random.Random(seed)
        self._began = began_seconds
        self._seq = 0
        self.batches = 0
        self._write(began_seconds, QueryStarted("day", "day", "a day", "0", "0", 8))
        self._write(began_seconds, TopologyPlanned(0, tuple(_planned())))

    def write(self, batches: int) -> None:
        """Write so many batches more, each with all that a query tells of it."""
        for _ in range(batches):
            self.batches += 1
            at = self._began + self.batches
            for body in self._told(self.batches, at):
                self._write(at, body)

    def close(self) -> None:
        """Close the open segment."""
        self._segments.close()

    def _write(self, at: float, body: KnownEvent) -> None:
        self._seq += 1
        self._segments.append(to_json(Event(self._seq, at, body)).encode() + b"\n")

    def _told(self, number: int, at: float) -> Iterator[KnownEvent]:
        dice = self._dice.random
        rows = int(1_000 + 800 * math.sin(number / 86_400 * 6 * math.pi) + dice() * 300)
        operators = tuple(
            OperatorObservation(
                name, rows, rows, 0.1 + 0.03 * dice(), 4, 0.05 * dice(), 0.03 * dice(),
                int(dice() < 0.01), n % 2 == 0, 0.01 * dice(), OPERATORS[n - 1 : n] if n else (),
            )
            for n, name in enumerate(OPERATORS)
        )  # fmt: skip
        source = SourceObservation(OPERATORS[0], rows, int(dice() * 500))
        seconds = 0.5 + 0.6 * dice()
        seen = Observation(number, at, seconds, 1.0, 8, operators, (source,), 5, 4, 8, 2)
        yield BatchFinished(seen, at - 10.5, at)
        yield SourceProgress(number, OPERATORS[0], 12, {"addBatch": seconds, "walCommit": 0.02})
        for name in WINDOWED:
            yield PanesStored(number, name, 12, 2_000 + rows, 123_456, 60.0, 6, at - 10.5)
        if number % _DECIDED_EVERY == 0:
            expected = dict.fromkeys(OPERATORS, 30.0 * rows)
            low = dict.fromkeys(OPERATORS, 25.0 * rows)
            high = dict.fromkeys(OPERATORS, 35.0 * rows)
            yield ForecastMade(number, 30.0, expected, None, low, high)
            slots = 3 + number // 600 % 5
            reason = f"rows are expected to grow within 30 s: asking for {slots} slots"
            tasks = dict.fromkeys(OPERATORS, slots)
            yield DecisionMade(number, Decision(slots, reason, tasks, slots - 0.4, 30.0, expected))
        if number % _CLOSED_EVERY == 0:
            for name in WINDOWED:
                yield WindowsClosed(number, name, 1, 200, at - 10.5)
            yield RowsLate(number, WINDOWED[0], 3)
            yield RowsFailed(number, OPERATORS[3], 2, {"ValueError": 2})
            yield SlotsChanged(6, 6, 8, 8, "as planned")
            yield HottestKeys(number, OPERATORS[5], (HotKey("a", 0.2), HotKey("b", 0.1)))


def _planned() -> Iterator[PlannedOperator]:
    for number, name in enumerate(OPERATORS):
        kind = "source" if number == 0 else "window" if name in WINDOWED else "map"
        yield PlannedOperator(name, kind, name, OPERATORS[number - 1 : number], number % 2 == 1)
