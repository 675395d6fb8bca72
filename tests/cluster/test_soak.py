from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import soak_record
from soak_faults import KINDS

from benchmark_module import BENCHMARKS

SINKS = ("readings", "alarms", "unread", "late", "windows", "peaks", "totals")
LIMIT_SECONDS = 1_200


@pytest.mark.slow
@pytest.mark.cluster
def test_a_minute_of_bursts_and_faults_loses_nothing(tmp_path: Path) -> None:
    """Counts alone are looked at: in a minute everything still grows, so no slope is judged."""
    options = ["--minutes", "1", "--rate", "30", "--trigger", "2", "--json"]
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "soak.py"), *options, "--out", str(tmp_path / "soak")],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.stdout, done.stderr[-4_000:]
    told = json.loads(done.stdout)
    assert told["summary"].startswith(("Nothing clearly grew. That nothing grows is not", "Bad: "))
    found = {each["what"]: each for each in told["results"]}
    for sink in SINKS:
        assert found[f"sink {sink}: rows"]["verdict"] == "all there, once"
        assert found[f"sink {sink}: rows"]["level"] > 0, f"no row came to {sink}"
    assert found["rows of the stream that were never taken"]["level"] == 0
    assert found["drivers that ended unasked"]["level"] == 0
    assert all(found[f"fault: {kind}"]["level"] >= 1 for kind in KINDS)

    record = soak_record.read(tmp_path / "soak")
    assert all(record.lives(kind) for kind in ("driver_jvm", "driver_python", "executor", "worker"))
    assert len(record.lives("driver_python")) >= 3, "a kill and a failed sink make three lives"
    assert {each.kind for each in record.heaps} == {"driver_jvm", "executor"}
    assert all(each.files > 0 and each.journal_files > 0 for each in record.files)
    assert sorted(record.batches)[-1] >= 4
