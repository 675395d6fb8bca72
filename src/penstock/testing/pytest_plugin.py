"""A plug-in of pytest with one fixture, ``spark``: the shared session of all tests.

Write ``pytest_plugins = ["penstock.testing.pytest_plugin"]`` in the ``conftest.py`` at the root of
your tests, or call ``pytest -p penstock.testing.pytest_plugin``.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from penstock.testing.session import spark_session


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The Spark session that all tests of this process share."""
    return spark_session()
