from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pyspark import SparkContext, cloudpickle
from pyspark.sql import SparkSession

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
# Spark starts its workers with the first python3 it finds, which need not be this one.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

# The same examples on every machine, so that a change is judged by itself alone. New ones are tried
# with HYPOTHESIS_PROFILE=explore.
settings.register_profile(
    "penstock",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=True,
)
settings.register_profile("explore", settings.get_profile("penstock"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "penstock"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for the whole run: starting one takes seconds."""
    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[4]")
        .appName("penstock-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.driver.memory", "2g")
        # On two cores a JVM of a few minutes would spend most of them compiling.
        .config(
            "spark.driver.extraJavaOptions",
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
        )
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _ship_test_functions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Send functions of test modules to Spark's workers by value: they can't import them."""
    module = getattr(request, "module", None)
    if module is None:
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture(scope="module", autouse=True)
def _nothing_stays_cached() -> Iterator[None]:
    """Let the file that leaves rows cached fail, not the next one that looks for them."""
    yield
    context = SparkContext._active_spark_context
    if context is not None:
        java: Any = context._jsc
        assert [info.name() for info in java.sc().getRDDStorageInfo()] == []
