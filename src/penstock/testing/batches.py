"""Run a topology over lists of rows, one list for each micro-batch."""

from __future__ import annotations

import tempfile
import time as wall
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from numbers import Integral
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructType

from penstock.arguments import shown
from penstock.elasticity.decision import Decision, Policy
from penstock.engine.query import Query
from penstock.engine.slots import Slots
from penstock.engine.steps import Step
from penstock.errors import ConfigurationError
from penstock.journal.events import BatchFinished
from penstock.journal.lines import Event
from penstock.journal.reader import read
from penstock.placement.placement import Placement
from penstock.running import run
from penstock.stream import Stream
from penstock.testing.batches_run import BatchesRun, GivenRows
from penstock.testing.by_value import sent_by_value
from penstock.testing.calling import ONLY, called
from penstock.testing.closing_watermark import ClosingWatermark
from penstock.testing.gathering import Gathering, gather, rows_in
from penstock.testing.memory_source import MemorySource
from penstock.testing.quiet_failures import quiet_failures
from penstock.testing.session import given_or_own
from penstock.testing.source_rows import Batch, rows_of, schema_for
from penstock.windows.durations import Duration, seconds
from penstock.windows.watermark import FixedDelay, Watermark

Schema = str | StructType
Time = str | tuple[str, str]


def run_batches(
    topology: Callable[..., Any],
    batches: Sequence[Batch] | Mapping[str, Sequence[Batch]],
    schema: Schema | Mapping[str, Schema] | None = None,
    *,
    time: Time | Mapping[str, Time] | None = None,
    watermark: Watermark | Duration | Mapping[str, Watermark | Duration] | None = None,
    close_windows: bool = False,
    restart_after: Iterable[int] = (),
    policy: Policy | None = None,
    placement: Placement | None = None,
    slots: Slots | None = None,
    clock: Callable[[], float] = wall.time,
    timeout: Duration = "2 minutes",
    spark: SparkSession | None = None,
    **options: Any,
) -> BatchesRun:
    """Run a topology over lists of rows, each list as one micro-batch, and return what came of it.

    The rows go through Spark, the engine and a checkpoint as those of a job do; only the source and
    the sinks are in memory. Nothing is written but to a temporary directory, which is removed.
    Raises what made the run fail, as ``Query.await_termination`` does; Spark's log does not tell
    it besides, unless it is set to INFO or more.

    The first run of a process starts Spark, which takes seconds; the guide to testing says how long
    that and what follows take.

    Parameters
    ----------
    topology
        A function of a ``Stream`` that returns a stream, what ``.to(sink)`` returned, a list of
        these, or a dict of them by name: the very function that your job calls. Its sinks are not
        opened or written to; memory takes their place. With several sources it is called with a
        stream for each, by keyword.
    batches
        A list of batches, or for several sources a dict of such lists by the source's name. A batch
        is a list of dicts, of tuples in the order of the columns or of ``Row`` objects, or a pandas
        or a Spark DataFrame.
    schema, time, watermark
        The columns and their types, the event-time column, and how late rows may be, as for
        ``Stream.read``; with several sources one for all, or a dict by name. Without ``schema``
        Spark tells the columns from the first rows.
    close_windows
        Let one more micro-batch follow, without rows, in which the watermark jumps a century ahead,
        so that all windows come out (and all timers of ``process`` that are due by then).
    restart_after
        Stop the query after these micro-batches, counted from 0, and start it again from its
        checkpoint.
    policy, placement, slots, clock, options
        As for ``run``; ``options`` may be ``optimiser``, ``deadline`` and ``backlog``.
    timeout
        How long the whole run may take.
    spark
        The session; that of ``spark_session()`` unless said.

    Returns
    -------
    BatchesRun
        Rows by sink and by micro-batch, late rows, dead letters, decisions and the journal.

    Examples
    --------
    >>> done = run_batches(
    ...     lambda stream: stream.select("user", "n * 10 AS n"),
    ...     [[{"user": "ann", "n": 1}], [], [{"user": "bob", "n": 2}]],
    ...     "user string, n bigint",
    ... )
    >>> list(done.rows)
    [Row(user='ann', n=10), Row(user='bob', n=20)]
    >>> [len(batch) for batch in done.batches]
    [1, 0, 1]

    """
    _check_options(options)
    spark = given_or_own(spark)
    if not isinstance(close_windows, bool):
        raise ConfigurationError(f"close_windows={shown(close_windows)}. Write True or False.")
    given = _given(batches, schema, spark)
    progress = _Progress(closing=max(len(each.batches) for each in given.values()))
    rules = _rules(_by_name(watermark, given), progress) if close_windows else None
    setting = dict(policy=policy, placement=placement, slots=slots, clock=clock, **options)
    setting["on_step"] = progress.on_step
    decisions: list[Decision] = []
    with ExitStack() as undo:
        sources = {
            name: undo.enter_context(MemorySource(schema=each.schema, spark=spark))
            for name, each in given.items()
        }
        times = _by_name(time, given)
        marks = rules or _by_name(watermark, given)
        streams = {
            name: Stream.read(
                source.df(), time=times[name], watermark=marks[name], name=_source_name(name, given)
            )
            for name, source in sources.items()
        }
        gathering = gather(called("topology", topology, streams))
        undo.enter_context(sent_by_value([topology, *gathering.functions()]))
        scratch = undo.enter_context(
            tempfile.TemporaryDirectory(prefix="penstock-testing-", ignore_cleanup_errors=True)
        )
        undo.enter_context(quiet_failures(spark))
        deadline = wall.monotonic() + seconds(timeout)
        for first, end in _stretches(progress.closing, restart_after, close_windows):
            for name, source in sources.items():
                source.add(*given[name].between(first, end))
            query = _finish(gathering, scratch, deadline, setting)
            decisions += query.decisions()
        events = tuple(read(f"{scratch}/checkpoint/journal"))
    return _outcome(gathering, events, decisions, given, progress.closing + close_windows)


