"""Of the two workers one has a disk of its own: a look at any one executor would not be enough."""

from __future__ import annotations

import os
from typing import Any

import pytest
from jobs import Jobs

from lacking import lacking

pytestmark = pytest.mark.cluster

HOST = os.uname().nodename
REMEDY = (
    "where the driver just wrote a file. On a cluster give a path that the driver and all "
    "executors share: a directory that is mounted in the same place on every machine, or one on "
    "hdfs:, s3a: or the like."
)


@pytest.fixture(scope="module")
def told(jobs: Jobs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if jobs.disk is None:
        lacking("this user may not make a mount namespace (unshare -m), so all disks are seen")
    where = tmp_path_factory.mktemp("unseen")
    return jobs.run("unseen_job", where, jobs.disk.hidden, jobs.disk.read_only)


def test_a_checkpoint_that_an_executor_does_not_see_is_refused(
    jobs: Jobs, told: dict[str, Any]
) -> None:
    assert jobs.disk is not None
    path = f"file:{jobs.disk.hidden}/a/checkpoint"
    said = f"executors on {HOST} can't see '{path}' (checkpoint), {REMEDY}"
    assert told["refused"]["checkpoint"] == said


def test_of_all_paths_the_sink_is_named_that_an_executor_does_not_see(
    jobs: Jobs, told: dict[str, Any]
) -> None:
    assert jobs.disk is not None
    path = f"file:{jobs.disk.hidden}/out"
    said = f"executors on {HOST} can't see '{path}' (sink 'out_1'), {REMEDY}"
    assert told["refused"]["sinks"] == said


def test_a_directory_that_an_executor_can_only_read_is_refused(
    jobs: Jobs, told: dict[str, Any]
) -> None:
    assert jobs.disk is not None
    path = f"file:{jobs.disk.read_only}/out"
    said = f"executors on {HOST} can't write to '{path}' (sink 'out_0'), {REMEDY}"
    assert told["refused"]["read_only"] == said


def test_a_refused_start_leaves_nothing_behind(told: dict[str, Any]) -> None:
    assert told["left"] == [["in"], [], []]


def test_an_executor_that_comes_later_is_refused_before_its_rows_are_missing(
    jobs: Jobs, told: dict[str, Any]
) -> None:
    assert jobs.disk is not None
    path = f"file:{jobs.disk.hidden}/checkpoint"
    assert told["late"].startswith(f"executors on {HOST} can't see '{path}' (checkpoint)")
    assert "Micro-batch 1 is not committed, and nothing is lost" in told["late"]
    assert told["again"] == 200


def test_a_path_that_all_see_is_taken_and_has_no_mark_left(told: dict[str, Any]) -> None:
    assert (told["rows"], told["marks"]) == (200, [])
