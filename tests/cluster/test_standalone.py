from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jobs import Jobs
from pyarrow import parquet

pytestmark = pytest.mark.cluster


def test_the_workers_python_is_an_environment_without_penstock(jobs: Jobs) -> None:
    environment = str(jobs.python.parent.parent)
    # Before any job, each of the executors' interpreters says where it is and what it finds.
    assert set(jobs.executors()) == {(environment, False)}
    alone = subprocess.run(
        [str(jobs.python), "-I", "-c", "import penstock"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No module named 'penstock'" in alone.stderr


def test_a_topology_runs_on_executors_that_do_not_have_penstock(jobs: Jobs, tmp_path: Path) -> None:
    told = jobs.run("cluster_job", tmp_path)
    # The package came to the executors as an archive; 2 workers of 2 cores are 4 slots.
    assert all(".zip" in file for file in told["penstock"])
    assert told["slots"] == 4
    assert told["tasks"]["look"] == 4
    # The watermark is then at 4.99 s: two tumbling windows, and the sliding ones up to [1, 4).
    assert told["windows"] == {"2 seconds": 400, "3 seconds every 1 second": 100 + 200 + 300 + 300}
    ids = [row["id"] for row in rows_in(tmp_path / "out")]
    assert sorted(ids) == [each for each in range(600) if each % 50 != 7]
    dead = sorted(json.loads(row["row"])["id"] for row in rows_in(tmp_path / "dead"))
    assert dead == list(range(7, 600, 50))


def rows_in(directory: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(directory).to_pylist()
    return rows
