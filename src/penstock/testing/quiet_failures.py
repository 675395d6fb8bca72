"""Keeps Spark from logging what makes a run fail: whoever calls it gets the exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

_SPARK = "org.apache.spark"

_lock = Lock()
_runs = 0
_undo = ExitStack()


@contextmanager
def quiet_failures(spark: SparkSession) -> Iterator[None]:
    """Let Spark log nothing meanwhile, and as before afterwards.

    Where somebody has asked Spark for INFO or more, its log is wanted and stays as it is. Runs may
    overlap: the last to end gives the level back.
    """
    global _runs
    with _lock:
        if _runs == 0:
            _undo.callback(_silence(spark))
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if _runs == 0:
                _undo.close()


def _silence(spark: SparkSession) -> Callable[[], object]:
    """Turn off what Spark's own classes log; return what undoes it."""
    log4j: Any = spark.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    try:
        context = log4j.LogManager.getContext(False)
        found = context.getConfiguration().getLoggerConfig(_SPARK)
        before, is_its_own = found.getLevel(), found.getName() == _SPARK
        if before.isLessSpecificThan(log4j.Level.INFO):
            return lambda: None
        log4j.core.config.Configurator.setLevel(_SPARK, log4j.Level.OFF)
    except (Py4JError, TypeError):  # another library takes the log, whose levels are its own
        return lambda: None

    def undo() -> None:
        if is_its_own:
            log4j.core.config.Configurator.setLevel(_SPARK, before)
            return
        # With a level of its own it would no longer heed SparkContext.setLogLevel.
        context.getConfiguration().removeLogger(_SPARK)
        context.updateLoggers()

    return undo
