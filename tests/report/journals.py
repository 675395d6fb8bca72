"""Journals whose story is known."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.journal.events import (
    BatchFinished,
    DecisionMade,
    FaultSeen,
    ForecastMade,
    KnownEvent,
    QueryStarted,
    QueryStopped,
    RowsFailed,
    SlotsChanged,
)
from penstock.journal.lines import Event, to_json
from penstock.journal.placement_events import HotKey, HottestKeys, KeyGroupsPlaced
from penstock.journal.topology_events import PlannedOperator, TopologyPlanned
from penstock.journal.window_events import (
    PanesSplit,
    PanesStored,
    RowsLate,
    SkylineSeen,
    WindowPlanChanged,
    WindowsClosed,
)

NASTY = "<img src=x onerror=alert(1)>"
NOON = 1_794_916_800.0  # 17 November 2026, 12:00 UTC


def write(directory: Path, bodies: Iterable[tuple[float, KnownEvent]]) -> Path:
    """Write events, each with its second since noon, as the one segment of a journal."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [to_json(Event(seq, NOON + at, body)) for seq, (at, body) in enumerate(bodies, start=1)]
    (directory / "journal-00000001.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return directory


def batch(
    number: int,
    at: float,
    *,
    rows: int = 100,
    seconds: float = 0.5,
    waiting: int = 0,
    slots: int = 4,
    used: int = 2,
    name: str = "score",
    query: str | None = None,
    trigger: float | None = 1.0,
) -> tuple[float, BatchFinished]:
    operators = (
        OperatorObservation("clicks", rows, rows, 0.1, used, 0.06, 0.05),
        OperatorObservation(name, rows, rows - 1, 0.3, used, 0.2, 0.15, 1, inputs=("clicks",)),
    )
    source = SourceObservation("clicks", rows, waiting)
    seen = Observation(
        number, NOON + at, seconds, trigger, slots, operators, (source,), 3, used, most_slots=8
    )
    return at, BatchFinished(seen, NOON + at - 5.0, NOON + at, query)


def whole_run(name: str = "score") -> list[tuple[float, KnownEvent]]:
    """Ten minutes with a burst, a backlog, a recovery, a fault and an end."""
    plan = (
        PlannedOperator("clicks", "source", "clicks"),
        PlannedOperator(name, "map", name, ("clicks",), True, detail=name),
    )
    events: list[tuple[float, KnownEvent]] = [
        (0.0, QueryStarted("id", "shop", "clicks -> score", "1.0", "4.3", 4)),
        (0.0, TopologyPlanned(0, plan)),
        (0.0, DecisionMade(-1, Decision(4, "the start"))),
    ]
    for second in range(1, 601):
        busy = 200 <= second < 260
        waiting = 50 * (second - 199) if busy else max(0, 3_000 - 100 * (second - 260))
        events.append(
            batch(
                second,
                float(second),
                rows=400 if busy else 100,
                seconds=1.5 if busy else 0.5,
                waiting=waiting if second >= 200 else 0,
                used=4 if busy else 2,
                name=name,
            )
        )
        if second == 200:
            expected = {"clicks": 4_000.0, name: 4_000.0}
            events += [
                (200.0, ForecastMade(200, 20.0, expected, None, {"clicks": 3e3}, {"clicks": 5e3})),
                (
                    200.0,
                    DecisionMade(
                        200, Decision(8, f"many rows for {name}", {}, 7.5, 20.0, expected)
                    ),
                ),
                (200.5, SlotsChanged(8, 8, 4, 4, f"asked for {name}")),
                (201.0, FaultSeen(201, "executor lost", f"node of {name}", 1)),
            ]
    events += [
        (600.0, RowsFailed(600, name, 600, {name: 600}, {name: f"of {name}"})),
        (600.0, RowsLate(600, name, 7)),
        (600.0, WindowsClosed(600, name, 12, 24, NOON + 590)),
        (600.0, PanesStored(600, name, 3, 50, 4_096, 60.0, 5, NOON + 595)),
        (600.0, WindowPlanChanged(600, name, name, name)),
        (600.0, HottestKeys(600, name, (HotKey(name, 0.4, 0.01),))),
        (600.0, KeyGroupsPlaced(600, name, (0, 0, 1))),
        (600.0, PanesSplit(600, name, 4, 2.5, 10.0, 1.2, 0.7, 2, 11.0, name)),
        (600.0, SkylineSeen(600, name, NOON, NOON + 9, name, "y", (1.0, 2.0), (4.0, 3.0), 2, name)),
        (601.0, QueryStopped("stopped by its user")),
    ]  # fmt: skip
    return events