@dataclass(frozen=True)
class _Given:
    """The batches of a source, checked."""

    schema: StructType
    batches: tuple[list[Row], ...]

    def between(self, first: int, end: int) -> list[list[Row]]:
        """Return some batches; empty ones where this source has fewer than another."""
        return [self.batches[n] if n < len(self.batches) else [] for n in range(first, end)]


@dataclass
class _Progress:
    """Which micro-batch runs, and the number of the one that closes all windows."""

    closing: int
    batch: int = field(default=-1)

    def on_step(self, step: Step, batch: int) -> None:
        if step == Step.LOAD:
            self.batch = batch

    def is_closing(self) -> bool:
        return self.batch == self.closing


def _given(batches: Any, schema: Any, spark: SparkSession) -> dict[str, _Given]:
    by_name = batches if isinstance(batches, Mapping) else {ONLY: batches}
    if not by_name or not any(len(_listed(each)) for each in by_name.values()):
        raise ConfigurationError(
            "there are no batches. Write a list of lists of rows: [[{'n': 1}]]."
        )
    schemas = _by_name(schema, by_name)
    given = {}
    for name, each in by_name.items():
        struct = schema_for(schemas[name], each, spark)
        rows = [
            rows_of(batch, struct, spark, f"batch {n} of '{name}'") for n, batch in enumerate(each)
        ]
        given[name] = _Given(struct, tuple(rows))
    return given


def _listed(batches: Any) -> Sequence[Any]:
    if not isinstance(batches, list | tuple) or any(map(_is_a_row, batches)):
        raise ConfigurationError(
            "batches is a list with a list of rows for each micro-batch. "
            "Write [[{'n': 1}, {'n': 2}], [{'n': 3}]]."
        )
    return batches


def _is_a_row(batch: Any) -> bool:
    """Tell a row that stands where a list of rows should."""
    if isinstance(batch, Mapping | Row):
        return True
    return isinstance(batch, tuple) and any(not isinstance(each, tuple | Mapping) for each in batch)


