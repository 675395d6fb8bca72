from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.errors import ConfigurationError
from penstock.journal import (
    SCHEMA_VERSION,
    BatchFinished,
    BatchSkipped,
    ControlTaken,
    CorruptLine,
    DecisionMade,
    Event,
    FaultSeen,
    ForecastMade,
    HotKey,
    HotKeysChanged,
    HottestKeys,
    KeyGroupsMoved,
    KeyGroupsPlaced,
    LimitSet,
    PanesSplit,
    PanesStored,
    PlacementChanged,
    PlanChanged,
    PlannedOperator,
    PlanWeighed,
    QueryStarted,
    QueryStopped,
    RowsFailed,
    RowsLate,
    RowsShed,
    SkylineSeen,
    SlotsChanged,
    SourceProgress,
    StateStored,
    TopologyPlanned,
    UnknownEvent,
    WindowPlanChanged,
    WindowsClosed,
    WindowTasks,
    from_json,
    read,
    to_json,
)
from penstock.journal.codec import decoder
from penstock.journal.events import KINDS
from penstock.journal.lines import ENVELOPE_KEYS
from penstock.placement.flux import Move

from .strategies import MOST, any_float, bodies, finite, unknown_events, values

OPERATOR = OperatorObservation(
    "enrich", 100, 90, 0.5, 4, 0.2, 0.125, failed_rows=10, estimated=True
)
OBSERVATION = Observation(
    7, 1700000005.0, 0.75, 5.0, 4, (OPERATOR,), (SourceObservation("taxis", 100, 25),), jobs=3
)

# One event of each kind, as tests/journal/schema-1.jsonl has them.
SCHEMA_1 = [
    QueryStarted("q-1", "taxis", "read -> enrich -> window", "0.1.0", "4.3.0", 4),
    BatchFinished(OBSERVATION, watermark_seconds=1699999990.5, committed_seconds=1700000004.5),
    BatchSkipped(6),
    SourceProgress(7, "taxis", 250, {"addBatch": 0.5, "triggerExecution": 0.75}),
    ForecastMade(7, 30.0, {"enrich": 1200.5}),
    DecisionMade(7, Decision(6, "the load will double in 30 seconds", {"enrich": 5})),
    WindowsClosed(7, "hourly", 2, 40),
    RowsLate(7, "hourly", 3),
    RowsFailed(7, "enrich", 10, {"ZeroDivisionError": 10}),
    FaultSeen(7, "executor_lost", "executor 3 was lost", 2),
    QueryStopped("failed", 'OSError: "disk"\nfull €'),
    PanesStored(7, "hourly", 9, 1_200, 34_000, age_seconds=3_600.0),
    WindowPlanChanged(7, "hourly", "combined", "the exchange pays for itself"),
    PlacementChanged(7, "source", "by cost", "a batch should end 0.2 s sooner"),
    HotKeysChanged(7, "hourly", 1, "one key had 80 % of the load"),
    KeyGroupsMoved(
        7, "sessions", (Move(17, 3, 5, 0.25),), "task 3 had 41 %", "disruptive", pause_seconds=0.5
    ),
    StateStored(7, "sessions", 12, 34_000, 2_000, 500),
    SlotsChanged(8, 8, 4, 3, "two executors came"),
    LimitSet(7, 1_200, "a batch took 90 % of its trigger"),
    RowsShed(7, "taxis", 30, "older than the deadline of 30 s"),
    PanesSplit(7, "best", 5, 1.5, 6_000.0, 1.25, 0.875, 2, 5_500.0, "above the set point of 0.9"),
    WindowTasks(7, "best", 5, 30, 20, 10, 2, 0.75, 0.125),
    SkylineSeen(7, "best", 1700000000.0, 1700000001.0, "price", "days", (1.0, 2.5), (3.0, 0.5), 2),
    PlanWeighed(
        7, ("Migrate(total, total, rate)",), 2.5, 1.25, 0.5, 75.0, True, "half the rows travel"
    ),
    PlanChanged(
        8,
        ("Migrate(total, total, rate)",),
        "instant",
        {"rate": ("rate", "total")},
        {"total": 1_700_000_000_000_000, "other": None},
        0.0,
        "half the rows travel",
    ),
    TopologyPlanned(
        8,
        (
            PlannedOperator("taxis", "source", "taxis", detail="rate"),
            PlannedOperator("enrich", "map", "taxis", ("taxis",), runs_python=True),
        ),
    ),
    ControlTaken(8, max_slots=4, by="the dashboard", reason="at most 4 slots"),
    KeyGroupsPlaced(8, "sessions", (0, 1, 0, 1)),
    HottestKeys(8, "sessions", (HotKey("anna", 0.5, 0.001), HotKey("#9f3c21aa", 0.25))),
]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), seq=st.integers(0, MOST), at_seconds=finite)
def test_every_kind_comes_back_as_it_was_written(
    kind: str, data: st.DataObject, seq: int, at_seconds: float
) -> None:
    event = Event(seq, at_seconds, data.draw(values(KINDS[kind])))
    line = to_json(event)
    assert "\n" not in line
    assert from_json(line) == event
    assert from_json(line.encode()) == event


