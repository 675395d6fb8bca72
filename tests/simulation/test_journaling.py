"""Journals of simulated runs, read back as those of live runs are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError
from penstock.journal import (
    BatchFinished,
    DecisionMade,
    ForecastMade,
    PlannedOperator,
    QueryStarted,
    QueryStopped,
    SlotsChanged,
    TopologyPlanned,
    read,
)
from penstock.replay.reading import read_recordings
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.journaling import EPOCH_SECONDS, JournalRecorder
from penstock.simulation.laws import Constant
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.published.psps import PublishedPsps
from penstock.simulation.replicas.engine import ReplicaEngine
from penstock.simulation.replicas.simulator import simulate
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.simulation.trial import Trial
from penstock.sources.trace import trace_of_counts

SCORE = SimulatedOperator("score", {"clicks": 1.0}, Constant(0.002))
CLICKS = SimulatedTopology("clicks", (SimulatedSource("clicks"),), (SCORE,))
LOAD = Load(trace_of_counts([200 + 15 * second for second in range(120)]))
SPARK = MicroBatch(executor_seconds=3.0, most_slots=8, costs=BatchCosts(0.1), start_slots=2)


def test_a_journal_of_a_trial_tells_its_topology(tmp_path: Path) -> None:
    Trial("it", Static(2), SPARK, CLICKS, LOAD, journal=tmp_path).run()
    bodies = [event.body for event in read(tmp_path)]
    assert bodies[1] == TopologyPlanned(
        0,
        (
            PlannedOperator("clicks", "source", "clicks"),
            PlannedOperator("score", "map", "score", ("clicks",), detail="simulated"),
        ),
    )


def test_a_journal_tells_what_the_run_did(tmp_path: Path) -> None:
    with JournalRecorder(tmp_path, "clicks", "clicks -> score") as journal:
        run = SPARK.run(CLICKS, LOAD, AutoScalePlus(max_slots=8), recorder=journal)
    events = list(read(tmp_path))
    bodies = [event.body for event in events]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert all(one.at_seconds <= next_.at_seconds for one, next_ in pairwise(events))
    assert isinstance(bodies[0], QueryStarted)
    assert bodies[-1] == QueryStopped("the simulated load was over")
    batches = [body.observation for body in bodies if isinstance(body, BatchFinished)]
    assert [(each.batch_id, each.rows_in) for each in batches] == [
        (number, batch.rows) for number, batch in enumerate(run.batches)
    ]
    assert [each.started_seconds - EPOCH_SECONDS for each in batches] == pytest.approx(
        [batch.started_seconds for batch in run.batches]
    )
    decisions = [body.decision for body in bodies if isinstance(body, DecisionMade)]
    assert decisions == [each.decision for each in run.decisions]
    assert any(isinstance(body, ForecastMade) for body in bodies)
    slots = [body for body in bodies if isinstance(body, SlotsChanged)]
    assert {each.planned for each in slots} == {each.slots for each in decisions}
    assert len({each.observed for each in slots}) > 2


def test_penstock_replay_reads_it(tmp_path: Path) -> None:
    with JournalRecorder(tmp_path, "clicks", "clicks -> score") as journal:
        run = SPARK.run(CLICKS, LOAD, Static(4), recorder=journal)
    (recording,) = read_recordings(tmp_path, lambda share: None)
    assert (recording.title, recording.rows) == ("clicks", LOAD.rows)
    assert recording.trigger_seconds == 1.0
    assert [each.seconds for each in recording.batches] == [each.seconds for each in run.batches]


def test_a_run_that_nobody_decides_on_at_first_is_journaled_from_its_start(tmp_path: Path) -> None:
    engine = ReplicaEngine(interval_seconds=10.0, most_replicas=8)
    with JournalRecorder(tmp_path, "clicks", "") as journal:
        run = simulate(CLICKS, LOAD, PublishedPsps.knowing(CLICKS), engine, recorder=journal)
    bodies = [event.body for event in read(tmp_path)]
    assert isinstance(bodies[0], QueryStarted)
    assert bodies[0].slots == 1
    assert sum(isinstance(body, BatchFinished) for body in bodies) == 12
    planned = [body.planned for body in bodies if isinstance(body, SlotsChanged)]
    assert max(planned) == int(run.timeline.slots.max()) > 1


def test_a_journal_is_never_added_to(tmp_path: Path) -> None:
    JournalRecorder(tmp_path, "clicks", "").close()
    with pytest.raises(ConfigurationError, match=r"there is one in .* already"):
        JournalRecorder(tmp_path, "clicks", "")
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ConfigurationError, match=r"is a file\. Name a directory"):
        JournalRecorder(file, "clicks", "")


def test_a_run_that_is_broken_off_says_so(tmp_path: Path) -> None:
    def broken() -> None:
        with JournalRecorder(tmp_path, "clicks", ""):
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        broken()
    *_, last = read(tmp_path)
    assert last.body == QueryStopped("the simulation was broken off", "ValueError: no more")


def test_a_journal_that_can_not_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    trial = Trial("it", Static(2), SPARK, CLICKS, LOAD, journal=tmp_path / "file" / "it")
    with pytest.raises(ConfigurationError, match=r"can't be used \(Not a directory\)"):
        trial.check()
    with pytest.raises(ConfigurationError, match=r"Name another directory, or mend that"):
        JournalRecorder("/proc/none/it", "clicks", "clicks -> score").close()