def _by_name(setting: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return a setting for each source: the one for all, or its own."""
    if not isinstance(setting, Mapping):
        return dict.fromkeys(names, setting)
    unknown = [str(name) for name in setting if name not in set(names)]
    if unknown:
        raise ConfigurationError(
            f"there is no source '{unknown[0]}'. The batches are of {', '.join(names)}."
        )
    return {name: setting.get(name) for name in names}


def _source_name(name: str, given: Mapping[str, _Given]) -> str | None:
    return None if list(given) == [ONLY] else name


def _rules(watermarks: dict[str, Any], progress: _Progress) -> dict[str, Watermark | None]:
    if all(each is None for each in watermarks.values()):
        raise ConfigurationError(
            "close_windows needs a watermark to push ahead. Write watermark='10 seconds' and "
            "time='ts'."
        )
    rules: dict[str, Watermark | None] = {}
    for name, each in watermarks.items():
        rule = each if each is None or isinstance(each, Watermark) else FixedDelay.of(each)
        rules[name] = None if rule is None else ClosingWatermark(rule, progress.is_closing)
    return rules


def _check_options(options: Mapping[str, Any]) -> None:
    known = ("optimiser", "deadline", "backlog")
    for name in options:
        if name not in known:
            raise TypeError(
                f"run_batches got an unexpected keyword argument '{name}'. "
                f"Of run's own it passes on policy, placement, slots, clock, {', '.join(known)}."
            )


def _stretches(
    batches: int, restart_after: Iterable[int], close_windows: bool
) -> list[tuple[int, int]]:
    """Return the first batch and the end of each stretch between two restarts.

    >>> _stretches(4, [1], False), _stretches(2, [], True)
    ([(0, 2), (2, 4)], [(0, 3)])
    """
    named = list(restart_after) if isinstance(restart_after, Iterable) else [restart_after]
    if not all(isinstance(after, Integral) for after in named):
        raise ConfigurationError(
            f"restart_after={shown(restart_after)} names no micro-batches. Write for example "
            "restart_after=[0]."
        )
    cuts = sorted(set(named))
    for after in cuts:
        if not 0 <= after < batches:
            raise ConfigurationError(
                f"restart_after names micro-batch {after}. There are {batches}, counted from 0."
            )
    return list(pairwise([0, *(after + 1 for after in cuts), batches + close_windows]))


def _finish(
    gathering: Gathering, scratch: str, deadline: float, setting: Mapping[str, Any]
) -> Query:
    """Run the query over all that its sources have, and leave nothing of it behind."""
    query = run(
        *gathering.outlets,
        checkpoint=f"{scratch}/checkpoint",
        available_now=True,
        unused="ignore",
        **setting,
    )
    try:
        if not query.await_termination(max(0.0, deadline - wall.monotonic())):
            raise TimeoutError("the batches were not done in time. Give run_batches a timeout=.")
    finally:
        if query.is_active:
            query.stop(timeout=5)
    return query


def _outcome(
    gathering: Gathering,
    events: tuple[Event, ...],
    decisions: Sequence[Decision],
    given: Mapping[str, _Given],
    batches: int,
) -> BatchesRun:
    finished = [each.body for each in events if isinstance(each.body, BatchFinished)]
    marks = {each.observation.batch_id: each.watermark_seconds for each in finished}
    moments = [marks.get(number) for number in range(batches)]
    return BatchesRun(
        rows=gathering.rows(),
        batches=tuple(gathering.batch(number) for number in range(batches)),
        late_rows=rows_in(gathering.late),
        dead_letters=rows_in(gathering.letters),
        decisions=tuple(decisions),
        watermarks=tuple(None if at is None else datetime.fromtimestamp(at) for at in moments),
        events=events,
        inputs={
            name: GivenRows(each.schema, tuple(row for batch in each.batches for row in batch))
            for name, each in given.items()
        },
    )