@given(body=unknown_events())
def test_an_unknown_kind_is_kept_whole(body: UnknownEvent) -> None:
    assert from_json(to_json(Event(1, 2.0, body))) == Event(1, 2.0, body)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), at_seconds=any_float)
def test_lines_are_strict_json_whatever_the_floats(
    kind: str, data: st.DataObject, at_seconds: float
) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    body = data.draw(values(KINDS[kind], any_float))
    line = to_json(Event(1, at_seconds, body))
    json.loads(line, parse_constant=refuse)
    # Null reads back as NaN or None, which are written as null again.
    assert to_json(from_json(line)) == line


@given(body=bodies())
def test_the_envelope_stands_first_and_is_never_shadowed(body: Any) -> None:
    raw = json.loads(to_json(Event(5, 6.5, body)))
    assert list(raw)[:4] == list(ENVELOPE_KEYS)
    assert (raw["v"], raw["seq"], raw["at"]) == (SCHEMA_VERSION, 5, 6.5)


def test_a_field_cannot_pass_for_the_envelope() -> None:
    assert json.loads(to_json(Event(5, 6.5, UnknownEvent("K", {"seq": 99, "v": 9}))))["seq"] == 5


@pytest.mark.parametrize("kind", KINDS.values())
def test_no_kind_has_a_field_named_like_the_envelope(kind: type) -> None:
    decoder(kind)
    assert not set(kind.__dataclass_fields__) & set(ENVELOPE_KEYS)  # type: ignore[attr-defined]


def test_the_schema_is_what_earlier_journals_have() -> None:
    """Fails when a change to a kind would leave older journals unreadable."""
    path = Path(__file__).parent / "schema-1.jsonl"
    expected = [Event(seq, 1700000000.0 + seq, body) for seq, body in enumerate(SCHEMA_1, 1)]
    assert {type(body).__name__ for body in SCHEMA_1} == set(KINDS)
    assert list(read(path)) == expected


def test_fields_of_a_newer_minor_version_are_ignored_at_any_depth() -> None:
    raw = json.loads(to_json(Event(1, 2.0, SCHEMA_1[1])))
    raw["new"] = 1
    raw["observation"]["new"] = {"deep": []}
    raw["observation"]["operators"][0]["new"] = None
    assert from_json(json.dumps(raw)) == Event(1, 2.0, SCHEMA_1[1])


