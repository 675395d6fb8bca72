from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.reproduction import psps
from penstock.reproduction.psps_experiments import Experiment, streams
from penstock.reproduction.result import Reproduction
from penstock.simulation.run import SimulatedRun

RATES = Path(os.environ.get("PENSTOCK_DATA", Path(__file__).parents[3] / "shared/data"), "rates")
needs_rates = pytest.mark.skipif(
    not (RATES / "psps_main.csv").is_file(), reason="the paper's streams are not here"
)


def numbers(found: Reproduction, table: str) -> dict[str, float]:
    (one,) = (each for each in found.tables if each.name == table)
    return {row.what: row.here for row in one.rows}


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return psps.reproduce(data=None, quick=True, progress=lambda what, share: None)


def test_every_table_and_figure_of_the_evaluation_is_there(found: Reproduction) -> None:
    names = [each.name for each in found.tables]
    assert [f"psps_table_{number}" for number in range(4, 13)] == names[:9]
    figures = {each.name for each in found.figures}
    assert {"psps_fig_8", "psps_fig_9", "psps_fig_10", "psps_fig_11"} < figures
    for figure in found.figures:
        assert {len(each) for each in figure.series.values()} == {len(figure.x)} == {1301}
    paper = {row.what: row.paper for table in found.tables[:9] for row in table.rows}
    assert paper["td = 120 s: throughput degradation"] == 0.9221
    assert paper["DABS-Storm: latency"] == 1391.28


def test_streams_that_stand_in_are_told_of(found: Reproduction) -> None:
    assert any("stand in" in remark for remark in found.remarks)
    assert any("one row of a hundred" in remark for remark in found.remarks)
    dns = next(each for each in found.tables if each.name == "psps_table_12")
    assert all("Not comparable" in row.why for row in dns.rows)


def test_storm_with_fixed_replicas_saves_what_arithmetic_says(found: Reproduction) -> None:
    storm = numbers(found, "psps_table_8")
    assert storm["r = 1: saved resources"] == 0.875
    assert storm["r = 4: saved resources"] == 0.5
    assert storm["r = 8: saved resources"] == 0.0
    assert storm["r = 1: processed"] < storm["r = 4: processed"] <= storm["r = 8: processed"]
    assert storm["r = 1: latency"] > storm["r = 4: latency"] > storm["r = 8: latency"]


def measured(experiment: Experiment, thin: int) -> tuple[SimulatedRun, tuple[float, ...]]:
    run = experiment.run(streams(RATES)[0], thin)
    return run, (run.saved(32), run.processed, run.mean_latency_seconds)


@needs_rates
def test_psps_comes_near_what_its_paper_prints() -> None:
    """Near in what is saved and processed; rows wait about twice as long as printed."""
    run, (saved, processed, latency) = measured(Experiment("PSPS"), thin=10)
    assert saved == pytest.approx(0.5617, rel=0.05)
    assert processed == pytest.approx(0.9987, rel=0.01)
    assert 2.0 < latency < 6.0
    assert run.timeline.slots.max() > 32  # as in Fig. 8, for what waits in the queues


@needs_rates
def test_a_benchmark_that_finds_a_little_too_much_gives_the_printed_latency() -> None:
    _, (saved, processed, latency) = measured(Experiment("cautious", truth=1 / 1.12), thin=10)
    assert saved == pytest.approx(0.5617, rel=0.03)
    assert processed == pytest.approx(0.9987, rel=0.002)
    assert latency == pytest.approx(2.1, rel=0.25)


@pytest.mark.slow
@needs_rates
def test_the_whole_evaluation_with_every_row() -> None:
    found = psps.reproduce(data=RATES, quick=False, progress=lambda what, share: None)
    dabs = numbers(found, "psps_table_10")
    assert dabs["DABS-Storm: latency"] == pytest.approx(1391, rel=0.1)
    assert dabs["DABS-Storm: throughput degradation"] == pytest.approx(0.2849, rel=0.15)
    assert dabs["DABS-Storm: saved resources"] == pytest.approx(0.3962, rel=0.12)
    assert dabs["DABS-Storm, rows lost: processed"] == pytest.approx(0.8283, rel=0.01)
    assert dabs["PSPS: processed"] > dabs["DABS-Storm: processed"]
    assert dabs["PSPS: saved resources"] > dabs["DABS-Storm: saved resources"]
    assert dabs["DABS-Storm: latency"] < dabs["PSPS: latency"]
    grouping = numbers(found, "psps_table_7")
    assert grouping["load balancing: latency"] <= grouping["shuffle: latency"]
    assert not any("stand in for them" in remark for remark in found.remarks)
