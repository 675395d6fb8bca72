"""One run of the job for all tests: executors take seconds to start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jobs import Jobs

JOB = Path(__file__).with_name("executors_job.py")

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def told(jobs: Jobs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    where = tmp_path_factory.mktemp("executors")
    return jobs.run_alone(JOB, where, within_seconds=600)


def test_executors_come_are_made_ready_and_then_count(told: dict[str, Any]) -> None:
    elastic = told["elastic"]
    # observed  1 ---- 2 -- 3 -- 4 ----------
    # warm      1 ------------ 2 -- 3 -- 4 --   each after a Python task ran on it
    assert elastic["old"] + len(elastic["tasks_before_counted"]) == 4
    assert elastic["right_after"] == elastic["old"] == 1
    assert all(tasks >= 1 for tasks in elastic["tasks_before_counted"])
    growing = [step for step in elastic["steps"] if step[0] == 4]
    assert [observed for _, _, observed, _, _ in growing][-1] == 4
    assert [warm for _, _, _, warm, _ in growing] == sorted(warm for _, _, _, warm, _ in growing)
    assert all(warm <= observed for _, _, observed, warm, _ in growing)
    assert any(observed > warm for _, _, observed, warm, _ in growing)
    # The package was sent along: executors do not have it, and none was found cold.
    assert elastic["faults"] == []


def test_slots_fall_at_once_and_executors_go_when_they_hold_nothing(told: dict[str, Any]) -> None:
    elastic = told["elastic"]
    assert elastic["while_leaving"] == 1
    assert elastic["holders_left"]
    assert elastic["same"]  # drawn numbers would differ, had they been computed anew
    assert elastic["steps"][-1][:4] == [1, 1, 1, 1]
    assert elastic["threads"] == []


def test_every_step_has_a_reason_to_read(told: dict[str, Any]) -> None:
    reasons = [step[-1] for step in told["elastic"]["steps"]]
    assert any("4 executors planned instead of 1" in reason for reason in reasons)
    assert any("came" in reason for reason in reasons)
    assert any("is ready" in reason for reason in reasons)
    assert any("is gone as asked" in reason for reason in reasons)


def test_one_that_runs_a_task_is_never_released(told: dict[str, Any]) -> None:
    busy = told["busy"]
    assert len(busy["busy"]) == 2
    assert set(busy["busy"]) <= set(busy["left"])
    assert len(busy["left"]) < 4
    assert busy["attempts"] == [0, 0]
    assert busy["available"] == 1


def test_more_than_the_cluster_has_is_reported_and_not_raised(told: dict[str, Any]) -> None:
    missing = told["missing"]
    assert missing["faults"][0] == (
        "executors missing: asked for 6 executors 2 s ago, 4 came; asking again"
    )
    assert missing["available"] == 4
    assert missing["counts"] == {"planned": 6, "requested": 6, "observed": 4, "warm": 4}


def test_a_query_goes_on_with_the_executors_that_there_are(told: dict[str, Any]) -> None:
    assert told["too_few"]["rows"] == 240
    assert told["too_few"]["slots"][-1] == 4


def test_an_executor_killed_in_a_batch_loses_nothing_and_is_replaced(told: dict[str, Any]) -> None:
    killed = told["killed"]
    assert killed["rows"] == 2_400
    assert killed["ids"] == [0, 2_399, 2_400]
    assert killed["fell_to"] == 3
    assert killed["came_back_to"] == 4
    assert "executor lost" in killed["faults"]
    assert killed["threads"] == []


def test_executors_are_looked_after_by_one(told: dict[str, Any]) -> None:
    assert all("already looked after" in refused for refused in told["elastic"]["refused"])


def test_a_session_has_all_the_cluster_again_after_a_query_that_had_less(
    told: dict[str, Any],
) -> None:
    # Executors of two cores on a cluster of four: max=3 holds one of them.
    assert told["early"] == {"most": 2, "after": 2}


def test_dynamic_allocation_is_not_fought_with(told: dict[str, Any]) -> None:
    assert told["dynamic"].startswith("spark.dynamicAllocation.enabled is true")
    assert ".config('spark.dynamicAllocation.enabled', 'false')" in told["dynamic"]


def test_no_thread_outlives_spark(told: dict[str, Any]) -> None:
    assert told["threads_after_stop"] == []
