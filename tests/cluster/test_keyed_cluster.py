from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from standalone import bare_python, cluster, packages_without_penstock

import penstock
from penstock.sources import Steady, UniformKeys
from penstock.sources.delays import NoDelay
from penstock.sources.patterns import trace_of_pattern
from penstock.sources.replay import _SOME_COST
from penstock.sources.rows import RowMaker
from penstock.sources.schedule import Schedule

JOB = Path(__file__).with_name("keyed_job.py")


@pytest.mark.cluster
def test_states_stay_right_when_groups_move_between_executors_and_a_worker_dies(
    tmp_path: Path,
) -> None:
    packages = packages_without_penstock(tmp_path / "packages")
    source = Path(penstock.__file__).parent.parent
    environment = os.environ | {
        "PYSPARK_PYTHON": bare_python(),
        "PYTHONPATH": f"{packages}{os.pathsep}{source}",
    }
    with cluster(tmp_path / "cluster") as master:
        done = subprocess.run(
            [sys.executable, str(JOB), master, packages, str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert (tmp_path / "died").exists()
    told = json.loads(done.stdout.splitlines()[-1])
    trace = trace_of_pattern(Steady(100), 8)
    maker = RowMaker(Schedule(trace), UniformKeys(10), NoDelay(), _SOME_COST, 0, 0)
    keys = Counter(
        row["key"] for batch in maker.batches(0, trace.rows) for row in batch.to_pylist()
    )
    assert {int(key): n for key, n in told["counts"].items()} == dict(keys)
    # One row for each key and batch, and none for the try that died.
    assert told["rows"] == 80
