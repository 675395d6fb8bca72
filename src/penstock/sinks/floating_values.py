"""Columns without their floating values, whose last bits depend on the order of a sum."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T


def holds_floats(kind: T.DataType) -> bool:
    """Whether values of a type are floating, or have some within.

    >>> holds_floats(T.ArrayType(T.DoubleType())), holds_floats(T.DecimalType(9, 2))
    (True, False)
    """
    if isinstance(kind, T.StructType):
        return any(holds_floats(field.dataType) for field in kind.fields)
    if isinstance(kind, T.ArrayType):
        return holds_floats(kind.elementType)
    if isinstance(kind, T.MapType):
        return holds_floats(kind.keyType) or holds_floats(kind.valueType)
    return isinstance(kind, T.FractionalType) and not isinstance(kind, T.DecimalType)


def without_floats(column: Column, kind: T.DataType) -> Column:
    """Return a column with null where it has floating values; the rest stays, lengths too."""
    if not holds_floats(kind):
        return column
    if isinstance(kind, T.StructType):
        fields = _fields(column, kind)
        return _unless_null(
            column, F.struct(*(without_floats(each, of).alias(name) for name, each, of in fields))
        )
    if isinstance(kind, T.ArrayType):
        element = kind.elementType
        return F.transform(column, lambda each: without_floats(each, element))
    if isinstance(kind, T.MapType):
        return without_floats(F.map_entries(column), _entries(kind))
    return F.lit(None).cast("string")


def only_floats(column: Column, kind: T.DataType) -> Column:
    """Return the floating values of a column that has some, as what rows can be sorted by."""
    if isinstance(kind, T.StructType):
        floating = [each for each in _fields(column, kind) if holds_floats(each[2])]
        return F.struct(*(only_floats(each, of).alias(name) for name, each, of in floating))
    if isinstance(kind, T.ArrayType):
        element = kind.elementType
        return F.transform(column, lambda each: only_floats(each, element))
    if isinstance(kind, T.MapType):
        return only_floats(F.map_entries(column), _entries(kind))
    return column


def _fields(column: Column, kind: T.StructType) -> list[tuple[str, Column, T.DataType]]:
    """Return fields under names of our own: theirs may be twice, or differ by case alone."""
    names = [f"f{number}" for number in range(len(kind.fields))]
    renamed = T.StructType(
        [
            T.StructField(name, field.dataType)
            for name, field in zip(names, kind.fields, strict=True)
        ]
    )
    column = column.cast(renamed)
    kinds = (field.dataType for field in kind.fields)
    return [(name, column.getField(name), of) for name, of in zip(names, kinds, strict=True)]


def _entries(kind: T.MapType) -> T.ArrayType:
    entry = T.StructType().add("key", kind.keyType, False).add("value", kind.valueType)
    return T.ArrayType(entry, False)


def _unless_null(column: Column, value: Column) -> Column:
    return F.when(column.isNotNull(), value)
