"""Splits a micro-batch: rows to process, and rows that come too late or are too many.

Rows that are shed go to the late rows of their source, or where nobody takes those, to files in the
checkpoint. How many there are is counted on the way; only when there are some does a batch have a
job more, which writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.elasticity.intake import Intake
from penstock.elasticity.shed_rows import NO_ROWS_SHED, ShedRows
from penstock.engine.batch_rows import BatchRows
from penstock.engine.changing import any_index, changing
from penstock.engine.checkpoint import Checkpoint
from penstock.engine.observations import Measures
from penstock.engine.row_hash import row_hash
from penstock.engine.schemas import quoted
from penstock.engine.selection import LOWEST, PRIORITY, TIE, nth_lowest
from penstock.engine.split_log import SplitLog, SplitRule
from penstock.journal.events import KnownEvent, RowsShed
from penstock.sinks import parquet
from penstock.sinks.files import FileSink
from penstock.sinks.filesystem import HadoopFiles
from penstock.topology.dag import Topology
from penstock.topology.operators import LateRows, Source
from penstock.windows.durations import in_seconds

Cut = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Split:
    """Which rows of one source in one batch are shed: those too old, and those too many."""

    too_old: Column
    too_many: Column

    @property
    def is_shed(self) -> Column:
        """Whether a row is not processed."""
        return self.too_old | self.too_many

    @property
    def is_admitted(self) -> Column:
        """Whether a row is processed."""
        return ~self.is_shed

    @property
    def counts(self) -> list[Column]:
        """What counts the rows that are shed, of each kind."""
        old, many = F.count_if(self.too_old), F.count_if(self.too_many)
        return [old.alias("too_old"), many.alias("too_many")]


@dataclass(slots=True)
class Apart:
    """The rows that are shed, not yet read, and how many of each kind they will turn out to be."""

    df: DataFrame
    split: Split
    measures: Measures
    counts: ShedRows = NO_ROWS_SHED


class Shedding:
    """Splits the batches of one query, and keeps what is shed."""

    def __init__(
        self,
        topology: Topology,
        files: HadoopFiles,
        checkpoint: Checkpoint,
        intake: Intake,
        clock: Callable[[], float],
    ) -> None:
        latest = checkpoint.log.latest
        self._log = SplitLog(
            files,
            checkpoint.path,
            intake,
            clock,
            _planned(files, checkpoint),
            was_split=latest is not None and latest.is_split,
            committed=-1 if latest is None else latest.batch_id,
            is_timed=all(source.time is not None for source in topology.sources),
        )
        self._query_id = checkpoint.query_id
        self._rows = BatchRows(files, checkpoint.spark_path, topology.sources)
        self._takers = {op.inputs[0]: op.name for op in topology if isinstance(op, LateRows)}
        self._directory = f"{checkpoint.path}/shed_rows"
        self._sinks: dict[str, FileSink] = {}
        self._rule: SplitRule | None = None
        self._apart: dict[str, Apart] = {}

    @property
    def shed_rows(self) -> dict[str, ShedRows]:
        """How many rows of the last batch were shed, by source."""
        return {source: apart.counts for source, apart in self._apart.items()}

    @property
    def is_split(self) -> bool:
        """Whether there is a rule for the running batch."""
        return self._rule is not None

    def begin(self, batch_id: int) -> None:
        """Start a batch: from here on it is known when it began."""
        self._rule = self._log.rule_of(batch_id)
        self._apart.clear()

    def split(self, source: Source, df: DataFrame) -> Split | None:
        """Say how the rows of a source are split; None where all are processed.

        Where they may be more than are allowed this runs a job that counts them, and two or three
        more that find out which are shed if they are.
        """
        rule = self._rule
        if rule is None:
            return None
        too_old = F.lit(False)
        if rule.deadline_micros is not None:
            time = _time(source)
            cut = changing(rule.started_micros - rule.deadline_micros, any_index(time))
            too_old = F.coalesce(time < cut, F.lit(False))
        return Split(too_old, self._too_many(source, df, rule, too_old))

    def set_apart(self, source: str, df: DataFrame, split: Split, measures: Measures) -> None:
        """Remember the rows of a source, of which some are shed, and what counts them."""
        self._apart[source] = Apart(df.filter(split.is_shed), split, measures)

    def apart(self, source: str) -> DataFrame | None:
        """Return the rows of a source that are shed in this batch, for its late rows."""
        return self._apart[source].df if source in self._apart else None

    def write(self, batch_id: int, places: Sequence[DataFrame]) -> None:
        """Keep the rows that were shed and that no late rows take, once the others are done."""
        for source, apart in self._apart.items():
            counts = apart.measures.read(places)
            if counts is None:  # nobody wanted to see a row of this source
                counts = apart.df.agg(*apart.split.counts).collect()[0]
            apart.counts = ShedRows(int(counts[0]), int(counts[1]))
            if apart.counts.rows and source not in self._takers:
                self._sink(source).write(apart.df, batch_id)

    def events(self, batch_id: int) -> Iterator[KnownEvent]:
        """Tell the journal what was shed, why, and where it went."""
        rule = self._rule
        for source, apart in self._apart.items():
            old, many = apart.counts.too_old, apart.counts.too_many
            taker = self._takers.get(source)
            where = f"in '{taker}'" if taker else f"kept in '{self._directory}/{source}'"
            if old and rule is not None:
                limit = in_seconds(rule.deadline_micros or 0)
                reason = f"older than the deadline of {limit}; {where}"
                yield RowsShed(batch_id, source, old, reason)
            if many and rule is not None:
                reason = f"more than {rule.max_rows} rows in a batch ({rule.shed} shed); {where}"
                yield RowsShed(batch_id, source, many, reason)

    def _too_many(self, source: Source, df: DataFrame, rule: SplitRule, too_old: Column) -> Column:
        none = F.lit(False)
        if rule.max_rows is None or rule.shed is None:
            return none
        at_most = self._rows.at_most(source.name, rule.batch_id)
        if at_most is not None and at_most <= rule.max_rows:
            return none
        priority, tie = _priority(source, rule.shed, rule.batch_id), row_hash(df.schema)
        cut = _cut(df.filter(~too_old), priority, tie, rule.max_rows)
        if cut is None:
            return none
        same = (priority == cut[0]) & (tie <= cut[1])
        return ~too_old & ((priority < cut[0]) | same)

    def _sink(self, source: str) -> FileSink:
        if source not in self._sinks:
            self._sinks[source] = parquet(f"{self._directory}/{source}")
            self._sinks[source].open(self._query_id)
        return self._sinks[source]


def _planned(files: HadoopFiles, checkpoint: Checkpoint) -> int | None:
    """Return the micro-batch that an earlier run left without a commit, None if there is none."""
    latest = checkpoint.log.latest
    due = latest.batch_id + 1 if latest else 0
    return due if files.exists(f"{checkpoint.spark_path}/offsets/{due}") else None


def _time(source: Source) -> Column:
    assert source.time is not None
    return F.unix_micros(F.col(quoted(source.time)))


def _priority(source: Source, shed: str, batch_id: int) -> Column:
    """Return the number by which rows are shed, the lowest first."""
    if shed == "random":
        return F.xxhash64(F.lit(batch_id), row_hash(source.data.schema))
    if shed == "oldest":
        number = _time(source)
    elif shed == "newest":
        number = F.bitwise_not(_time(source))  # as good as minus, and there is one for every number
    else:
        number = F.expr(shed).cast("bigint")
    return F.coalesce(number, F.lit(LOWEST))


def _cut(df: DataFrame, priority: Column, tie: Column, max_rows: int) -> Cut | None:
    """Return the priority and the tie up to which rows are shed, None where there are few."""
    keys = df.select(priority.alias(PRIORITY), tie.alias(TIE))
    keys = keys.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        found = keys.agg(F.count(F.lit(1)), F.min(PRIORITY), F.max(PRIORITY)).collect()[0]
        rows, low, high = found
        return nth_lowest(keys, rows - max_rows, low, high) if rows > max_rows else None
    finally:
        keys.unpersist(blocking=False)
