"""A live run, predicted from its own journal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.commands import app
from penstock.simulation.agreement.agreement import agreement_of
from penstock.simulation.agreement.recorded import WARMING_BATCHES

BATCHES, ROWS, WAIT_SECONDS = 18, 20, 0.005


def look_up(row: dict[str, Any]) -> dict[str, Any] | None:
    time.sleep(WAIT_SECONDS)
    return {"id": row["id"]} if row["id"] % 2 == 0 else None


@pytest.fixture
def journal(
    feed: Callable[..., DataFrame], finish: Callable[..., ps.Query], tmp_path: Path
) -> Path:
    batches = [pa.table({"id": range(start, start + ROWS)}) for start in range(BATCHES)]
    stream = ps.Stream.read(feed(batches), name="events")
    found = stream.map(look_up, "id bigint").to(ps.sinks.memory(), name="store")
    finish(found, policy=ps.Static(2), journal=tmp_path / "journal", name="live")
    return tmp_path / "journal"


def test_a_live_run_is_predicted_from_its_journal(journal: Path) -> None:
    (found,) = agreement_of(journal)

    assert found.run == "live"
    assert found.batches == found.unseen.batches == BATCHES - WARMING_BATCHES
    assert found.rows == found.batches * ROWS
    operators = {each.name: each for each in found.learnt.topology.operators}
    # A row can't take less than it waits, however busy the machine is.
    assert operators["look_up"].law.mean_seconds() >= 0.9 * WAIT_SECONDS
    assert operators["look_up"].selectivity == pytest.approx(0.5)
    assert operators["look_up"].inputs == {"events (read)": 1.0}
    assert found.learnt.costs.fixed_seconds > 0
    assert 0 < found.mean_latency.simulated_seconds <= found.p95_latency.simulated_seconds

    shown = CliRunner().invoke(app, ["agree", str(journal), "--json"])
    assert shown.exit_code == 0
    assert json.loads(shown.stdout)["runs"][0]["unseen_median"] == found.unseen.median
    table = CliRunner().invoke(app, ["agree", str(journal)])
    assert "live" in table.stdout
