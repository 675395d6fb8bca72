"""Balance: the rows of any DataFrame, in partitions that cost equally much."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import AccumulatorParam, SparkContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from penstock.arguments import checked, is_one_of, shown
from penstock.classic_session import require_classic
from penstock.engine.call_costs import CallCosts, CostKey
from penstock.engine.placing_function import PlacingFunction
from penstock.engine.row_hash import row_hash
from penstock.engine.schemas import check_columns, quoted
from penstock.errors import ConfigurationError, TopologyError
from penstock.placement.attribution import SLICE_ROWS, SlicedCosts, attributed
from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_model import TaskCosts
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.placer import GivenCost, KnownCost, Placer, given_costs

_LABEL = "balance"
_MOST_PARTITIONS = 2**31 - 1  # what Spark can count
_PLAIN = frozenset({"LocalRelation", "Range", "Project", "Filter", "Union"})

BatchesFunction = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


def balance(df: DataFrame, k: int, *, cost: str | KeyCosts) -> DataFrame:
    """Return the rows in ``k`` partitions that cost equally much.

    ``cost`` is a column of numbers, in any unit; or ``KeyCosts``, what rows of a key were found to
    cost before. Each partition of ``df`` shares out its own rows, dear ones first, and begins at
    another of the ``k``: with very few rows in each, ``df.coalesce(1)`` before balances better.
    Nothing runs until Spark needs the result.

        ps.balance(df, 8, cost="bytes").mapInArrow(parse, "user string")
    """
    df = require_classic(df)
    check_columns(_LABEL, df.schema, "Rename one with df.toDF(...)")
    if type(k) is not int or not 1 <= k <= _MOST_PARTITIONS:
        raise ConfigurationError(f"balance can't make {shown(k)} partitions. Write 1 or more.")
    if isinstance(cost, KeyCosts):
        columns = cost.key
        known: KnownCost | GivenCost | None = cost._known(df)
    elif isinstance(cost, str):
        _check_number(df, cost)
        columns, known = (cost,), GivenCost(0)
    else:
        raise ConfigurationError(
            f"cost is a {type(cost).__name__}. Name a column of numbers, or give KeyCosts('user')."
        )
    if known is None:
        return df.repartition(k)
    rows = df if _keeps_order(df) else df.sortWithinPartitions(row_hash(df.schema))
    # Where it is not known how many partitions there are, each begins at the next task.
    return PlacingFunction(Placer(k, k, (known,))).moved(rows, columns)


class KeyCosts:
    """What rows of a key cost, learnt from what was measured; to be given to ``balance``.

        costs = ps.KeyCosts("user")
        for df in days:
            parsed = ps.balance(df, 8, cost=costs).mapInArrow(costs.timed(parse), "user string")
            parsed.write.mode("append").parquet("out/parsed")

    Until something is learnt, rows are dealt in turn. ``epsilon``, ``delta`` and ``seed`` are those
    of the sketch.
    """

    @checked
    def __init__(
        self,
        key: str | Sequence[str],
        *,
        epsilon: float = 0.005,
        delta: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.key: tuple[str, ...] = (key,) if isinstance(key, str) else tuple(dict.fromkeys(key))
        if not self.key or not all(isinstance(name, str) for name in self.key):
            raise ConfigurationError(f"KeyCosts({key!r}) names no columns. Write KeyCosts('user').")
        self._placement = CostAware(epsilon, delta, seed)
        self._model = self._placement.model(first_rows=1)
        self._reports: Any = None

    def learn(self, df: DataFrame, seconds: str) -> None:
        """Learn from rows that say what they cost, in the column ``seconds``; runs a Spark job."""
        df = require_classic(df)
        self._check(df)
        _check_number(df, seconds)
        if seconds in self.key:
            raise ConfigurationError(f"'{seconds}' can't be both the key and what a row cost.")
        names = [*self.key, seconds]
        gathered = CostKey(self.key, self._placement.sketch())

        def sketched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            costs = gathered.begin()
            for batch in batches:
                costs.add_costs(batch, given_costs(batch.column(len(names) - 1)))
            found = costs.result()
            assert isinstance(found, TaskCosts)
            text = json.dumps(found.sketch.to_json())
            yield pa.RecordBatch.from_pydict({"sketch": [text], "squares": [found.squares]})

        rows = df.select(*[F.col(quoted(name)) for name in names]).dropna(subset=[quoted(seconds)])
        parts = rows.mapInArrow(sketched, "sketch string, squares double").collect()
        self._model.learn(
            [TaskCosts(CostSketch.from_json(json.loads(row[0])), row[1]) for row in parts]
        )

    def timed(self, function: BatchesFunction) -> BatchesFunction:
        """Return a function for ``mapInArrow`` that does the same and is timed.

        It gets a few rows at a time, until enough was measured. The time until it asks for the next
        ones is shared out among the keys of their rows, and known when the job is done.
        """
        reports = self._accumulator()
        gathered = CostKey(self.key, self._placement.sketch())

        def timed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            costs = gathered.begin()
            try:
                yield from function(_timed_slices(batches, costs))
            finally:
                reports.add([costs.result()])

        return timed

    def _check(self, df: DataFrame) -> None:
        for name in self.key:
            if name not in df.columns:
                raise TopologyError(
                    _LABEL, f"'{name}' is no column", f"Columns here: {', '.join(df.columns)}."
                )

    def _known(self, df: DataFrame) -> KnownCost | None:
        self._check(df)
        self._collect()
        if self._model.sketch is None:
            return None
        return KnownCost(tuple(range(len(self.key))), self._model.sketch.copy())

    def _collect(self) -> None:
        if self._reports is None:
            return
        reports, self._reports.value = self._reports.value, []
        sliced = [each for each in reports if isinstance(each, SlicedCosts)]
        tasks = attributed(sliced, self._placement.sketch(), self._model.sketch)
        if tasks:
            self._model.learn(tasks)

    def _accumulator(self) -> Any:
        if self._reports is None:
            context = SparkContext._active_spark_context
            if context is None:
                raise ConfigurationError("there is no Spark session yet. Start one first.")
            self._reports = context.accumulator([], _Lists())
        return self._reports


class _Lists(AccumulatorParam[list[Any]]):
    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802
        value1.extend(value2)
        return value1


def _timed_slices(batches: Iterable[pa.RecordBatch], costs: CallCosts) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if costs.is_full:
            yield batch
            continue
        lengths, nanos = [], []
        for first in range(0, batch.num_rows, SLICE_ROWS):
            part = batch.slice(first, SLICE_ROWS)
            start = time.perf_counter_ns()
            yield part
            nanos.append(time.perf_counter_ns() - start)
            lengths.append(part.num_rows)
        costs.add_slices(batch, lengths, nanos)


def _check_number(df: DataFrame, column: Any) -> None:
    if not is_one_of(column, df.columns):
        raise TopologyError(
            _LABEL, f"{shown(column)} is no column", f"Columns here: {', '.join(df.columns)}."
        )
    if not isinstance(df.schema[column].dataType, NumericType):
        kind = df.schema[column].dataType.simpleString()
        raise TopologyError(_LABEL, f"'{column}' is {kind}", "Name a column of numbers.")


def _keeps_order(df: DataFrame) -> bool:
    """Whether a partition that is computed again surely has its rows in the same order."""
    java: Any = df._jdf
    nodes = [java.queryExecution().optimizedPlan()]
    while nodes:
        node = nodes.pop()
        name = str(node.nodeName())
        if name == "LogicalRDD":
            if str(node.rdd().outputDeterministicLevel()) != "DETERMINATE":
                return False
        elif name == "LogicalRelation":
            if str(node.relation().getClass().getSimpleName()) != "HadoopFsRelation":
                return False  # a database may answer in another order
        elif name not in _PLAIN:
            return False
        children = node.children()
        nodes += [children.apply(number) for number in range(children.size())]
    return True
