from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.elasticity.replica_pool import ReplicaPool
from penstock.errors import ConfigurationError
from penstock.simulation.agreement.agreement import (
    STRETCH_BATCHES,
    agreement,
    agreement_of,
    as_dict,
)
from penstock.simulation.agreement.prediction import RecordedSlots
from penstock.simulation.agreement.recorded import WARMING_BATCHES, RecordedRun, read_runs
from simulation.agreement.recorded_runs import journal_of, recorded


def test_a_run_of_the_simulator_is_predicted_by_it(tmp_path: Path) -> None:
    (found,) = agreement_of(journal_of(recorded(), tmp_path / "journal"))

    assert found.run == "known"
    assert found.in_sample.median < 0.005
    assert found.unseen.p90 < 0.02
    assert found.ahead.p90 < 0.02
    assert found.whole.median < 0.02
    assert found.mean_latency.error < 0.02
    assert found.p95_latency.error < 0.02


def test_errors_are_those_of_the_noise(tmp_path: Path) -> None:
    (found,) = agreement_of(journal_of(recorded(seconds=200, noise=0.2), tmp_path / "journal"))

    # Half of all normal deviations are within 0.67 of their spread.
    assert 0.08 < found.in_sample.median <= found.unseen.median * 1.1
    assert found.unseen.median < 0.2
    assert found.unseen.batches == found.batches


def test_unseen_batches_are_never_predicted_from_themselves() -> None:
    batches = tuple(
        replace(each, batch_seconds=each.batch_seconds * (1 + number // STRETCH_BATCHES % 2))
        for number, each in enumerate(recorded())
    )

    found = agreement(RecordedRun("known", (), batches))

    # Half of the stretches took twice as long: as predicted from the others they are off by half,
    # and the others by all of it.
    assert 0.45 < found.unseen.median <= found.unseen.p90 < 1.1


def test_slots_that_followed_the_load_are_simulated_as_they_were(tmp_path: Path) -> None:
    policy = ReplicaPool(interval="2 seconds", max_slots=8, start_slots=2)
    batches = recorded(policy=policy)
    assert len({each.slots_in_use for each in batches}) > 1

    (found,) = agreement_of(journal_of(batches, tmp_path / "journal"))

    assert found.unseen.median < 0.03
    assert found.mean_latency.error < 0.1


def test_recorded_slots_hold_until_the_next_batch() -> None:
    batches = recorded(policy=ReplicaPool(interval="2 seconds", max_slots=8, start_slots=2))
    policy = RecordedSlots.of(batches)

    for each in batches:
        at_its_start = each.idle_at(each.started_seconds, 1)
        assert policy.decide(at_its_start).slots == each.slots_in_use


def test_the_first_batches_do_not_count(tmp_path: Path) -> None:
    batches = recorded()
    (run,) = read_runs(journal_of(batches, tmp_path / "journal"))

    assert run.warming == tuple(batches[:WARMING_BATCHES])
    assert run.batches == tuple(batches[WARMING_BATCHES:])
    assert run.arrivals().rows == run.rows


def test_a_run_that_is_too_short_is_refused(tmp_path: Path) -> None:
    journal = journal_of(recorded()[:10], tmp_path / "journal")

    with pytest.raises(ConfigurationError, match=r"too few micro-batches with rows: 10 .* 15"):
        agreement_of(journal)


def test_it_can_be_written_as_json(tmp_path: Path) -> None:
    (found,) = agreement_of(journal_of(recorded(), tmp_path / "journal"))

    told = json.loads(json.dumps(as_dict(found)))
    assert told["unseen_median"] == found.unseen.median
    assert told["fixed_seconds"] == pytest.approx(0.3, rel=0.05)
