"""What a journal can say: one small frozen dataclass per kind of event.

A kind's name in the file is its class name. A field added later must have a default, so that older
journals can still be read; changing what a field means needs a new ``SCHEMA_VERSION``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.errors import ConfigurationError
from penstock.journal.codec import decode, encode
from penstock.placement.flux import Move

SCHEMA_VERSION = 1

ENVELOPE_KEYS = ("v", "seq", "at", "kind")


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
    """The rows each operator is expected to get within the next ``horizon_seconds``."""

    batch_id: int
    horizon_seconds: float
    rows: Mapping[str, float]
    query: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """What a policy decided after a micro-batch, for the next one."""

    batch_id: int
    decision: Decision
    query: str | None = None


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
class WindowsClosed:
    """The watermark closed windows of an operator, which gave ``rows`` results."""

    batch_id: int
    operator: str
    windows: int
    rows: int


@dataclass(frozen=True, slots=True)
class PanesStored:
    """What the pane store of an operator holds after a batch.

    ``age_seconds`` is the event time between its oldest pane and the watermark.
    """

    batch_id: int
    operator: str
    segments: int
    rows: int
    bytes: int
    age_seconds: float


@dataclass(frozen=True, slots=True)
class WindowPlanChanged:
    """Windows of an operator are formed in another way from the next batch on, and why."""

    batch_id: int
    operator: str
    plan: str
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
class PanesSplit:
    """How the panes of a preference query were split over the tasks of a batch.

    A pane was split in ``parts_per_pane`` on average, a part ending at ``threshold_rows``:
    ``alpha`` times what is usual (None: as far as there are tasks). ``utilisation`` is that of its
    tasks. ``next_threshold_rows`` is for the batch that follows, and ``reason`` says why.
    """

    batch_id: int
    operator: str
    panes: int
    parts_per_pane: float
    threshold_rows: float | None
    alpha: float
    utilisation: float
    tasks: int
    next_threshold_rows: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WindowTasks:
    """How partial results became windows of a preference query: as tasks of two kinds.

    ``updates`` put a partial result into a window, ``merges`` put two of one window together.
    ``idle_share`` is the part of their time that tasks waited for others.
    """

    batch_id: int
    operator: str
    windows: int
    partials: int
    updates: int
    merges: int
    tasks: int
    utilisation: float
    idle_share: float


@dataclass(frozen=True, slots=True)
class SkylineSeen:
    """The newest window that came out of a preference query over two columns, for drawing.

    ``x`` and ``y`` are the numbers of its rows in the order of ``x``, ``rows`` how many there were
    before some were left out so that a journal stays small. ``key`` is the group, as text. Smaller
    is better unless ``x_is_maximized`` or ``y_is_maximized`` says that larger is. Moments, where
    ``x_is_time`` or ``y_is_time``, are in seconds since 1970.
    """

    batch_id: int
    operator: str
    window_start_seconds: float
    window_end_seconds: float
    x_column: str
    y_column: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    rows: int
    key: str | None = None
    x_is_maximized: bool = False
    y_is_maximized: bool = False
    x_is_time: bool = False
    y_is_time: bool = False


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
class RowsLate:
    """Rows that came after a window they belong to had closed."""

    batch_id: int
    operator: str
    rows: int


@dataclass(frozen=True, slots=True)
class RowsFailed:
    """Rows on which a user function failed, counted by the type of error."""

    batch_id: int
    operator: str
    rows: int
    reasons: Mapping[str, int] = field(default_factory=dict)


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
    | BatchFinished
    | BatchSkipped
    | SourceProgress
    | ForecastMade
    | DecisionMade
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
    | KeyGroupsMoved
    | HotKeysChanged
    | StateStored
    | RowsLate
    | RowsFailed
    | FaultSeen
    | QueryStopped
)

KINDS: Mapping[str, type[KnownEvent]] = {kind.__name__: kind for kind in KnownEvent.__args__}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a journal: the ``seq``-th since the journal began, at ``at_seconds`` (epoch).

    Numbers go up by one from line to line, also across restarts; a gap means that segments were
    deleted. A :class:`CorruptLine` has the number 0 and the time NaN, since nobody knows them.
    """

    seq: int
    at_seconds: float
    body: KnownEvent | UnknownEvent | CorruptLine


def to_json(event: Event) -> str:
    """Write an event as one line of JSON, without the line's end.

    >>> to_json(Event(7, 12.5, BatchSkipped(batch_id=3)))
    '{"v":1,"seq":7,"at":12.5,"kind":"BatchSkipped","batch_id":3}'
    """
    body = event.body
    if isinstance(body, UnknownEvent):
        kind, content = body.kind, encode(body.fields)
    elif type(body).__name__ in KINDS:
        kind, content = type(body).__name__, encode(body)
    else:
        raise TypeError(f"{type(body).__name__} is not an event that a journal can hold")
    assert isinstance(content, dict)
    head = {"v": SCHEMA_VERSION, "seq": event.seq, "at": encode(event.at_seconds), "kind": kind}
    # The envelope comes last in the merge too: no field may pass for a sequence number.
    return json.dumps({**head, **content, **head}, separators=(",", ":"), allow_nan=False)


def from_json(line: str | bytes, where: str = "this line") -> Event:
    """Read one line; ``where`` names it in the error about a journal that is too new.

    Raises ConfigurationError for a newer schema and ValueError for a line that is no event.

    >>> from_json('{"v":1,"seq":7,"at":12.5,"kind":"BatchSkipped","batch_id":3,"new":true}')
    Event(seq=7, at_seconds=12.5, body=BatchSkipped(batch_id=3))
    >>> from_json('{"v":1,"seq":8,"at":13,"kind":"Novelty","depth":2}').body
    UnknownEvent(kind='Novelty', fields={'depth': 2})
    """
    raw = _parse(line)
    _refuse_newer(raw.get("v"), where)
    for key in ENVELOPE_KEYS:
        if key not in raw:
            raise ValueError(f"it has no '{key}'")
    seq, at_seconds = decode(int, raw["seq"]), decode(float, raw["at"])
    kind = decode(str, raw["kind"])
    if kind in KINDS:
        return Event(seq, at_seconds, decode(KINDS[kind], raw))
    unknown = {key: value for key, value in raw.items() if key not in ENVELOPE_KEYS}
    return Event(seq, at_seconds, UnknownEvent(kind, unknown))


def _parse(line: str | bytes) -> dict[str, object]:
    try:
        raw = json.loads(line.decode() if isinstance(line, bytes) else line)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(raw, dict):
        raise ValueError("it is not a JSON object")
    return raw


def _refuse_newer(version: object, where: str) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError(f"its schema version 'v' is {version!r:.80}")
    if version > SCHEMA_VERSION:
        raise ConfigurationError(
            f"{where}: this journal was written with schema {version}, and this Penstock reads "
            f"schemas up to {SCHEMA_VERSION}. Read it with the Penstock that wrote it, or a newer "
            "one (pip install --upgrade penstock)."
        )
