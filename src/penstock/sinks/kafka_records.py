"""From the rows of a batch to Kafka records that say which row of which batch they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock.kafka_ids import ID_HEADER
from penstock.sinks.floating_values import holds_floats, only_floats, without_floats

_NESTED = (T.StructType, T.ArrayType, T.MapType, T.VariantType)
_DIGITS = 32  # of SHA-256 in hexadecimal: 128 bits, so that no two rows of a batch ever share them
# Times whole, and in words that the session's time zone does not change.
_EXACT = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Which columns make a record: None for ``key`` is no key, for ``value`` the row as JSON."""

    key: str | None = None
    value: str | None = None
    headers: tuple[str, ...] = ()
    unique_by: tuple[str, ...] = ()

    def records(self, df: DataFrame, prefix: str) -> DataFrame:
        """Return ``key``, ``value`` and ``headers`` of a record for each row.

        ``prefix`` names the batch. With ``unique_by`` a row is known by those columns. Without, it
        is known by all that its record holds, and equal rows by their number: a task can't count
        what is in others, so that rows with equal content are brought together first. A row's place
        in its task would cost less and be wrong, since another try has other tasks.

        Floating values are no part of what a row is known by: another try adds the same numbers up
        in another order, and a sum then ends in other bits.
        """
        parts = [*self._parts(df)]
        if self.unique_by:
            columns = F.struct(*(F.col(_quoted(name)) for name in self.unique_by))
            row = F.substring(F.sha2(F.to_json(columns, _EXACT), 256), 1, _DIGITS)
            return self._assembled(df.select(*parts, row.alias("row")), prefix)
        if self._is_known_by_the_rest(df):
            return self._assembled(self._numbered_by_floats(df), prefix)
        names = ["key", "value", *self._header_parts]
        counted = df.select(*parts).groupBy(*names).agg(F.count(F.lit(1)).alias("times"))
        numbered = counted.select(
            *names, F.explode(F.sequence(F.lit(1), F.col("times"))).alias("number")
        )
        row = F.concat_ws("-", F.substring(F.sha2(_framed(names), 256), 1, _DIGITS), "number")
        return self._assembled(numbered.withColumn("row", row), prefix)

    def _is_known_by_the_rest(self, df: DataFrame) -> bool:
        """Whether records hold floating values, and rows something else to know them by."""
        named = [name for name in (self.key, self.value, *self.headers) if name is not None]
        held = df.columns if self.value is None else named
        floating = any(holds_floats(df.schema[name].dataType) for name in held)
        return floating and not all(_is_floating(field.dataType) for field in df.schema.fields)

    def _numbered_by_floats(self, df: DataFrame) -> DataFrame:
        """Know rows by all their columns but floating values, in whose order equal ones are.

        By columns that the record does not hold, too: without them all rows of a key may be equal,
        and in one task. By what a record holds come last those that are equal even so: -0.0 and 0.0
        are one number and two texts.
        """
        fields = [(F.col(_quoted(field.name)), field.dataType) for field in df.schema.fields]
        rest = F.struct(*(without_floats(*each).alias(f"c{n}") for n, each in enumerate(fields)))
        floats = F.struct(*(only_floats(*each) for each in fields if holds_floats(each[1])))
        digest = F.substring(F.sha2(F.to_json(rest, _EXACT), 256), 1, _DIGITS)
        names = ["key", "value", *self._header_parts]
        rows = df.select(*self._parts(df), floats.alias("floats"), digest.alias("digest"))
        equal = Window.partitionBy("digest").orderBy("floats", *names)
        row = F.concat_ws("-", "digest", F.row_number().over(equal))
        return rows.select(*names, row.alias("row"))

    @property
    def _header_parts(self) -> list[str]:
        return [f"header_{number}" for number in range(len(self.headers))]

    def _parts(self, df: DataFrame) -> Sequence[Column]:
        key = F.lit(None).cast("binary") if self.key is None else _bytes(df, self.key)
        value = (
            F.to_json(F.struct(*(F.col(_quoted(name)) for name in df.columns))).cast("binary")
            if self.value is None
            else _bytes(df, self.value)
        )
        headers = [
            _bytes(df, column).alias(part)
            for column, part in zip(self.headers, self._header_parts, strict=True)
        ]
        return [key.alias("key"), value.alias("value"), *headers]

    def _assembled(self, rows: DataFrame, prefix: str) -> DataFrame:
        own = [
            _header(name, F.col(part))
            for name, part in zip(self.headers, self._header_parts, strict=True)
        ]
        identity = F.concat(F.lit(f"{prefix}/"), F.col("row")).cast("binary")
        headers = F.array(*own, _header(ID_HEADER, identity))
        return rows.select("key", "value", headers.alias("headers"))


def _is_floating(kind: T.DataType) -> bool:
    """Whether nothing is left of a value without what is floating in it."""
    if isinstance(kind, T.StructType):
        return all(_is_floating(field.dataType) for field in kind.fields)
    return holds_floats(kind) and not isinstance(kind, T.ArrayType | T.MapType)


def _header(name: str, value: Column) -> Column:
    return F.struct(F.lit(name).alias("key"), value.alias("value"))


def _bytes(df: DataFrame, name: str) -> Column:
    """Return a column as the bytes of a record: binary as it is, else as text or JSON."""
    column, kind = F.col(_quoted(name)), df.schema[name].dataType
    if isinstance(kind, T.BinaryType):
        return column
    if isinstance(kind, _NESTED):
        return F.to_json(column).cast("binary")
    return column.cast("string").cast("binary")


def _framed(names: Sequence[str]) -> Column:
    """Put columns of bytes one after another so that no two different rows become the same."""
    pieces: list[Column] = []
    for name in names:
        length = F.coalesce(F.length(name).cast("string"), F.lit("null"))
        pieces += [F.concat(length, F.lit(":")).cast("binary"), F.coalesce(name, F.lit(b""))]
    return F.concat(*pieces)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
