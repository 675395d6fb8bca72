from __future__ import annotations

from pathlib import Path

import pytest
from jobs import Jobs

from penstock.demo import Load
from test_demo import ORIGIN, check_rows


@pytest.mark.cluster
def test_the_demo_finds_on_a_cluster_what_it_finds_here(jobs: Jobs, tmp_path: Path) -> None:
    load = Load(seconds=5, rate=200.0, origin=ORIGIN)
    told = jobs.run("demo_job", tmp_path, load.seconds, load.rate, ORIGIN)
    written = check_rows(load, tmp_path / "out")
    assert written.items() <= told["counts"].items()
    assert (told["slots"], told["faults"]) == (4, [])