def test_fields_that_an_older_version_did_not_write_take_their_default() -> None:
    line = '{"v":1,"seq":1,"at":2,"kind":"FaultSeen","batch_id":null,"what":"w","detail":"d"}'
    assert from_json(line).body == FaultSeen(None, "w", "d", count=1)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_line_has_no_field_that_a_reader_would_fill_in(kind: str, data: st.DataObject) -> None:
    """Leaving out any field of a line must make it another event, or none."""
    event = Event(1, 2.0, data.draw(values(KINDS[kind])))
    raw = json.loads(to_json(event))
    for name in set(raw) - set(ENVELOPE_KEYS):
        less = json.dumps({key: value for key, value in raw.items() if key != name})
        with contextlib.suppress(ValueError):
            assert from_json(less) != event


def test_fields_that_have_their_default_are_left_out_at_any_depth() -> None:
    quiet = OperatorObservation("enrich", 100, 90, 0.5, 4, 0.2, 0.125)
    seen = Observation(7, 5.0, 0.75, None, 4, (quiet,), (SourceObservation("taxis", 100),))
    assert to_json(Event(1, 2.0, BatchFinished(seen))) == (
        '{"v":1,"seq":1,"at":2.0,"kind":"BatchFinished","observation":{"batch_id":7,'
        '"at_seconds":5.0,"batch_seconds":0.75,"trigger_seconds":null,"slots":4,'
        '"operators":[{"name":"enrich","rows_in":100,"rows_out":90,"busy_seconds":0.5,"tasks":4,'
        '"slowest_task_seconds":0.2,"mean_task_seconds":0.125}],'
        '"sources":[{"name":"taxis","rows":100}]}}'
    )


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 40])
def test_a_newer_schema_is_refused_with_its_place(version: int) -> None:
    with pytest.raises(ConfigurationError) as refused:
        from_json(f'{{"v":{version}}}', where="runs/journal-00000003.jsonl line 12")
    message = str(refused.value)
    assert message.startswith("runs/journal-00000003.jsonl line 12: ")
    assert f"schema {version}" in message
    assert "pip install --upgrade penstock" in message


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"v":1,"seq":1,"at":2,"kind":"BatchSk', "not JSON"),
        (b'{"v":1,"seq":1,"at":2,"kind":"\xff"}', "not UTF-8"),
        ("[" * 100_000, "not JSON"),
        ('{"seq":1,"at":2,"kind":"BatchSkipped","batch_id":3}', "schema version 'v' is None"),
        ('{"v":true,"seq":1,"at":2,"kind":"K"}', "'v' is True"),
        ('{"v":0,"seq":1,"at":2,"kind":"K"}', "'v' is 0"),
        ('{"v":1,"at":2,"kind":"K"}', "no 'seq'"),
        ('{"v":1,"seq":1,"kind":"K"}', "no 'at'"),
        ('{"v":1,"seq":1,"at":2}', "no 'kind'"),
        ('{"v":1,"seq":"1","at":2,"kind":"K"}', "a whole number"),
        ('{"v":1,"seq":1,"at":2,"kind":"BatchSkipped"}', "BatchSkipped has no 'batch_id'"),
    ],
)
def test_a_line_that_is_no_event_says_why(line: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        from_json(line)


@pytest.mark.parametrize("body", [CorruptLine("f", 1, "r", "t"), "text", None])
def test_only_events_can_be_written(body: Any) -> None:
    with pytest.raises(TypeError, match="not an event"):
        to_json(Event(1, 2.0, body))


def test_text_that_is_no_unicode_still_makes_a_line() -> None:
    stopped = QueryStopped("failed", "bad name: \udce9")
    assert from_json(to_json(Event(1, 2.0, stopped)).encode()).body == stopped


def test_a_time_that_is_no_number_is_nan() -> None:
    assert math.isnan(from_json(to_json(Event(1, math.inf, BatchSkipped(1)))).at_seconds)


def test_a_decision_that_cannot_be_carried_out_is_no_event() -> None:
    line = to_json(Event(1, 0.0, DecisionMade(3, Decision(2, "two"))))
    with pytest.raises(ValueError, match="a decision for 0 slots"):
        from_json(line.replace('"slots":2', '"slots":0'))
