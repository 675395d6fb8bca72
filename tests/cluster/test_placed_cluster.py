from __future__ import annotations

from pathlib import Path

import pytest
from jobs import Jobs


@pytest.mark.cluster
def test_rows_are_placed_by_cost_on_executors_that_do_not_have_penstock(
    jobs: Jobs, tmp_path: Path
) -> None:
    told = jobs.run("placed_job", tmp_path)
    assert told["ids"] == list(range(960))
    assert told["said"][0] == "by cost"
    # 12 dear rows on 4 slots; there are more tasks where the executors were not equally fast.
    assert sum(told["dear"]) == 12
    assert len(told["dear"]) >= 4
    assert max(told["dear"]) <= 3
