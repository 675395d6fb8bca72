"""One number for each row, by all that is in it."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

from penstock.engine.schemas import quoted

_AS_TEXT = (ArrayType, MapType, StructType, VariantType)


def row_hash(schema: StructType) -> Column:
    """Return a number that a row has again when it is computed again, wherever it stands then.

    Spark hashes no maps, and passes over nulls: without a mark for them, rows that have the same
    values in different columns would be one.
    """
    parts = []
    for field in schema.fields:
        column = F.col(quoted(field.name))
        is_text = isinstance(field.dataType, _AS_TEXT)
        parts += [column.cast("string") if is_text else column, column.isNull()]
    return F.xxhash64(*parts)
