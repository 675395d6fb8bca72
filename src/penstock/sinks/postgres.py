"""The SQL that PostgreSQL needs for an upsert through a staging table; text only, no connection."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import types as T

from penstock.sql_names import quote, quote_table

_COLUMN_TYPES: dict[type[T.DataType], str] = {
    T.BooleanType: "boolean",
    T.ByteType: "smallint",
    T.ShortType: "smallint",
    T.IntegerType: "integer",
    T.LongType: "bigint",
    T.FloatType: "real",
    T.DoubleType: "double precision",
    T.StringType: "text",
    T.BinaryType: "bytea",
    T.DateType: "date",
    T.TimestampType: "timestamp with time zone",
    T.TimestampNTZType: "timestamp",
}


def column_type(data_type: T.DataType) -> str | None:
    """The PostgreSQL type for a Spark type, or None if a column can't hold it.

    >>> column_type(T.DecimalType(12, 2)), column_type(T.ArrayType(T.LongType()))
    ('numeric(12,2)', 'bigint[]')
    """
    if isinstance(data_type, T.DecimalType):
        return f"numeric({data_type.precision},{data_type.scale})"
    if isinstance(data_type, T.ArrayType):
        element = column_type(data_type.elementType)
        return None if element is None else f"{element}[]"
    return _COLUMN_TYPES.get(type(data_type))


def create_table(table: str, schema: T.StructType, keys: Sequence[str]) -> str:
    """The CREATE TABLE that would fit rows of this schema, with the keys as the primary key."""
    columns = [f"{quote(field.name)} {column_type(field.dataType)}" for field in schema.fields]
    columns.append(f"PRIMARY KEY ({_names(keys)})")
    return f"CREATE TABLE {quote_table(table)} ({', '.join(columns)})"


def staging_prefix(query_id: str, table: str) -> str:
    """Start of the names of the staging tables of one query and target.

    A digest: query ids may hold any character, and PostgreSQL cuts names at 63 bytes.
    """
    digest = hashlib.sha256(f"{query_id}\0{table}".encode()).hexdigest()
    return f"penstock_{digest[:20]}_"


def drop_leftovers(prefix: str) -> str:
    """Drop every table whose name starts with a prefix (letters, digits and underscores only)."""
    return (
        "DO $$ DECLARE leftover text; BEGIN "
        "FOR leftover IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
        f"WHERE left(tablename, {len(prefix)}) = '{prefix}' "
        "LOOP EXECUTE 'DROP TABLE ' || leftover; END LOOP; END $$"
    )


@dataclass(frozen=True)
class Upsert:
    """The statements that bring one batch from its staging table into the target.

    Rows that are equal in every column count once: Spark runs a task again when its executor dies
    after committing. Of rows with one key, the greatest ``order_by`` is taken; without it
    PostgreSQL refuses the batch (SQLSTATE 21000).
    """

    table: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    staging_name: str
    order_by: str | None = None

    @property
    def staging(self) -> str:
        """The staging table, quoted, in the schema of the target."""
        schema, dot, _ = self.table.rpartition(".")
        return quote_table(f"{schema}{dot}{self.staging_name}")

    def check(self) -> str:
        """Plans an upsert and runs nothing: fails if the table, a column or the key is missing."""
        return (
            f"EXPLAIN INSERT INTO {quote_table(self.table)} ({_names(self.columns)}) "
            f"SELECT {_names(self.columns)} FROM {quote_table(self.table)} "
            f"ON CONFLICT ({_names(self.keys)}) {self._on_conflict()}"
        )

    def create_staging(self) -> str:
        """Take the column types of the target, so that values are converted as they arrive."""
        return (
            f"CREATE TABLE {self.staging} AS SELECT {_names(self.columns)} "
            f"FROM {quote_table(self.table)} WITH NO DATA"
        )

    def drop_staging(self) -> str:
        """Drop the staging table, if it is there."""
        return f"DROP TABLE IF EXISTS {self.staging}"

    def count_null_keys(self) -> str:
        """Count rows without a whole key; a unique index would let them in at every replay."""
        null = " OR ".join(f"{quote(key)} IS NULL" for key in self.keys)
        return f"SELECT count(*) FROM {self.staging} WHERE {null}"

    def merge(self) -> str:
        """Insert new keys and update the others."""
        keys = _names(self.keys)
        # The row's text compares every type, json too, and makes the choice the same at a replay.
        row = "penstock_row::text"
        if self.order_by is None:
            distinct, order = f"{keys}, {row}", ""
        else:
            distinct = keys
            order = f" ORDER BY {keys}, {quote(self.order_by)} DESC NULLS LAST, {row} DESC"
        return (
            f"INSERT INTO {quote_table(self.table)} ({_names(self.columns)}) "
            f"SELECT DISTINCT ON ({distinct}) {_names(self.columns)} "
            f"FROM {self.staging} AS penstock_row{order} "
            f"ON CONFLICT ({keys}) {self._on_conflict()}"
        )

    def _on_conflict(self) -> str:
        updated = [quote(name) for name in self.columns if name not in self.keys]
        if not updated:
            return "DO NOTHING"
        return "DO UPDATE SET " + ", ".join(f"{name} = EXCLUDED.{name}" for name in updated)


def _names(names: Sequence[str]) -> str:
    return ", ".join(quote(name) for name in names)
