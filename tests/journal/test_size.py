"""How much a journal takes: a day of short batches must fit into what is kept of it."""

from __future__ import annotations

import inspect
import random

from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.journal import (
    BatchFinished,
    DecisionMade,
    Event,
    ForecastMade,
    HotKey,
    HottestKeys,
    JournalWriter,
    KnownEvent,
    PanesStored,
    SourceProgress,
    StateStored,
    WindowsClosed,
    to_json,
)

DAY_BATCHES, BATCHES = 86_400, 300
# A stream that is parsed, enriched and scored, two windows over it and a state by user, two sinks.
READS = {
    "clicks": (),
    "parsed": ("clicks",),
    "known": ("parsed",),
    "enriched": ("known",),
    "scored": ("enriched",),
    "sessions": ("enriched",),
    "by_area_partials": ("scored",),
    "by_area": ("by_area_partials",),
    "by_user_partials": ("scored",),
    "by_user": ("by_user_partials",),
    "dashboard": ("by_area",),
    "lake": ("by_user",),
}
PYTHON = {"parsed", "enriched", "scored", "sessions"}
STEPS = ("addBatch", "commitBatch", "commitOffsets", "getBatch", "latestOffset", "queryPlanning",
         "triggerExecution", "walCommit")  # fmt: skip


def observed(batch_id: int, draw: random.Random) -> Observation:
    def about(number: float) -> float:
        return number * draw.uniform(0.9, 1.1)

    rows = round(about(12_000))
    operators = tuple(
        OperatorObservation(
            name,
            rows,
            round(about(rows)),
            about(0.4),
            8,
            about(0.07),
            about(0.05),
            estimated=name not in PYTHON,
            cpu_seconds=about(0.3) if name in PYTHON else None,
            inputs=inputs,
        )
        for name, inputs in READS.items()
    )
    source = SourceObservation("clicks", rows, round(about(3_000)))
    at = 1_767_225_600.0 + batch_id + draw.random()
    return Observation(
        batch_id, at, about(0.6), 1.0, 8, operators, (source,), 4, used_slots=8, most_slots=16
    )


def told(seen: Observation, draw: random.Random) -> list[KnownEvent]:
    batch_id, at = seen.batch_id, seen.at_seconds
    events: list[KnownEvent] = [
        BatchFinished(seen, at - 10, at),
        SourceProgress(batch_id, "clicks", 3_000, {step: draw.random() for step in STEPS}),
        StateStored(batch_id, "sessions", 12, 3_400_000, 200_000, 5_000),
    ]
    for windows in ("by_area", "by_user"):
        events.append(PanesStored(batch_id, windows, 9, 120_000, 3_400_000, 3_600.0, 12, at - 10))
        if batch_id % 10 == 0:
            events.append(WindowsClosed(batch_id, windows, 2, 400, at))
    if batch_id % 10 == 0:
        keys = tuple(HotKey(f"user-{n:05}", 0.1 / (n + 1), 0.00123) for n in range(10))
        events.append(HottestKeys(batch_id, "sessions", keys))
    return events


def test_a_day_of_batches_of_a_second_and_twelve_operators_is_kept() -> None:
    draw, policy = random.Random(1), AutoScalePlus(max_slots=16)
    decision: Decision | None = None
    size = 0
    for number in range(BATCHES):
        seen = observed(1_000_000 + number, draw)
        events, before = told(seen, draw), decision
        decision = policy.decide(seen)
        if decision != before:
            forecast = ForecastMade.of(seen.batch_id, decision)
            events += [DecisionMade(seen.batch_id, decision)] + ([forecast] if forecast else [])
        lines = (to_json(Event(5_000_000, seen.at_seconds, body)) for body in events)
        size += sum(len(line) + 1 for line in lines)
    kept = inspect.signature(JournalWriter).parameters
    limit = kept["segment_bytes"].default * kept["max_segments"].default
    a_day = size / BATCHES * DAY_BATCHES
    assert 0.5 * limit < a_day < 0.9 * limit, f"{size / BATCHES:.0f} bytes for each batch"
