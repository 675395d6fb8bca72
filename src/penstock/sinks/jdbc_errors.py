"""What a database's error means for the person who wrote the job, and whether it will pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.errors import SinkError, SinkUnavailable, first_line
from penstock.patience import is_away
from penstock.sinks.postgres import create_table

DRIVER_COORDINATE = "org.postgresql:postgresql:42.7.7"

_UNDEFINED_TABLE = ("42P01", "3F000")
_UNDEFINED_COLUMN = "42703"
_NO_UNIQUE_KEY = "42P10"
_ROW_TWICE = "21000"
# An error of a task comes to the driver as text where the driver can't load its class, and then
# without its SQLSTATE.
_AWAY_IN_WORDS = re.compile(
    r"PSQLException: .*("
    r"terminating connection due to|the database system is |too many clients|"
    r"I/O error occurred while|connection has been closed|connection attempt failed|"
    r"Connection to .* refused|Connection attempt timed out)"
)


@dataclass(frozen=True, slots=True)
class Told:
    """What a sink knows when the database refuses something."""

    sink: str
    table: str
    keys: Sequence[str]
    driver: str
    schema: StructType | None = None
    batch_id: int | None = None


def as_sink_error(spark: SparkSession, error: Py4JJavaError, told: Told) -> SinkError:
    """Say what was wrong and what to do; ``SinkUnavailable`` where it may be gone by itself."""
    if _is_class_missing(spark, error):
        return SinkError(
            f"{told.sink} needs the JDBC driver {told.driver}, which this "
            f"Spark session does not have. Add it where the session is made: "
            f"SparkSession.builder.config('spark.jars.packages', '{DRIVER_COORDINATE}')"
        )
    state = _sql_state(spark, error)
    message = str(error.java_exception.getMessage())
    if is_away(state):
        return SinkUnavailable(f"{told.sink} can't be reached: {first_line(message)}")
    return SinkError(_explained(state, message, told))


def lost_in_a_task(spark: SparkSession, error: Py4JJavaError, told: Told) -> SinkError | None:
    """Return that the connection of a task was lost, where that is why a Spark job failed."""
    text = str(error.java_exception.getMessage())
    found = _AWAY_IN_WORDS.search(text)
    if "UnknownReason" in text and not _can_read_errors(spark, told.driver):
        return SinkUnavailable(
            f"{told.sink} was lost while rows were written, or refused them. Which of the two "
            f"Spark can't tell, since its driver was added by ADD JAR. Add it where the session "
            f"is made: SparkSession.builder.config('spark.jars.packages', '{DRIVER_COORDINATE}')"
        )
    if found is None and not is_away(_sql_state(spark, error)):
        return None
    words = found.group(0).partition(": ")[2] if found else first_line(text)
    return SinkUnavailable(f"{told.sink} was lost while rows were written: {words}")


def _explained(state: str | None, message: str, told: Told) -> str:
    if state in _UNDEFINED_TABLE and told.schema is not None:
        return (
            f"{told.sink}: there is no such table. Make it first: "
            f"{create_table(told.table, told.schema, told.keys)}"
        )
    if state == _UNDEFINED_COLUMN and told.schema is not None:
        return (
            f"{told.sink}: the table lacks a column of the rows ({message}). The rows "
            f"have {told.schema.names}; add the column to the table or drop it from the rows"
        )
    if state == _NO_UNIQUE_KEY:
        keys = ", ".join(told.keys)
        return (
            f"{told.sink}: no primary key or unique index on exactly ({keys}), which an "
            f"upsert needs. Make one, or set keys to the columns of the one there is"
        )
    if state == _ROW_TWICE:
        return (
            f"{told.sink} got different rows with the same key {list(told.keys)} in "
            f"batch {told.batch_id}, and can't know which one counts. Name the column whose "
            f"greatest value wins: order_by='...', or aggregate the rows by the key first"
        )
    return f"{told.sink} failed: {message}"


def _can_read_errors(spark: SparkSession, driver: str) -> bool:
    """Whether the application has the driver, not the session alone, which ADD JAR gives it.

    Errors of tasks are read with the application's classes; of others there is not even a text.
    """
    jvm: Any = spark._jvm
    loader = spark._jsparkSession.sharedState().jarClassLoader().getParent()
    try:
        jvm.java.lang.Class.forName(driver, False, loader)
    except Py4JJavaError:
        return False
    return True


def _sql_state(spark: SparkSession, error: Py4JJavaError) -> str | None:
    """The five-character SQLSTATE of a database error or of what caused it, None without one."""
    for each in _causes(error.java_exception):
        if is_instance_of(spark.sparkContext._gateway, each, "java.sql.SQLException"):
            state = each.getSQLState()
            return None if state is None else str(state)
    return None


def _causes(java_exception: Any) -> Iterator[Any]:
    while java_exception is not None:
        yield java_exception
        java_exception = java_exception.getCause()


def _is_class_missing(spark: SparkSession, error: Py4JJavaError) -> bool:
    gateway = spark.sparkContext._gateway
    return bool(is_instance_of(gateway, error.java_exception, "java.lang.ClassNotFoundException"))
