"""What a journal can say: one small frozen dataclass per kind of event.

A kind's name in the file is its class name. A field added later must have a default, so that older
journals can still be read; changing what a field means needs a new ``SCHEMA_VERSION``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.journal.placement_events import HottestKeys, KeyGroupsPlaced
from penstock.journal.topology_events import TopologyPlanned
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


@dataclass(frozen=True, slots=True)
class QueryStarted:
    """A query began, or began again after a stop; ``topology`` is its plan as people read it."""

    query_id: str
    name: str
    topology: str
    penstock_version: str
    spark_version: str
    slots: int


@dataclass(frozen=True, slots=True)
class BatchFinished:
    """A micro-batch was committed, with all that was measured in it.

    ``watermark_seconds`` is event time and ``committed_seconds`` the time the commit record was
    written, both in seconds since the epoch. ``query`` says whose batch it was where one journal
    is kept of several queries.
    """

    observation: Observation
    watermark_seconds: float | None = None
    committed_seconds: float | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class BatchSkipped:
    """A micro-batch came again that an earlier run had already committed."""

    batch_id: int


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """What a source told; ``durations_seconds`` is by the name Spark gives each step."""

    batch_id: int
    source: str
    waiting_rows: int | None = None
    durations_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForecastMade:
    """The rows each operator is expected to get within the next ``horizon_seconds``.

    They should lie between ``low_rows`` and ``high_rows``, where the forecast says how sure it is.
    """

    batch_id: int
    horizon_seconds: float
    rows: Mapping[str, float]
    query: str | None = None
    low_rows: Mapping[str, float] = field(default_factory=dict)
    high_rows: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, batch_id: int, decision: Decision, query: str | None = None) -> ForecastMade | None:
        """Return the forecast that a decision was made by; None where it was made without one."""
        if not decision.expected_rows or not decision.horizon_seconds:
            return None
        return cls(
            batch_id,
            decision.horizon_seconds,
            decision.expected_rows,
            query,
            decision.low_rows,
            decision.high_rows,
        )


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """What a policy decided after a micro-batch, for the next one."""

    batch_id: int
    decision: Decision
    query: str | None = None


@dataclass(frozen=True, slots=True)
class ControlTaken:
    """Somebody (``by``) asked a running query for other slots than its policy's; it does so now.

    With no field set the policy has the say again. ``reason`` says what was asked for.
    """

    batch_id: int | None
    paused: bool = False
    min_slots: int | None = None
    max_slots: int | None = None
    forced_slots: int | None = None
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SlotsChanged:
    """What became of the slots that were planned, and why.

    ``planned`` is what the policy wants, ``requested`` what the cluster manager was asked for,
    ``observed`` what it gave, and ``warm`` how many of these are ready and counted.
    """

    planned: int
    requested: int
    observed: int
    warm: int
    reason: str


@dataclass(frozen=True, slots=True)
class LimitSet:
    """How many rows the next micro-batches may take from the sources at most, and why."""

    batch_id: int
    rows: int
    reason: str


@dataclass(frozen=True, slots=True)
class RowsShed:
    """Rows that were not processed as the user chose, and where they were kept instead."""

    batch_id: int
    source: str
    rows: int
    reason: str


@dataclass(frozen=True, slots=True)
class PlanWeighed:
    """The optimiser weighed the plan against a better one.

    Costs are seconds of a slot per micro-batch; ``change_seconds`` is what changing costs once, and
    ``gain_seconds`` what it saves within the horizon.
    """

    batch_id: int
    operations: tuple[str, ...]
    cost_seconds: float
    other_cost_seconds: float
    change_seconds: float
    gain_seconds: float
    is_adopted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """Operators run in other components from this micro-batch on.

    ``components`` are the operators by component. ``open_windows`` says, for each windowed
    operator, from which moment on its windows are open: the same for all rows, everywhere.
    """

    batch_id: int
    operations: tuple[str, ...]
    strategy: str
    components: Mapping[str, tuple[str, ...]]
    open_windows: Mapping[str, int | None]
    pause_seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class PlacementChanged:
    """Rows before a component are placed in another way from the next batch on, and why."""

    batch_id: int
    component: str
    placement: str
    reason: str


@dataclass(frozen=True, slots=True)
class KeyGroupsMoved:
    """Key groups of an operator went to other tasks, and why.

    ``pause_seconds`` is how long a batch, or a task of it, waited at most for what they left.
    """

    batch_id: int
    operator: str
    moves: tuple[Move, ...]
    reason: str
    migration: str
    pause_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HotKeysChanged:
    """Other keys than before, ``keys`` in number, are split over all tasks, and why."""

    batch_id: int
    operator: str
    keys: int
    reason: str


@dataclass(frozen=True, slots=True)
class StateStored:
    """What the files of an operator's keyed state hold after a batch.

    The batch wrote ``written_bytes``, and fetched ``fetched_bytes`` from where they lie to where
    they were needed.
    """

    batch_id: int
    operator: str
    files: int
    bytes: int
    written_bytes: int
    fetched_bytes: int


@dataclass(frozen=True, slots=True)
class RowsFailed:
    """Rows on which a user function failed, counted by the type of error.

    ``examples`` are messages, one for each of the most frequent types, 200 characters at most.
    """

    batch_id: int
    operator: str
    rows: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FaultSeen:
    """Something went wrong and the query went on; ``count`` says how many times since the last."""

    batch_id: int | None
    what: str
    detail: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class QueryStopped:
    """A query ended; ``error`` is None where it ended as asked."""

    reason: str
    error: str | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event of a kind that a newer Penstock writes, with its fields as they stand."""

    kind: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CorruptLine:
    """A line that is no event; only readers make these. ``text`` is its beginning."""

    file: str
    line: int
    reason: str
    text: str


KnownEvent = (
    QueryStarted
    | TopologyPlanned
    | BatchFinished
    | BatchSkipped
    | SourceProgress
    | ForecastMade
    | DecisionMade
    | ControlTaken
    | SlotsChanged
    | LimitSet
    | RowsShed
    | WindowsClosed
    | PanesStored
    | WindowPlanChanged
    | PlanWeighed
    | PlanChanged
    | PanesSplit
    | WindowTasks
    | SkylineSeen
    | PlacementChanged
    | KeyGroupsPlaced
    | KeyGroupsMoved
    | HotKeysChanged
    | HottestKeys
    | StateStored
    | RowsLate
    | RowsFailed
    | FaultSeen
    | QueryStopped
)

KINDS: Mapping[str, type[KnownEvent]] = {kind.__name__: kind for kind in KnownEvent.__args__}
