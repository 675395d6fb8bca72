from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.testing import spark_session


def test_a_session_that_runs_is_taken_as_it_is(spark: SparkSession) -> None:
    before = spark.conf.getAll
    assert spark_session(slots=1).sparkContext is spark.sparkContext
    assert spark.conf.getAll == before


def test_settings_that_would_come_too_late_are_refused(spark: SparkSession) -> None:
    spark_session(settings={"spark.ui.enabled": "false"})
    with pytest.raises(ConfigurationError, match=r"runs already, without spark\.jars='x\.jar'"):
        spark_session(settings={"spark.jars": "x.jar"})


_TEST_FILE = """
from penstock.testing import run_batches, spark_session
from rules import double

def keep(row):
    return double(row)

def test_with_a_function_of_this_file_and_one_of_another(spark):
    assert spark is spark_session()
    assert spark.sparkContext.master == "local[2]"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    done = run_batches(lambda rows: rows.map(keep, "n bigint"), [[{"n": 1}], [{"n": 2}]])
    assert [row.n for row in done.rows] == [2, 4]
"""


@pytest.mark.slow
def test_a_project_with_the_plug_in_needs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["penstock.testing.pytest_plugin"]\n')
    (tmp_path / "rules.py").write_text('def double(row):\n    return {"n": 2 * row["n"]}\n')
    (tmp_path / "test_job.py").write_text(_TEST_FILE)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(scratch), **_java()},
        capture_output=True,
        check=False,
        text=True,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    # Java's own files apart, such as hsperfdata.
    assert [path.name for path in scratch.iterdir() if "penstock" in path.name] == []


def _java() -> dict[str, str]:
    return {name: os.environ[name] for name in ("JAVA_HOME", "HOME") if name in os.environ}
