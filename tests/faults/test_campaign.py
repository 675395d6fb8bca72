"""A part of the campaign; ``make faults`` runs all of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from campaign.damage import DAMAGES, KINDS, kind_of, spoil
from campaign.outcomes import Outcome, as_table, counts, unclear
from campaign.plan import Campaign
from campaign.stream_faults import INJECTIONS, ON_SMALL_DISKS
from pyspark.sql import SparkSession

import penstock as ps
from lacking import lacking

FAULTS = 70


@pytest.mark.slow
def test_no_fault_makes_a_row_wrong_or_missing_in_silence(
    spark: SparkSession, tmp_path: Path
) -> None:
    outcomes = Campaign(FAULTS, seed=7).run(spark, tmp_path, lambda outcome: None)
    wrong = [each for each in outcomes if each.verdict == "wrong"]
    assert wrong == []
    seen = {each.kind for each in outcomes}
    if not seen & ON_SMALL_DISKS:
        lacking("this user may not mount a small disk, so no full disk was tried")
    assert seen == {*KINDS, *INJECTIONS}
    assert {each.fault.split()[0] for each in outcomes if each.kind in KINDS} == set(DAMAGES)
    assert len(outcomes) >= FAULTS


def test_a_file_that_nobody_knows_is_of_no_kind() -> None:
    assert kind_of("panes/sums/_penstock_segment=3/part-0.parquet") == "partials of windows"
    assert kind_of("panes/sums/index.bin") is None


@pytest.mark.parametrize("damage", ["flip", "empty", "halve", "delete"])
def test_a_spoilt_file_is_another_than_before(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    spoil(file, damage, random.Random(1))  # type: ignore[arg-type]
    left = file.read_bytes() if file.exists() else None
    lengths = {"flip": 10, "empty": 0, "halve": 5, "delete": None}
    assert (None if left is None else len(left)) == lengths[damage]
    assert left != b"0123456789"


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        (ValueError("boom"), "it is a ValueError"),
        (ps.QueryError("x\n\tat org.apache.Some.where(Some.scala:1)"), "raw report"),
        (ps.CheckpointError("a file is damaged. Put it back."), "does not name the file"),
        (ps.CheckpointError("'query.json' is damaged."), "no way out"),
        (ps.CheckpointError("'query.json' is damaged. Put the file back from a copy."), ""),
    ],
)
def test_a_message_that_helps_nobody_does_not_pass(error: Exception, lack: str) -> None:
    found = unclear(error, "query.json")
    assert lack in found
    assert bool(found) == bool(lack)


def test_the_table_counts_by_kind() -> None:
    outcomes = [Outcome("a", "", "exact"), Outcome("b", "", "wrong"), Outcome("a", "", "stopped")]
    assert [(c.kind, c.injected, c.exact, c.stopped, c.wrong) for c in counts(outcomes)] == [
        ("a", 2, 1, 1, 0),
        ("b", 1, 0, 0, 1),
        ("all", 3, 1, 1, 1),
    ]
    assert as_table(outcomes).splitlines()[-1] == "| all | 3 | 1 | 1 | 1 |"
