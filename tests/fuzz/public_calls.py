"""Every public name that needs no Spark, with arguments that work."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
import penstock.testing as pt
from fuzz.calling import Call
from penstock import journal, secrets
from penstock.secrets import keep_secret

OPERATOR = ps.OperatorObservation("parse", 100, 90, 0.5, 2, 0.3, 0.25)
SOURCE = ps.SourceObservation("clicks", 100, waiting_rows=7)
OBSERVATION = ps.Observation(3, 1_000.0, 0.7, 1.0, 4, (OPERATOR,), (SOURCE,))
KEYS, AMOUNTS = np.array([1, 2]), np.array([0.5, 1.0])
OFTEN = {
    "draw": {"uniform": np.array([0.0, 0.25, 0.999])},
    "draw_micros": {"uniform": np.array([0.0, 0.25, 0.999])},
    "rows_until": {"seconds": np.array([0.0, 1.0, 2.5]), "duration_seconds": 3},
    "cost_ms": {"keys": KEYS},
}
JOURNALS = tempfile.TemporaryDirectory(prefix="penstock-fuzz-")
"""Where journals are written; gone when Python ends."""
READING = (ValueError, KeyError, TypeError)
"""What readers of JSON promise: whoever calls them adds the name of the file."""


def fresh(make: Callable[[], Any], method: str, good: dict[str, Any], **more: Any) -> Call:
    """Return a call of a method of a new object each time: one may change it."""
    kind = make()

    class Fresh(Call):
        def made(self, wrong: Any) -> Any:
            return Call(getattr(make(), method), good).made(wrong)

    return Fresh(getattr(kind, method), good, **more)


def described(aggregate: Any) -> object:
    """Use an aggregate as the engine first does."""
    return aggregate.describe(), aggregate.inputs()


def checked_sink(sink: Any) -> object:
    """Use a sink as ``to`` does."""
    return sink.describe(), getattr(sink, "check", repr)(("a", "b"))


def sketch() -> ps.CostSketch:
    """Return a sketch that has seen something."""
    made = ps.CostSketch()
    made.update(KEYS, AMOUNTS)
    return made


def counts() -> ps.CountMinSketch:
    """Return a sketch that has seen something."""
    made = ps.CountMinSketch()
    made.update(KEYS)
    return made


def _policies() -> Iterator[tuple[str, Call]]:
    for name in (
        "AutoScalePlus",
        "BatchTimeRatio",
        "Fuzzy",
        "Incremental",
        "QLearning",
        "ReplicaPool",
    ):
        kind = getattr(ps, name)
        yield name, Call(kind)
        yield f"{name}.decide", fresh(kind, "decide", {"observation": OBSERVATION})
        # A policy's protocol has ValueError for a state that it can't take up.
        state = {"state": kind().save()}
        yield f"{name}.load", fresh(kind, "load", state, also=(ValueError,))
    sample = {"samples": [(10.0, 2, 0.5)], "rounds": 2}
    yield "QLearning.train", fresh(ps.QLearning, "train", sample)
    yield "QLearning.best", fresh(ps.QLearning, "best", {"rows_per_second": 10.0})
    yield "Static", Call(ps.Static)
    yield "Static.decide", Call(ps.Static(2).decide, {"observation": OBSERVATION})
    yield "GuardRails", Call(ps.GuardRails)
    yield "GuardRails.wait", Call(ps.GuardRails().wait, {"name": "turns_hold"})
    yield "Admission", Call(ps.Admission)
    yield "Admission.goal_seconds", Call(ps.Admission().goal_seconds, {"trigger_seconds": 1.0})
    yield "Backlog", Call(ps.Backlog, {"max_rows": 10})
    yield "Decision", Call(ps.Decision, {"slots": 2, "reason": "so"})


def _observed() -> Iterator[tuple[str, Call]]:
    """Give the records that others read: they take what they are given."""
    yield "OperatorObservation", Call(ps.OperatorObservation, _fields(OPERATOR))
    yield "SourceObservation", Call(ps.SourceObservation, _fields(SOURCE))
    yield "Observation", Call(ps.Observation, _fields(OBSERVATION))
    yield "Observation.idle_at", Call(OBSERVATION.idle_at, {"at_seconds": 5.0, "slots": 2})
    yield "SlotCounts", Call(ps.SlotCounts, _fields(ps.SlotCounts(1, 1, 1, 1)))
    yield "QueryStatus", Call(ps.QueryStatus, {"state": "running"})
    decision = ps.Decision(1, "so")
    yield "QueryDecision", Call(ps.QueryDecision, _fields(ps.QueryDecision("q", 1, decision)))
    watched = ps.WatchedStatus("q", 1, 0.5, 1.0, 10, 3, None, 2, "so")
    yield "WatchedStatus", Call(ps.WatchedStatus, _fields(watched))
    status = ps.AutoscaleStatus("watching", True, 2, 2, (watched,))
    yield "AutoscaleStatus", Call(ps.AutoscaleStatus, _fields(status))
    yield "TopologyError", Call(ps.TopologyError, {"operator": "a", "problem": "b", "remedy": "c"})
    for name in ("CheckpointError", "ConfigurationError", "PenstockError", "QueryError"):
        yield name, Call(_error(getattr(ps, name)), {"message": "so"})
    for name in ("DatabaseAway", "SinkError", "SinkUnavailable"):
        yield name, Call(_error(getattr(ps, name)), {"message": "so"})


def _error(kind: type[Exception]) -> Callable[[object], Exception]:
    def make(message: object) -> Exception:
        return kind(message)

    return make


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _placements() -> Iterator[tuple[str, Call]]:
    yield "RoundRobin", Call(ps.RoundRobin)
    yield "LeastLoaded", Call(ps.LeastLoaded)
    after = {"rows": [1, 2], "execution_seconds": 0.1}
    yield "LeastLoaded.after", Call(ps.LeastLoaded().after, after)
    yield "KeyGroups", Call(ps.KeyGroups)
    yield "CostAware", Call(ps.CostAware)
    yield "CostAware.model", Call(ps.CostAware().model)
    yield "CostAware.sketch", Call(ps.CostAware().sketch)
    yield "KeyCosts", Call(ps.KeyCosts, {"key": "a"})
    cells = sketch().cells(KEYS)
    both = {"keys": KEYS, "costs": AMOUNTS}
    yield "CostSketch", Call(ps.CostSketch)
    yield "CostSketch.update", fresh(sketch, "update", both)
    yield (
        "CostSketch.update_cells",
        fresh(sketch, "update_cells", {"cells": cells, "costs": AMOUNTS}),
    )
    yield "CostSketch.cells", fresh(sketch, "cells", {"keys": KEYS})
    yield "CostSketch.estimate", fresh(sketch, "estimate", {"keys": KEYS})
    yield "CostSketch.estimate_cells", fresh(sketch, "estimate_cells", {"cells": cells})
    yield "CostSketch.distance", fresh(sketch, "distance", {"snapshot": sketch().snapshot()})
    yield "CostSketch.merge", fresh(sketch, "merge", {"other": sketch()})
    yield "CostSketch.matches", fresh(sketch, "matches", {"other": sketch()})
    yield "CostSketch.scaled", fresh(sketch, "scaled", {"factor": 0.5})
    document = {"document": sketch().to_json()}
    yield "CostSketch.from_json", Call(ps.CostSketch.from_json, document, also=READING)
    yield "CountMinSketch", Call(ps.CountMinSketch)
    yield "CountMinSketch.update", fresh(counts, "update", {"keys": KEYS, "amounts": AMOUNTS})
    yield "CountMinSketch.add", fresh(counts, "add", {"cells": cells, "amounts": AMOUNTS})
    yield "CountMinSketch.cells", fresh(counts, "cells", {"keys": KEYS})
    yield "CountMinSketch.estimate", fresh(counts, "estimate", {"keys": KEYS})
    yield "CountMinSketch.merge", fresh(counts, "merge", {"other": counts()})
    yield "CountMinSketch.scaled", fresh(counts, "scaled", {"factor": 0.5})
    document = {"document": counts().to_json()}
    yield "CountMinSketch.from_json", Call(ps.CountMinSketch.from_json, document, also=READING)


def _windows() -> Iterator[tuple[str, Call]]:
    yield "tumbling", Call(ps.tumbling, {"length": "10 seconds"})
    yield "sliding", Call(ps.sliding, {"length": "10 seconds", "every": "5 seconds"})
    yield "WindowSpec", Call(ps.WindowSpec, {"name": "a", "length_micros": 9, "slide_micros": 3})
    yield "Mark", Call(ps.Mark)
    yield "Mark.from_json", Call(ps.Mark.from_json, {"document": ps.Mark().to_json()}, also=READING)
    yield "Seen", Call(ps.Seen, {"rows": 1, "newest_micros": 1, "oldest_micros": 1})
    moved = {"mark": ps.Mark(), "seen": ps.Seen(3, 10, 5)}
    yield "FixedDelay", Call(ps.FixedDelay, {"delay_micros": 5})
    yield "FixedDelay.of", Call(ps.FixedDelay.of, {"delay": "5 seconds"})
    yield "FixedDelay.advance", Call(ps.FixedDelay(5).advance, moved)
    yield "KSlack", Call(ps.KSlack)
    yield "KSlack.advance", Call(ps.KSlack().advance, moved)
    for name in ("avg", "collect", "count", "count_distinct", "first", "last", "max", "min"):
        yield name, Call(getattr(ps, name), {"column": "a"}, then=described)
    for name in ("stddev", "sum", "variance"):
        yield name, Call(getattr(ps, name), {"column": "a"}, then=described)
    yield "quantile", Call(ps.quantile, {"column": "a", "q": 0.5}, then=described)
    yield "top_k", Call(ps.top_k, {"column": "a", "k": 2}, then=described)
    yield "frequent", Call(ps.frequent, {"column": "a", "k": 2}, then=described)


def _settings() -> Iterator[tuple[str, Call]]:
    yield "LocalSlots", Call(ps.LocalSlots)
    yield "ExecutorSlots", Call(ps.ExecutorSlots, {"max": 4})
    yield "ExecutorSlots.ask", fresh(lambda: ps.ExecutorSlots(max=4), "ask", {"slots": 2})
    yield "Optimiser", Call(ps.Optimiser)
    yield "PaneSplitting", Call(ps.PaneSplitting)
    yield "PaneSplitting.written", Call(ps.PaneSplitting.written, {"given": "pid"})
    yield "Combine", Call(ps.Combine, {"windows": "w"})
    yield "Split", Call(ps.Split, {"windows": "w"})
    yield "Migrate", Call(ps.Migrate, {"operator": "a", "source": "b", "target": "c"})
    yield "RePartition", Call(ps.RePartition, {"component": "c", "slots": 2})
    yield "Topology", Call(ps.Topology, {"operators": ()})
    yield "KeyState", Call(ps.KeyState)
    timer = {"when": datetime(2026, 1, 1, tzinfo=UTC)}
    yield "KeyState.set_timer", fresh(ps.KeyState, "set_timer", timer)
    columns = {"columns": {"a": 1}}
    yield "KeyState.update", fresh(lambda: ps.KeyState(columns=("a", "b")), "update", columns)
    simulated = {"trace": [10.0] * 5, "topology": "tweets", "policies": ["static:2"]}
    # With several workers it starts processes; a function of one's own raises what it raises.
    yield "simulate", Call(ps.simulate, simulated, left_out=("workers", "on_progress"))


def _lookups() -> Iterator[tuple[str, Call]]:
    def cities() -> ps.Lookup:
        return ps.Lookup(lambda keys: {key: {"city": "Berlin"} for key in keys})

    yield "Lookup", Call(ps.Lookup, {"load": dict.fromkeys})
    yield "Lookup.get", fresh(cities, "get", {"key": "BER"})
    yield "Lookup.get_many", fresh(cities, "get_many", {"keys": ["BER", "BER"]})
    yield "Lookup.onto", fresh(cities, "onto", {"key": "code", "columns": ["city"]})
    yield "LookupStats", Call(ps.LookupStats)
    # Nothing connects until keys are asked for.
    table = {"conninfo": "host=db", "table": "cities", "key": "code", "columns": ["city"]}
    yield "PostgresTable", Call(ps.PostgresTable, table)


def _sinks() -> Iterator[tuple[str, Call]]:
    yield "sinks.call", Call(ps.sinks.call, {"function": print}, then=checked_sink)
    yield "sinks.console", Call(ps.sinks.console, then=checked_sink)
    yield "sinks.memory", Call(ps.sinks.memory, then=checked_sink)
    yield "sinks.json", Call(ps.sinks.json, {"path": "out"}, then=checked_sink)
    yield "sinks.parquet", Call(ps.sinks.parquet, {"path": "out"}, then=checked_sink)
    table = {"url": "jdbc:postgresql://db/x", "table": "t", "keys": ["a"]}
    yield "sinks.jdbc", Call(ps.sinks.jdbc, table, then=checked_sink)
    topic = {"servers": "broker-1:9092", "topic": "clicks"}
    yield "sinks.kafka", Call(ps.sinks.kafka, topic, then=checked_sink)


def _sources() -> Iterator[tuple[str, Call]]:
    of = ps.sources
    makers: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("NoDelay", {}, "draw_micros"),
        ("UniformDelay", {"max_seconds": 1.0}, "draw_micros"),
        ("ExponentialDelay", {"mean_seconds": 1.0}, "draw_micros"),
        ("UniformKeys", {"n": 10}, "draw"),
        ("ZipfKeys", {"n": 10}, "draw"),
        ("KeyCost", {"low_ms": 1.0, "high_ms": 2.0}, "cost_ms"),
        ("Steady", {"rows_per_second": 2.0}, "rows_until"),
        ("Steps", {"steps": [(1.0, 2.0)]}, "rows_until"),
        ("Ramp", {"start": 1.0, "end": 2.0}, "rows_until"),
        ("Sine", {"mean": 2.0, "amplitude": 1.0, "period_seconds": 10.0}, "rows_until"),
        (
            "Spikes",
            {"base": 1.0, "peak": 2.0, "every_seconds": 10.0, "width_seconds": 1.0},
            "rows_until",
        ),
    )
    for name, good, method in makers:
        kind = getattr(of, name)
        use = _using(method)
        yield f"sources.{name}", Call(kind, good, then=use)
        yield f"sources.{name}.{method}", Call(getattr(kind(**good), method), OFTEN[method])
    trace = {"step_micros": (1, 2), "counts": (3, 4)}
    yield "sources.Trace", Call(of.Trace, trace, then=lambda made: made.encode())
    text = of.Trace(**trace).encode()
    yield "sources.Trace.decode", Call(of.Trace.decode, {"text": text})
    yield "sources.read_trace", Call(of.read_trace, {"trace": [1.0, 2.0]})
    offsets = {"end_offset": None, "latest_offset": None}
    yield "sources.waiting_rows", Call(of.waiting_rows, offsets)


def _using(method: str) -> Callable[[Any], object]:
    return lambda made: getattr(made, method)(**OFTEN[method])


def _testing() -> Iterator[tuple[str, Call]]:
    yield "testing.fail_at", Call(pt.fail_at, {"step": "sinks", "batch": 0})
    yield "testing.kill_at", Call(pt.kill_at, {"step": "sinks", "batch": 0})
    yield "testing.ManualClock", Call(pt.ManualClock)
    yield "testing.ManualClock.set", fresh(pt.ManualClock, "set", {"to": 3.0})
    yield "testing.ManualClock.advance", fresh(pt.ManualClock, "advance", {"by": 3.0})
    yield "testing.SinkRows", Call(pt.SinkRows, {"by_sink": {"a": []}})
    # Those that check are there to fail with AssertionError, and what one's own policy raises.
    policy = {"make": lambda: ps.Static(2), "batches": 3}
    yield "testing.check_policy", Call(pt.check_policy, policy, also=(AssertionError, TypeError))


def _journals() -> Iterator[tuple[str, Call]]:
    """Give what reads and writes journals; that of the tests has an event of every kind."""
    kept = Path(__file__).parents[1] / "journal" / "schema-1.jsonl"
    skipped = journal.Event(1, 2.0, journal.BatchSkipped(3))

    def written(**wrong: Any) -> None:
        where = tempfile.mkdtemp(dir=JOURNALS.name)
        with journal.JournalWriter(**{"directory": where, **wrong}) as writer:
            writer.write(journal.BatchSkipped(3))

    def asked(method: str) -> Callable[..., None]:
        def ask(**given: Any) -> None:
            with journal.JournalWriter(tempfile.mkdtemp(dir=JOURNALS.name)) as writer:
                getattr(writer, method)(**given)

        named = inspect.signature(getattr(journal.JournalWriter, method)).parameters.values()
        ask.__signature__ = inspect.Signature([*named][1:])  # type: ignore[attr-defined]
        return ask

    written.__signature__ = inspect.signature(journal.JournalWriter)  # type: ignore[attr-defined]
    yield "journal.JournalWriter", Call(written)
    yield "journal.JournalWriter.write", Call(asked("write"), {"body": skipped.body})
    yield "journal.JournalWriter.flush", Call(asked("flush"), {"timeout_seconds": 1.0})
    yield "journal.JournalWriter.close", Call(asked("close"), {"timeout_seconds": 1.0})
    yield "journal.read", Call(journal.read, {"path": str(kept)}, then=list)
    yield "journal.Follower", Call(journal.Follower, {"directory": "j"}, then=polled)
    end = {"directory": "j", "stop": lambda: True}
    # What is to be done in between is the caller's own.
    yield "journal.follow", Call(journal.follow, end, then=list, left_out=("stop", "sleep"))
    line = {"line": journal.to_json(skipped)}
    yield "journal.from_json", Call(journal.from_json, line, also=(ValueError,))
    yield "journal.to_json", Call(journal.to_json, {"event": skipped})
    yield "secrets.keep_secret", Call(kept_for_now, {"values": ["open sesame"]})


def polled(follower: journal.Follower) -> object:
    """Use a follower once."""
    with follower:
        return list(follower.poll())


def kept_for_now(*values: Any) -> None:
    """Keep a secret, and forget it: nobody else's text shall change."""
    before, secrets._known = secrets._known, secrets._Known()
    try:
        keep_secret(*values)
        secrets.redacted("open sesame")
    finally:
        secrets._known = before


CALLS: dict[str, Call] = dict(
    [
        *_policies(),
        *_observed(),
        *_placements(),
        *_windows(),
        *_settings(),
        *_lookups(),
        *_sinks(),
        *_sources(),
        *_testing(),
        *_journals(),
    ]
)
