"""A connection to a database from the driver process, through Spark's own JDBC classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.sinks.session_classes import session_classes


@contextmanager
def transaction(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Any]:
    """Give a ``java.sql.Statement``; commit at the end, roll back if the body raises.

    ``options`` are those of Spark's JDBC source: url, dbtable, driver, user, password and the rest.
    """
    connection = _connect(spark, options)
    try:
        connection.setAutoCommit(False)
        statement = connection.createStatement()
        # Braces in names are names, not JDBC's escapes.
        statement.setEscapeProcessing(False)
        try:
            yield statement
        except BaseException:
            # A connection that broke can't roll back either; the server does when it notices.
            with suppress(Py4JJavaError):
                connection.rollback()
            raise
        connection.commit()
    finally:
        # What was committed stays so, even if the server went away before the goodbye.
        with suppress(Py4JJavaError):
            connection.close()


def _connect(spark: SparkSession, options: Mapping[str, str]) -> Any:
    jvm: Any = spark._jvm
    java_options = jvm.java.util.HashMap()
    for name, value in options.items():
        java_options.put(name, value)
    # java.sql.DriverManager sees only the JVM's own class path; Spark gets around that.
    with session_classes(spark):
        jdbc_options = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(
            jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(java_options)
        )
        dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(options["url"])
        return dialect.createConnectionFactory(jdbc_options).apply(-1)
