from __future__ import annotations

from pathlib import Path

import pytest
from jobs import Jobs

from penstock import journal
from penstock.journal.events import PlanChanged


@pytest.mark.cluster
def test_plans_change_between_executors_and_a_worker_dies_and_nothing_is_lost(
    jobs: Jobs, tmp_path: Path
) -> None:
    told = jobs.run("fused_job", tmp_path)
    assert (tmp_path / "died").exists()
    assert told["rows"] == 1_000
    assert told["values"] == [3.0]  # each row went through both operators, once
    assert (told["missing"], told["more"]) == (0, 0)
    assert told["windows"] >= 40
    assert "first: Python(first + second)" in told["explained"]
    events = [event.body for event in journal.read(tmp_path / "checkpoint" / "journal")]
    changes = [body for body in events if isinstance(body, PlanChanged)]
    assert [change.batch_id for change in changes] == [2, 3, 4, 6]
    assert "second" in changes[0].components
