"""One local Spark session for all tests of a process."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.arguments import checked
from penstock.classic_session import require_session
from penstock.errors import ConfigurationError

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # Tests end before the better compiler has paid for itself. With it, Java would also leave out
    # most of the room for compiled code, which hundreds of queries fill; then all get slow.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
    ),
    "spark.ui.showConsoleProgress": "false",
}


def given_or_own(spark: object) -> SparkSession:
    """Return the session that a test gave, or that of ``spark_session()``."""
    if spark is None:
        return spark_session()
    return require_session(spark, "penstock.testing", "spark=spark_session()")


@checked
def spark_session(*, slots: int = 2, settings: dict[str, str] | None = None) -> SparkSession:
    """Return the session that runs in this process; the first call starts a local one.

    Starting takes seconds, so there is one for all tests, and it ends with the process. A session
    that you or another fixture started is taken as it is.

    Parameters
    ----------
    slots
        How many tasks run at once, where a session is started.
    settings
        Further settings of Spark for it, such as ``{"spark.jars": "driver.jar"}``. They can't
        change a session that runs already, and are refused then.

    Examples
    --------
    >>> spark = spark_session()
    >>> spark_session() is spark
    True

    As a fixture:

    >>> import pytest
    >>> @pytest.fixture(scope="session")
    ... def spark():
    ...     return spark_session()

    """
    if slots < 1:
        raise ConfigurationError(f"slots={slots} run no task. Write 1 or more.")
    there = _running()
    if there is None:
        return _start(slots, settings or {})
    for key, value in (settings or {}).items():
        if there.conf.get(key, None) != value:
            raise ConfigurationError(
                f"a Spark session runs already, without {key}={value!r}. Ask for the session with "
                "these settings before anything else starts one, or leave them out."
            )
    return there


def _running() -> SparkSession | None:
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    # Without settings: the builder would write them into the session that it finds.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


def _start(slots: int, settings: dict[str, str]) -> SparkSession:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark starts its workers with the first python3 it finds, which need not be this one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scratch = tempfile.mkdtemp(prefix="penstock-testing-")
    builder = SparkSession.builder.master(f"local[{slots}]").appName("penstock.testing")
    places = {
        "spark.sql.warehouse.dir": os.path.join(scratch, "warehouse"),
        "spark.local.dir": os.path.join(scratch, "local"),
        # Workers import what the test imports, also from directories that only pytest knows.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    for key, value in (_SETTINGS | places | settings).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    atexit.register(_end, session, scratch)
    return session


def _end(session: SparkSession, scratch: str) -> None:
    session.stop()
    shutil.rmtree(scratch, ignore_errors=True)
