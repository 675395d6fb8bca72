from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from jobs import Jobs

from penstock.sources import Steady, UniformKeys
from penstock.sources.delays import NoDelay
from penstock.sources.patterns import trace_of_pattern
from penstock.sources.replay import _SOME_COST
from penstock.sources.rows import RowMaker
from penstock.sources.schedule import Schedule


@pytest.mark.cluster
def test_states_stay_right_when_groups_move_between_executors_and_a_worker_dies(
    jobs: Jobs, tmp_path: Path
) -> None:
    told = jobs.run("keyed_job", tmp_path)
    assert (tmp_path / "died").exists()
    trace = trace_of_pattern(Steady(100), 8)
    maker = RowMaker(Schedule(trace), UniformKeys(10), NoDelay(), _SOME_COST, 0, 0)
    keys = Counter(
        row["key"] for batch in maker.batches(0, trace.rows) for row in batch.to_pylist()
    )
    assert {int(key): n for key, n in told["counts"].items()} == dict(keys)
    # One row for each key and batch, and none for the try that died.
    assert told["rows"] == 80
