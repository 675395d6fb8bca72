"""Rows on their way to the owner of their key group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType, StructType

from penstock.engine.arrived_rows import NO_ROW
from penstock.engine.columns import ARRIVAL, HASH, TASK
from penstock.engine.compiled_batch import Rows
from penstock.engine.row_hash import row_hash
from penstock.engine.schemas import quoted
from penstock.placement.group_table import GroupTable
from penstock.topology.operators import Process


@dataclass(frozen=True, slots=True)
class Route:
    """Where rows go in one micro-batch, and which groups have timers that may have come."""

    table: GroupTable
    due: Collection[int]


def with_marks(rows: Rows, operator: Process, *, in_sequence: bool, in_place: bool = False) -> Rows:
    """Give every row the hash of its key and its number of arrival.

    ``in_sequence`` says that rows of a key come in the same order whenever they are computed.
    Those that are ``in_place``, with their key, are also told the task that they are in: Spark's
    own number of a task is another one in a union.
    """
    task = {TASK: F.spark_partition_id()} if in_place else {}
    own_hash = key_hash(operator.rows, operator.keys)
    arrival = _arrival(rows.ordered or in_sequence, operator.rows)
    return replace(rows, df=rows.df.withColumns({**task, HASH: own_hash, ARRIVAL: arrival}))


def moved_by_key(rows: Rows, keys: Sequence[str], route: Route) -> Rows:
    """Send every row to the task that owns its key's group, for an operator further on.

    They are there in the order in which they came, where they have one.
    """
    hashed = rows.df.withColumn(HASH, key_hash(rows.df.schema, keys))
    placed = hashed.withColumn(TASK, owner(route.table)).drop(HASH)
    if rows.ordered:
        placed = placed.withColumn(ARRIVAL, F.monotonically_increasing_id())
    moved = placed.repartitionById(route.table.tasks, F.col(TASK)).drop(TASK)
    if rows.ordered:
        moved = moved.sortWithinPartitions(ARRIVAL).drop(ARRIVAL)
    return Rows(moved, route.table.tasks, ordered=rows.ordered)


def routed(rows: Rows, operator: Process, route: Route, *, in_sequence: bool) -> Rows:
    """Send every row to the task that owns its key's group, with its hash and number of arrival.

    A group whose timers may have come gets a row that says so, also where it has no other.
    """
    marked = with_marks(rows, operator, in_sequence=in_sequence).df
    if route.due:
        marked = marked.union(_due_groups(marked, operator.groups, route.due))
    tasks = route.table.tasks
    if tasks == 1 and rows.partitions == 1 and not route.due:
        return Rows(marked, 1, ordered=False)
    marked = marked.withColumn(TASK, owner(route.table))
    moved = marked.repartitionById(tasks, F.col(TASK)).drop(TASK)
    return Rows(moved, tasks, ordered=False)


def key_hash(struct: StructType, keys: Iterable[str]) -> Column:
    """Return one number for each key that Spark's ``groupBy`` tells apart."""
    return F.xxhash64(*[_normalised(name, struct[name].dataType) for name in keys])


def owner(table: GroupTable) -> Column:
    """Return the task that owns a row's key, by the hash of the key."""
    group = F.pmod(F.col(HASH), F.lit(table.groups))
    return F.element_at(_array(table.owners), (group + 1).cast("int")).cast("int")


def _normalised(name: str, kind: DataType) -> Column:
    """Return a key of which equal values hash alike, as equal as ``groupBy`` takes them for."""
    column = F.col(quoted(name))
    if isinstance(kind, FloatType | DoubleType):
        zero, nan = F.lit(0.0).cast(kind), F.lit(float("nan")).cast(kind)
        return F.when(F.isnan(column), nan).when(column == 0, zero).otherwise(column)
    return column


def _arrival(ordered: bool, struct: StructType) -> Column:
    """Number the rows; a partition that is computed again must give each the same number.

    Where rows may come in another order then, the number is made of their content.
    """
    if ordered:
        return F.monotonically_increasing_id()
    return F.shiftrightunsigned(row_hash(struct), 1)


def _due_groups(like: DataFrame, groups: int, due: Collection[int]) -> DataFrame:
    """Return a row for each of some groups, all its columns null but those of the engine."""
    is_due = F.element_at(_array(int(group in due) for group in range(groups)), _position())
    empty = [
        F.lit(None).cast(field.dataType).alias(field.name)
        for field in like.schema.fields
        if field.name not in (HASH, ARRIVAL)
    ]
    own = [F.col("id").alias(HASH), F.lit(NO_ROW).cast("long").alias(ARRIVAL)]
    ids = like.sparkSession.range(0, groups, 1, 1)
    return ids.filter(is_due == 1).select(*empty, *own)


def _position() -> Column:
    return (F.col("id") + 1).cast("int")


def _array(values: Iterable[int]) -> Column:
    """Return an array as one literal, which is not written into the code that Spark generates."""
    return F.expr(f"from_json('{list(values)}', 'array<bigint>')")
