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
from penstock.patience import Patience
from penstock.secrets import keep_secret, keep_secrets_of, names_a_secret
from penstock.sinks.jdbc_connection import transaction
from penstock.sinks.jdbc_errors import Told, as_sink_error, lost_in_a_task
from penstock.sinks.postgres import (
    Upsert,
    column_type,
    drop_leftovers,
    staging_prefix,
)
from penstock.sinks.session_classes import session_classes
from penstock.sinks.sink import RETRIES, RETRY_SECONDS
from penstock.sql_names import check_table, quote_table

_OWN_OPTIONS = ("url", "dbtable", "query", "driver", "user")
_DEFAULT_OPTIONS = {
    # Many rows per INSERT statement: several times faster.
    "reWriteBatchedInserts": "true",
    # Strings take the type of their column, so text goes into uuid, jsonb and enum columns.
    "stringtype": "unspecified",
    # A host that is gone without a word is noticed by the kernel, and a server that takes a
    # connection and never answers is given up.
    "tcpKeepAlive": "true",
    "connectTimeout": "10",
    "loginTimeout": "30",
    # No socketTimeout: it would also end a merge that takes long, which then goes on in the server.
}


class JdbcSink:
    """Brings every batch into a table by its keys; a batch sent again upserts again.

    Spark writes the batch into a staging table of its own with one job. One transaction then
    upserts from there and drops the staging table, so readers see a batch whole or not at all.

    A database that can't be reached makes it raise ``SinkUnavailable``, on which the engine sends
    the batch again; with ``retries`` its rows are therefore kept while they are written.
    """

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
        retries: int = RETRIES,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        _check_settings(url, table, keys, options or {})
        patience = Patience.of("the jdbc sink", retries, retry_seconds)
        self.retries, self.retry_seconds = patience.retries, patience.retry_seconds
        self.reads_all = self.retries == 0
        self.table = table
        self._url = url
        self._keys = tuple(keys)
        self._order_by = order_by
        self._options = {**_DEFAULT_OPTIONS, **(options or {}), "url": url, "driver": driver}
        if user is not None:
            self._options["user"] = user
        if password is not None:
            self._options["password"] = password
        keep_secret(password)
        keep_secrets_of(self._options)
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
            self._stage(df, upsert, batch_id)
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

    def _stage(self, df: DataFrame, upsert: Upsert, batch_id: int) -> None:
        options = {**self._options, "dbtable": upsert.staging}
        spark = df.sparkSession
        try:
            with session_classes(spark):
                df.write.format("jdbc").mode("append").options(**options).save()
        except Py4JJavaError as error:
            lost = lost_in_a_task(spark, error, self._told(df.schema, batch_id))
            if lost is None:
                raise
            raise lost from None

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
            # Without the cause: what the driver says may hold the password.
            raise as_sink_error(spark, error, self._told(schema, batch_id)) from None

    def _told(self, schema: StructType | None, batch_id: int | None) -> Told:
        return Told(
            self.describe(), self.table, self._keys, self._options["driver"], schema, batch_id
        )

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
    if names_a_secret(url) or re.search(r"//[^/?]*@", url):
        raise ConfigurationError(
            "the url of the jdbc sink holds a password or a user before '@'. "
            "Write jdbc(url, ..., user=..., password=...) instead"
        )
    check_table(table)
    if isinstance(keys, str) or not keys:
        raise ConfigurationError(
            f"keys={keys!r} of the jdbc sink must be a list of columns, such as keys=['user_id']"
        )
    for name in options:
        if name.lower() in _OWN_OPTIONS or names_a_secret(name):
            raise ConfigurationError(
                f"the option '{name}' of the jdbc sink has an argument of its own, or is a secret "
                f"that options can't keep. Use jdbc(url, table, keys, user=..., password=...)"
            )
