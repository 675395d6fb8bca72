from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from documents_written import resealed
from penstock.elasticity.backlog import Backlog
from penstock.elasticity.intake import Intake
from penstock.engine.split_log import SplitLog, SplitRule
from penstock.errors import CheckpointError
from penstock.sinks.filesystem import HadoopFiles

BOTH = Intake(deadline_micros=30_000_000, backlog=Backlog(500, shed="random"))


def log_of(spark: SparkSession, where: Path, intake: Intake, now: float) -> SplitLog:
    return SplitLog(HadoopFiles(spark), str(where), intake, lambda: now)


def test_a_rule_is_found_again_and_the_next_batch_has_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    rule = log_of(spark, tmp_path, BOTH, now=100.25).rule_of(7)
    assert rule == SplitRule(7, 100_250_000, 30_000_000, 500, "random")
    later = log_of(spark, tmp_path, Intake(deadline_micros=1), now=999.0)
    assert later.rule_of(7) == rule
    assert later.rule_of(8) == SplitRule(8, 999_000_000, 1, None, None)
    assert log_of(spark, tmp_path, Intake(), now=0.0).rule_of(9) is None


def test_a_batch_that_was_planned_without_a_rule_gets_none(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = HadoopFiles(spark)
    log = SplitLog(files, str(tmp_path), BOTH, lambda: 5.0, planned=3)
    assert log.rule_of(3) is None
    rule = log.rule_of(4)
    assert rule == SplitRule(4, 5_000_000, 30_000_000, 500, "random")
    # One that has a rule is split by it, however often it is tried.
    assert SplitLog(files, str(tmp_path), BOTH, lambda: 9.0, planned=4).rule_of(4) == rule


def test_where_nothing_is_shed_nothing_is_written(spark: SparkSession, tmp_path: Path) -> None:
    assert log_of(spark, tmp_path, Intake(), now=0.0).rule_of(0) is None
    assert list(tmp_path.iterdir()) == []


def test_a_limit_that_no_number_of_rows_reaches_is_written_and_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    huge = Intake(backlog=Backlog(10**30, shed="random"))
    rule = log_of(spark, tmp_path, huge, now=1.0).rule_of(0)
    assert rule == log_of(spark, tmp_path, huge, now=2.0).rule_of(0)
    assert rule is not None
    assert rule.max_rows == 2**63 - 1


def test_a_lost_rule_is_missed_also_where_nothing_is_shed_any_more(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match="what was shed of micro-batch 4"):
        SplitLog(
            HadoopFiles(spark), str(tmp_path), Intake(), lambda: 0.0, planned=4, was_split=True
        )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"format": "penstock-sp', "cut short or damaged"),
        ('{"format": "penstock-split", "version": 9}', "version 9"),
        ('{"format": "penstock-split", "version": 1, "batch_id": 3}', "has no 'started_micros'"),
        (resealed(SplitRule(1, 2, 3).to_json(), batch_id="1"), "'1' is no whole number"),
        (resealed(SplitRule(1, 2, 3).to_json(), batch_id=True), "True is no whole number"),
        (SplitRule(1, 2, 3).to_json().replace("3", "4", 1), "cut short or damaged"),
    ],
)
def test_a_damaged_file_is_named(
    spark: SparkSession, tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "split.json").write_text(text)
    with pytest.raises(CheckpointError, match=problem) as raised:
        log_of(spark, tmp_path, BOTH, now=0.0)
    assert "split.json" in str(raised.value)
