from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pyspark import SparkContext, cloudpickle

from penstock import secrets

# It holds no examples, and a conftest of a directory that came before has its name by then.
collect_ignore = ["conftest.py"]

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


@pytest.fixture(autouse=True)
def _no_secret_outlives_its_test() -> Iterator[None]:
    """Give each test a process that knows no secret: another's would be hidden in its texts."""
    secrets._known.forget()
    yield
    secrets._known.forget()


@pytest.fixture(scope="module", autouse=True)
def _nothing_stays_cached() -> Iterator[None]:
    """Let the file that leaves rows cached fail, not the next one that looks for them."""
    yield
    context = SparkContext._active_spark_context
    if context is not None:
        java: Any = context._jsc
        assert [info.name() for info in java.sc().getRDDStorageInfo()] == []
