"""Rows as tests write them, made into Arrow tables of a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.conversion import LocalDataToArrowConversion
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType, _make_type_verifier

from penstock.engine.schemas import parse_schema
from penstock.errors import ConfigurationError

Batch: TypeAlias = Sequence[Mapping[str, Any] | Row | tuple[Any, ...]] | pd.DataFrame | DataFrame
_EXAMPLE = "[{'user': 1}, {'user': 2}]"


def schema_for(
    given: str | StructType | None, batches: Sequence[Batch], spark: SparkSession
) -> StructType:
    """Return the schema that was given, or the one that Spark sees in the first rows."""
    if given is not None:
        return parse_schema("schema", given)
    for batch in batches:
        if isinstance(batch, DataFrame):
            return batch.schema
        if len(batch):
            rows = batch if isinstance(batch, pd.DataFrame) else list(batch)
            try:
                return spark.createDataFrame(rows).schema
            except (PySparkException, TypeError) as error:
                raise ConfigurationError(
                    f"the columns can't be told from the rows: {error} Give them, such as "
                    "schema='user bigint, ts timestamp'."
                ) from None
    raise ConfigurationError(
        "there is no row to tell the columns from. Give them, such as "
        "schema='user bigint, ts timestamp'."
    )


def rows_of(batch: Batch, schema: StructType, spark: SparkSession, where: str) -> list[Row]:
    """Return the rows of a batch with the columns of a schema, each value checked for its type."""
    if isinstance(batch, pd.DataFrame):
        return [*spark.createDataFrame(batch, schema).collect()]
    if isinstance(batch, DataFrame):
        batch = batch.collect()
    if isinstance(batch, str | bytes | Mapping) or not isinstance(batch, Sequence):
        raise ConfigurationError(
            f"{where} is a {type(batch).__name__}. Write a list of rows, such as {_EXAMPLE}."
        )
    make, verify = Row(*schema.names), _make_type_verifier(schema)
    rows = []
    for number, given in enumerate(batch):
        row = make(*_values(given, schema, f"row {number} of {where}"))
        try:
            verify(row)
        except PySparkException as error:
            raise ConfigurationError(
                f"row {number} of {where} does not fit the schema: {error}"
            ) from None
        rows.append(row)
    return rows


def as_table(rows: Sequence[Row], schema: StructType) -> pa.Table:
    """Return rows as Arrow, with the times of naive datetimes as Spark reads them."""
    if rows:
        return LocalDataToArrowConversion.convert(list(rows), schema, False)
    return to_arrow_schema(schema, timezone="UTC").empty_table()


def _values(given: Any, schema: StructType, where: str) -> Sequence[Any]:
    if isinstance(given, Row) and hasattr(given, "__fields__"):
        given = given.asDict()
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if name not in schema.names]
        if unknown:
            raise ConfigurationError(
                f"{where} has {', '.join(unknown)}, which is not among the columns "
                f"{', '.join(schema.names)}. Correct the row, or add it to the schema."
            )
        return [given.get(name) for name in schema.names]
    if not isinstance(given, tuple | list):
        raise ConfigurationError(
            f"{where} is a {type(given).__name__}. Write a dict, or a tuple with a value for each "
            "column."
        )
    if len(given) != len(schema):
        raise ConfigurationError(
            f"{where} has {len(given)} values for the {len(schema)} columns "
            f"{', '.join(schema.names)}. Write one for each."
        )
    return given
