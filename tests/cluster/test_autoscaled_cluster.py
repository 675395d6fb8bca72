from __future__ import annotations

from pathlib import Path

import pytest
from jobs import Jobs

JOB = Path(__file__).with_name("autoscaled_job.py")


@pytest.mark.cluster
def test_a_plain_query_gets_executors_while_it_needs_them(jobs: Jobs, tmp_path: Path) -> None:
    told = jobs.run_alone(JOB, tmp_path)
    assert (told["queries"], told["left"]) == (["light", "slow"], ["light"])
    observed = told["observed"]
    one = observed.index(1)  # while only the light query runs
    three = observed.index(3, one)
    assert 1 in observed[three:]  # after the other has ended
    assert any(reason.endswith("rows take 2 slots") for reason in told["reasons"])
    assert (told["failed"], told["faults"], told["listeners"]) == (None, [], 0)
