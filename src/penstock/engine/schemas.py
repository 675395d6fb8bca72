"""Between Spark's schemas and the topology's, and what Spark says of an expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkTypeError
from pyspark.logger import PySparkLogger
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

from penstock.arguments import is_text, shown
from penstock.errors import TopologyError
from penstock.topology.schema import Column, Schema

RESERVED = "_penstock_"


def schema_of(struct: StructType) -> Schema:
    """Return a Spark schema as the topology's."""
    return Schema(
        tuple(Column(f.name, f.dataType.simpleString(), f.nullable) for f in struct.fields)
    )


def parse_schema(operator: str, schema: Any) -> StructType:
    """Read the schema that a user declared for a function's rows."""
    if isinstance(schema, StructType):
        parsed: DataType = schema
    elif isinstance(schema, str):
        check_text(operator, schema)
        try:
            with _without_spark_log():
                parsed = DataType.fromDDL(schema)
        except (ParseException, AnalysisException) as error:
            raise TopologyError(
                operator, f"the schema {schema!r} is not readable: {_first_line(error)}", _REMEDY
            ) from None
    else:
        raise TopologyError(operator, f"the schema is a {type(schema).__name__}", _REMEDY)
    if not isinstance(parsed, StructType) or not parsed.fields:
        raise TopologyError(operator, f"the schema {schema!r} names no columns", _REMEDY)
    check_columns(operator, parsed, "Name each column once")
    check_arrow(operator, parsed)
    return parsed


def check_text(operator: str, given: Any) -> None:
    """Refuse a text that can't be sent to Spark; what is no text is looked at elsewhere."""
    if isinstance(given, str) and not is_text(given):
        raise TopologyError(
            operator,
            f"{shown(given)} holds half of a letter, which can't be sent to Spark",
            "Write whole letters; bytes become text with .decode('utf-8').",
        )


_REMEDY = "Write it like 'user string, rate double NOT NULL', or as a StructType."


def arrow_schema(struct: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark wants back from Python for these columns."""
    return to_arrow_schema(struct, timezone="UTC")


def check_arrow(operator: str, struct: StructType) -> None:
    """Refuse columns of a type in which rows can't travel between Spark and Python."""
    for field in struct.fields:
        try:
            arrow_schema(StructType([field]))
        except PySparkTypeError:
            raise TopologyError(
                operator,
                f"column '{field.name}' is {field.dataType.simpleString()}, "
                "which can't travel between Spark and Python",
                f"Use another type, such as string: select('string({field.name}) AS ...') "
                "before it, if it is a column that comes in.",
            ) from None


def quoted(name: str) -> str:
    """Quote a column's name, so that Spark takes dots and backticks in it as they are.

    >>> quoted("net.rate"), quoted("a`b")
    ('`net.rate`', '`a``b`')
    """
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def columns_named(names: Iterable[str]) -> list[SparkColumn]:
    """Return the columns of these names, whatever is in a name."""
    return [F.col(quoted(name)) for name in names]


def as_column(expression: str | SparkColumn) -> SparkColumn:
    """Return a Column as it is, and SQL text as a Column."""
    return F.expr(expression) if isinstance(expression, str) else expression


def prototype(spark: SparkSession, struct: StructType) -> DataFrame:
    """Return an empty DataFrame of a schema, to try expressions on."""
    return spark.createDataFrame([], struct)


def analysed(operator: str, what: str, make: Callable[[], DataFrame], before: Schema) -> DataFrame:
    """Try an expression on empty data; turn Spark's complaint into one that names the operator."""
    try:
        with _without_spark_log():
            return make()
    except (AnalysisException, ParseException) as error:
        unknown = _UNRESOLVED.search(str(error))
        problem = (
            f"unknown column {unknown.group(1)} in {what}"
            if unknown
            else f"Spark does not accept {what}: {_first_line(error)}"
        )
        raise TopologyError(
            operator, problem, f"Columns here: {', '.join(before.names)}."
        ) from None


@contextmanager
def _without_spark_log() -> Iterator[None]:
    """Keep PySpark from printing a JVM stack for a mistake that is told in a sentence."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


_UNRESOLVED = re.compile(r"\[UNRESOLVED_COLUMN[^\]]*\].*?with name (`.+?`) cannot be", re.DOTALL)


def check_streamable(operator: str, what: str, df: DataFrame) -> bool:
    """Refuse what only makes sense over a whole table; say whether rows map one to one.

    A sum over a micro-batch is a sum over whatever happened to arrive in it.
    """
    plan = df._jdf.queryExecution().analyzed()
    nodes = node_names(plan)
    for node in nodes:
        if node in ("Aggregate", "Window", "Sort", "Deduplicate", "Distinct"):
            raise TopologyError(
                operator,
                f"{what} needs all rows of the stream, and a micro-batch holds some",
                "Aggregate in windows, or in the sink.",
            )
    return "Generate" not in nodes


def node_names(plan: Any) -> list[str]:
    """Name the kinds of all nodes of a logical plan."""
    names, queue = [], [plan]
    while queue:
        node = queue.pop()
        names.append(str(node.nodeName()))
        children = node.children()
        queue.extend(children.apply(i) for i in range(children.size()))
    return names


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", text).rstrip(".")


def _duplicate(names: list[str]) -> str | None:
    """Find a name that is there twice; to Spark, names that differ only in case are the same."""
    folded = [name.casefold() for name in names]
    return next((name for i, name in enumerate(names) if folded[i] in folded[:i]), None)


def check_columns(operator: str, struct: StructType, remedy: str) -> None:
    """Refuse columns of which two have one name, or one has a name that the engine needs."""
    twice = _duplicate(struct.names)
    if twice:
        raise TopologyError(operator, f"column '{twice}' is there twice", f"{remedy}.")
    for name in struct.names:
        if name.casefold().startswith(RESERVED):
            raise TopologyError(
                operator,
                f"the column name '{name}' is Penstock's own",
                f"Choose one that does not start with {RESERVED}.",
            )
