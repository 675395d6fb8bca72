"""Upsert into a PostgreSQL table, one transaction per batch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.arguments import checked
from penstock.errors import ConfigurationError, PenstockError, SinkError
from penstock.sinks.jdbc_connection import (
    is_class_missing,
    session_classes,
    sql_state,
    transaction,
)
from penstock.sinks.postgres import (
    Upsert,
    column_type,
    create_table,
    drop_leftovers,
    quote_table,
    staging_prefix,
)

_DRIVER_COORDINATE = "org.postgresql:postgresql:42.7.7"
_OWN_OPTIONS = ("url", "dbtable", "query", "driver", "user")
_DEFAULT_OPTIONS = {
    # Many rows per INSERT statement: several times faster.
    "reWriteBatchedInserts": "true",
    # Strings take the type of their column, so text goes into uuid, jsonb and enum columns.
    "stringtype": "unspecified",
}

_UNDEFINED_TABLE = ("42P01", "3F000")
_UNDEFINED_COLUMN = "42703"
_NO_UNIQUE_KEY = "42P10"
_ROW_TWICE = "21000"


class JdbcSink:
    """Brings every batch into a table by its keys; a batch sent again upserts again.

    Spark writes the batch into a staging table of its own with one job. One transaction then
    upserts from there and drops the staging table, so readers see a batch whole or not at all.
    """

    reads_all = True

    @checked
    def __init__(
        self,
        url: str,
        table: str,
        keys: Sequence[str],
        *,
        order_by: str | None = None,
        user: str | None = None,
        password: str | None = None,
        options: Mapping[str, str] | None = None,
        driver: str = "org.postgresql.Driver",
    ) -> None:
        _check_settings(url, table, keys, options or {})
        self.table = table
        self._url = url
        self._keys = tuple(keys)
        self._order_by = order_by
        self._secrets = {password} if password else set()
        self._options = {**_DEFAULT_OPTIONS, **(options or {}), "url": url, "driver": driver}
        if user is not None:
            self._options["user"] = user
        if password is not None:
            self._options["password"] = password
        self._staging_prefix: str | None = None

    def __repr__(self) -> str:
        return self.describe()

    def open(self, query_id: str) -> None:
        """Connect, and drop the staging tables that a crash left."""
        self._staging_prefix = staging_prefix(query_id, self.table)
        with self._transaction(SparkSession.active()) as statement:
            statement.execute(drop_leftovers(self._staging_prefix))

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Upsert one batch whole, or raise and change nothing in the table."""
        if self._staging_prefix is None:
            raise SinkError(f"{self.describe()} got batch {batch_id} before open(query_id)")
        self.check(df.columns)
        self._check_types(df.schema)
        upsert = Upsert(
            table=self.table,
            columns=tuple(df.columns),
            keys=self._keys,
            staging_name=f"{self._staging_prefix}{batch_id}",
            order_by=self._order_by,
        )
        spark = df.sparkSession
        self._prepare(spark, upsert, df.schema)
        try:
            self._stage(df, upsert)
            self._merge(spark, upsert, batch_id)
        except BaseException:
            # The first error is the one to show; open() drops what can't be dropped now.
            with suppress(PenstockError), self._transaction(spark) as statement:
                statement.execute(upsert.drop_staging())
            raise

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns of which two have one name, or that lack a key or ``order_by``."""
        repeated = [name for name, times in Counter(columns).items() if times > 1]
        if repeated:
            raise SinkError(f"{self.describe()} got the column '{repeated[0]}' more than once")
        wanted = [*self._keys, *([self._order_by] if self._order_by else [])]
        for name in wanted:
            if name not in columns:
                raise SinkError(
                    f"{self.describe()} is told to use the column '{name}' (keys or order_by), "
                    f"which is not among {', '.join(columns)}"
                )

    def describe(self) -> str:
        """Database and table, without user or password."""
        return f"jdbc({self._url.partition('?')[0]}, {self.table})"

    def _prepare(self, spark: SparkSession, upsert: Upsert, schema: StructType) -> None:
        with self._transaction(spark, schema=schema) as statement:
            statement.execute(upsert.check())
            statement.execute(upsert.drop_staging())
            statement.execute(upsert.create_staging())

    def _stage(self, df: DataFrame, upsert: Upsert) -> None:
        options = {**self._options, "dbtable": upsert.staging}
        with session_classes(df.sparkSession):
            df.write.format("jdbc").mode("append").options(**options).save()

    def _merge(self, spark: SparkSession, upsert: Upsert, batch_id: int) -> None:
        with self._transaction(spark, batch_id=batch_id) as statement:
            counted = statement.executeQuery(upsert.count_null_keys())
            counted.next()
            null_keys = counted.getLong(1)
            if null_keys:
                raise SinkError(
                    f"{self.describe()} got {null_keys} rows in batch {batch_id} with NULL in a "
                    f"key {list(self._keys)}. Filter them out or give the key a value"
                )
            statement.execute(upsert.merge())
            statement.execute(upsert.drop_staging())

    @contextmanager
    def _transaction(
        self,
        spark: SparkSession,
        schema: StructType | None = None,
        batch_id: int | None = None,
    ) -> Iterator[Any]:
        """A transaction whose database errors come out as SinkError, with what to do."""
        # Spark wants a dbtable even for a bare connection; it is not looked at.
        options = {**self._options, "dbtable": quote_table(self.table)}
        try:
            with transaction(spark, options) as statement:
                yield statement
        except Py4JJavaError as error:
            raise SinkError(self._explain(spark, error, schema, batch_id)) from error

    def _explain(
        self,
        spark: SparkSession,
        error: Py4JJavaError,
        schema: StructType | None,
        batch_id: int | None,
    ) -> str:
        if is_class_missing(spark, error):
            return (
                f"{self.describe()} needs the JDBC driver {self._options['driver']}, which this "
                f"Spark session does not have. Add it where the session is made: "
                f"SparkSession.builder.config('spark.jars.packages', '{_DRIVER_COORDINATE}')"
            )
        state = sql_state(spark, error)
        message = self._redacted(str(error.java_exception.getMessage()))
        if state in _UNDEFINED_TABLE and schema is not None:
            return (
                f"{self.describe()}: there is no such table. Make it first: "
                f"{create_table(self.table, schema, self._keys)}"
            )
        if state == _UNDEFINED_COLUMN and schema is not None:
            return (
                f"{self.describe()}: the table lacks a column of the rows ({message}). The rows "
                f"have {schema.names}; add the column to the table or drop it from the rows"
            )
        if state == _NO_UNIQUE_KEY:
            keys = ", ".join(self._keys)
            return (
                f"{self.describe()}: no primary key or unique index on exactly ({keys}), which an "
                f"upsert needs. Make one, or set keys to the columns of the one there is"
            )
        if state == _ROW_TWICE:
            return (
                f"{self.describe()} got different rows with the same key {list(self._keys)} in "
                f"batch {batch_id}, and can't know which one counts. Name the column whose "
                f"greatest value wins: order_by='...', or aggregate the rows by the key first"
            )
        return f"{self.describe()} failed: {message}"

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _check_types(self, schema: StructType) -> None:
        for field in schema.fields:
            if column_type(field.dataType) is None:
                kind = field.dataType.simpleString()
                raise SinkError(
                    f"{self.describe()} can't hold the column '{field.name}' of type {kind}. "
                    f"Select plain columns out of it, for example "
                    f"'{field.name}.start AS {field.name}_start', or turn it into text by to_json"
                )


def _check_settings(url: str, table: str, keys: Sequence[str], options: Mapping[str, str]) -> None:
    if not url.startswith("jdbc:postgresql:"):
        raise ConfigurationError(
            "the jdbc sink writes to PostgreSQL, so its url starts with 'jdbc:postgresql:', "
            "for example 'jdbc:postgresql://db.example.com/shop'"
        )
    # Urls end up in logs and errors of Spark and the driver, so they must hold no secret.
    if re.search(r"password|//[^/?]*@", url, re.IGNORECASE):
        raise ConfigurationError(
            "the url of the jdbc sink holds a password or a user before '@'. "
            "Write jdbc(url, ..., user=..., password=...) instead"
        )
    if not all(table.split(".")) or "\0" in table:
        raise ConfigurationError(f"'{table}' is not a table. Write 'table' or 'schema.table'")
    if isinstance(keys, str) or not keys:
        raise ConfigurationError(
            f"keys={keys!r} of the jdbc sink must be a list of columns, such as keys=['user_id']"
        )
    for name in options:
        if name.lower() in _OWN_OPTIONS or "password" in name.lower():
            raise ConfigurationError(
                f"the option '{name}' of the jdbc sink has an argument of its own, or is a secret "
                f"that options can't keep. Use jdbc(url, table, keys, user=..., password=...)"
            )
