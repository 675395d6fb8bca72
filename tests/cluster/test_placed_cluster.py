from __future__ import annotations

from pathlib import Path

import pytest
from standalone import run_job

JOB = Path(__file__).with_name("placed_job.py")


@pytest.mark.cluster
def test_rows_are_placed_by_cost_on_executors_that_do_not_have_penstock(tmp_path: Path) -> None:
    told = run_job(JOB, tmp_path)
    assert told["ids"] == list(range(960))
    assert told["said"][0] == "by cost"
    # 12 dear rows on 4 slots; there are more tasks where the executors were not equally fast.
    assert sum(told["dear"]) == 12
    assert len(told["dear"]) >= 4
    assert max(told["dear"]) <= 3
