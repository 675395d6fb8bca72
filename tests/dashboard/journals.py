"""Journals for the dashboard's tests, written line by line from the real events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from penstock.dashboard.sections import Shown, range_of
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import (
    Observation,
    OperatorObservation,
    SourceObservation,
)
from penstock.history.journal_history import JournalHistory
from penstock.journal import events as e
from penstock.journal.lines import Event, to_json
from penstock.journal.placement_events import HotKey, HottestKeys, KeyGroupsPlaced
from penstock.journal.segments import segment_path
from penstock.journal.topology_events import PlannedOperator, TopologyPlanned
from penstock.journal.window_events import (
    PanesSplit,
    PanesStored,
    RowsLate,
    SkylineSeen,
    WindowPlanChanged,
    WindowsClosed,
    WindowTasks,
)
from penstock.placement.flux import Move

BEGAN = 1_700_000_000.0
EVIL = "<img src=x onerror=alert(1)>"

Timed = tuple[float, Any]


def write_journal(directory: Path, events: Iterable[Timed], segment: int = 1) -> Path:
    """Write events as a journal's one segment."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [to_json(Event(seq, at, body)) for seq, (at, body) in enumerate(events, start=1)]
    segment_path(directory, segment).write_text("".join(f"{line}\n" for line in lines))
    return directory


def shown_of(
    directory: Path, events: Iterable[Timed], *, after_seconds: float = 1.0, chosen: str = "all"
) -> Shown:
    """Read events back as a page would be shown them, so long after the last word."""
    history = JournalHistory(write_journal(directory / "run" / "journal", events))
    history.refresh()
    history.close()
    assert history.problem is None
    query = history.queries[0]
    now = query.last_at_seconds + after_seconds
    return Shown(query, history.name, *range_of(query, chosen, now), now)


def started(name: str = "demo", slots: int = 4) -> e.QueryStarted:
    return e.QueryStarted("id", name, "a topology", "0.1.0", "4.3.0", slots)


def batch(
    number: int,
    rows: int = 100,
    *,
    seconds: float | None = 0.5,
    waiting: int | None = 7,
    used: int = 2,
    map_name: str = "look_up",
    source: str = "sensors",
    failed: int = 0,
) -> Timed:
    """A micro-batch of two seconds' trigger, four slots at most."""
    at = BEGAN + 2.0 * (number + 1)
    operators = (
        OperatorObservation(source, rows, rows, 0.0, 2, 0.0, 0.0),
        OperatorObservation(
            map_name, rows, rows - failed, 0.6, 2, 0.4, 0.3, failed, inputs=(source,)
        ),
    )
    sources = (SourceObservation(source, rows, waiting),)
    seen = Observation(
        number, at, seconds, 2.0, 4, operators, sources, 1, used_slots=used, most_slots=4
    )
    return at, e.BatchFinished(seen, watermark_seconds=at - 12.0, committed_seconds=at)


def planned(map_name: str = "look_up", source: str = "sensors") -> TopologyPlanned:
    return TopologyPlanned(
        0,
        (
            PlannedOperator(source, "source", source),
            PlannedOperator(map_name, "map", map_name, (source,), True, "look_up(row)"),
        ),
    )


def eventful(name: str = "plain", key: str = "sensor 7") -> list[Timed]:
    """A journal with one event at least of every kind; ``name`` stands wherever text may."""
    operator = name
    told: Sequence[Any] = (
        started(name),
        planned(operator, f"source of {name}"),
        e.SlotsChanged(3, 3, 2, 2, f"asked: {name}"),
        e.LimitSet(0, 500, f"limit: {name}"),
        e.RowsShed(0, f"source of {name}", 9, f"shed: {name}"),
        WindowsClosed(0, operator, 3, 12, BEGAN + 10.0),
        PanesStored(0, operator, 2, 40, 4_000, 30.0, 5, BEGAN),
        WindowPlanChanged(0, operator, f"flat {name}", f"plan: {name}"),
        RowsLate(0, operator, 4),
        PanesSplit(0, operator, 2, 1.5, 100.0, 0.5, 0.8, 2, 90.0, f"split: {name}"),
        WindowTasks(0, operator, 2, 4, 3, 1, 2, 0.7, 0.1),
        SkylineSeen(
            0, operator, BEGAN, BEGAN + 10, f"x{name}", f"y{name}", (1.0, 2.0), (4.0, 3.0), 2, key
        ),
        e.PlanWeighed(0, (f"fuse {name}",), 1.0, 0.5, 0.1, 0.4, False, f"weighed: {name}"),
        e.PlanChanged(0, (f"fuse {name}",), "drain", {name: (name,)}, {}, 0.1, f"changed: {name}"),
        e.PlacementChanged(0, operator, f"least loaded {name}", f"placed: {name}"),
        KeyGroupsPlaced(0, operator, (0, 1, 0, 1)),
        e.KeyGroupsMoved(0, operator, (Move(1, 0, 1, 0.3),), f"moved: {name}", f"live {name}"),
        e.HotKeysChanged(0, operator, 1, f"hot: {name}"),
        HottestKeys(0, operator, (HotKey(key, 0.4, 0.015), HotKey("other", 0.1))),
        e.StateStored(0, operator, 1, 100, 50, 0),
        e.RowsFailed(
            0, operator, 6, {f"ValueError {name}": 6}, {f"ValueError {name}": f"for {name}"}
        ),
        e.FaultSeen(0, f"fault {name}", f"detail {name}", 2),
        e.BatchSkipped(0),
        e.ControlTaken(0, max_slots=4, by=name, reason=f"at most 4 slots, asked by {name}"),
        e.ForecastMade(
            0, 4.0, {f"source of {name}": 200.0}, None, {f"source of {name}": 150.0},
            {f"source of {name}": 250.0},
        ),
        e.DecisionMade(
            0,
            Decision(
                2, f"decided: {name}", {name: 2}, 1.7, 4.0, {f"source of {name}": 200.0}, (name,)
            ),
        ),
    )  # fmt: skip
    first = batch(0, map_name=operator, source=f"source of {name}", failed=6)
    later = [batch(n, map_name=operator, source=f"source of {name}") for n in (1, 2, 3)]
    end = (BEGAN + 9.0, e.QueryStopped(f"stopped: {name}", error=f"ValueError: {name}"))
    return [(BEGAN, told[0]), (BEGAN, told[1]), first, *((first[0], each) for each in told[2:]),
            *later, end]  # fmt: skip
