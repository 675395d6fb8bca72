from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from jobs import Jobs
from pyarrow import parquet

import preference_oracle as oracle
from window_oracle import moment

ROWS, BATCHES = 250, 4


@pytest.mark.cluster
def test_preferences_are_compiled_on_executors_that_get_the_package_as_a_zip(
    jobs: Jobs, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for batch in range(BATCHES):
        ids = range(batch * ROWS, (batch + 1) * ROWS)
        table = pa.table({"id": list(ids), "ts": [moment(each) for each in ids]})
        path = tmp_path / "in" / f"{batch}.parquet"
        parquet.write_table(table, path)
        os.utime(path, (1_700_000_000 + batch,) * 2)  # the order in which they are read
    told = jobs.run("skyline_job", tmp_path)
    rows: list[dict[str, Any]] = [
        {"id": each, "price": each * 7919 % 1009, "rating": each * 104729 % 997}
        for each in range(ROWS * BATCHES)
    ]
    closed = [rows[start : start + 100] for start in range(0, 900, 100)]
    assert told["best"] == [
        [each[0]["id"], row["id"]]
        for each in closed
        for row in oracle.skyline(each, minimize=["price"], maximize=["rating"])
    ]
    assert told["own"] == [
        [each[0]["id"], row["id"]]
        for each in closed
        for row in each
        if not any(other["price"] + 100 < row["price"] for other in each)
    ]
