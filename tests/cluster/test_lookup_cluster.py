from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from jobs import Jobs
from lookup_job import BATCHES, KEYS
from pyarrow import parquet

pytestmark = pytest.mark.cluster


def test_an_executor_asks_once_for_a_key_whichever_of_its_workers_needs_it(
    jobs: Jobs, tmp_path: Path
) -> None:
    told = jobs.run("lookup_job", tmp_path)
    asked = Counter((executor, int(key)) for executor, _, key in told["asked"])
    assert set(asked.values()) == {1}
    assert {key for _, key in asked} == set(range(KEYS))
    workers = {(executor, worker) for executor, worker, _ in told["asked"]}
    assert len({executor for executor, _ in workers}) == 2
    assert len(workers) > 2
    rows = parquet.read_table(tmp_path / "out").to_pylist()
    found = Counter((row["id"], row["double"]) for row in rows)
    assert found == {(key, key * 2): BATCHES for key in range(KEYS)}
