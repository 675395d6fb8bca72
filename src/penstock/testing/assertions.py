"""Assertions on rows, with the differences shown as ``pyspark.testing`` shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType
from pyspark.testing import assertDataFrameEqual, assertSchemaEqual

from penstock.arguments import checked, shown
from penstock.engine.schemas import parse_schema
from penstock.errors import ConfigurationError
from penstock.testing.batches_run import BatchesRun
from penstock.testing.calling import called
from penstock.testing.session import given_or_own, spark_session
from penstock.testing.source_rows import rows_of

Rows: TypeAlias = Iterable[Mapping[str, Any] | Row | tuple[Any, ...]] | DataFrame | pd.DataFrame


def assert_rows(
    actual: Rows,
    expected: Rows,
    *,
    schema: str | StructType | None = None,
    check_order: bool = False,
    rtol: float = 1e-5,
    atol: float = 1e-8,
) -> None:
    """Fail unless both are the same rows, and show where they differ.

    Parameters
    ----------
    actual, expected
        Lists of ``Row`` objects, dicts or tuples, or DataFrames of Spark or pandas. Columns are
        compared by name, whatever their order; tuples have those of the other side, in its order.
        A struct may be written as a dict.
    schema
        The columns that both must have, with their types.
    check_order
        Whether the order of the rows counts. Streams promise none.
    rtol, atol
        How far numbers with a fraction may be apart, as in ``pyspark.testing``.

    Examples
    --------
    >>> assert_rows([Row(user="bob", n=2), Row(user="ann", n=1)],
    ...             [{"n": 1, "user": "ann"}, {"n": 2, "user": "bob"}])
    >>> assert_rows([Row(user="ann", n=1)], [("ann", 2)])
    Traceback (most recent call last):
        ...
    pyspark.errors.exceptions.base.PySparkAssertionError: [DIFFERENT_ROWS] ...

    """
    if not isinstance(check_order, bool):
        raise ConfigurationError(
            f"check_order is {shown(check_order)}. Write check_order=True, or leave it out."
        )
    struct = None if schema is None else parse_schema("schema", schema)
    ours, theirs = _listed(actual, struct, "actual"), _listed(expected, struct, "expected")
    names = struct.names if struct else _names(ours) or _names(theirs)
    assertDataFrameEqual(
        [_row(each, names, "actual") for each in ours],
        [_row(each, names, "expected") for each in theirs],
        checkRowOrder=check_order,
        rtol=rtol,
        atol=atol,
    )


@checked
def assert_same_as_batch(
    run: BatchesRun,
    query: Callable[..., DataFrame],
    *,
    sink: str | None = None,
    spark: SparkSession | None = None,
) -> None:
    """Fail unless a sink got what Spark's own batch query gives for all the rows of the run.

    Spark knows no late rows in a batch: where some missed a window, the two differ. Give the run
    ``close_windows=True``, or the newest windows are missing.

    Parameters
    ----------
    run
        What ``run_batches`` returned.
    query
        A function of a DataFrame that returns one; with several sources it is called with a
        DataFrame for each, by keyword.
    sink
        The name of the sink, where there are several.
    spark
        The session; that of ``spark_session()`` unless said.

    Examples
    --------
    >>> from penstock.testing import run_batches
    >>> done = run_batches(lambda stream: stream.filter("n > 1"), [[(1,)], [(2,)]], "n bigint")
    >>> assert_same_as_batch(done, lambda df: df.where("n >= 2"))

    """
    spark = given_or_own(spark)
    if sink is not None and sink not in run.rows.names:
        raise ConfigurationError(
            f"there is no sink {shown(sink)}. There are {', '.join(run.rows.names)}."
        )
    frames = {name: given.df(spark) for name, given in run.inputs.items()}
    expected = called("query", query, frames)
    if not isinstance(expected, DataFrame):
        raise ConfigurationError(
            f"the query returned a {type(expected).__name__}. Return a DataFrame of Spark."
        )
    actual = list(run.rows) if sink is None else run.rows[sink]
    assert_rows(actual, expected)


def _listed(rows: Any, schema: StructType | None, side: str) -> list[Any]:
    if isinstance(rows, DataFrame):
        if schema is not None:
            assertSchemaEqual(rows.schema, schema)
        return [*rows.collect()]
    if isinstance(rows, pd.DataFrame):
        rows = rows.to_dict("records")
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise ConfigurationError(
            f"{side} is a {type(rows).__name__}. Give a list of rows, such as [{{'n': 1}}]."
        )
    listed = list(rows)
    if schema is None:
        return listed
    return list(rows_of(listed, schema, spark_session(), side))


def _names(rows: Sequence[Any]) -> list[str]:
    """Return the columns that the first row with names has."""
    for row in rows:
        if isinstance(row, Mapping):
            return list(row)
        if hasattr(row, "__fields__"):
            return list(row.__fields__)
    return []


def _row(row: Any, names: Sequence[str], side: str) -> Row:
    """Return a row with its columns in one order: pyspark compares values by position alone."""
    if hasattr(row, "__fields__"):
        row = row.asDict()
    if isinstance(row, Mapping):
        assert set(row) == set(names), (
            f"a row of {side} has the columns {', '.join(map(str, row))}, and not "
            f"{', '.join(names)}: {dict(row)}"
        )
        row = tuple(row[name] for name in names)
    if not isinstance(row, tuple | list):
        raise ConfigurationError(
            f"a row of {side} is {shown(row)}. Write a dict, a tuple or a Row for each."
        )
    assert not names or len(row) == len(names), (
        f"a row of {side} has {len(row)} values for the columns {', '.join(names)}: {row}"
    )
    values = [_comparable(value) for value in row]
    return Row(*names)(*values) if names else Row(*values)


def _comparable(value: Any) -> Any:
    """Write structs one way, whether they are rows or dicts."""
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) and value:
        names = sorted(value)
        return Row(*names)(*[_comparable(value[name]) for name in names])
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    return value
