from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError
from penstock.reproduction import ppq
from penstock.reproduction.result import Reproduction, Table

DATA = Path(os.environ.get("PENSTOCK_DATA", Path(__file__).parents[3] / "shared/data"))
HEADER = "rho_plq,splitting,rho_wlq,plq_workers,wlq_workers,next_plq_workers,next_wlq_workers\n"


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return ppq.reproduce(data=None, quick=True, progress=lambda what, share: None)


def table(found: Reproduction, name: str) -> Table:
    (one,) = (each for each in found.tables if each.name == name)
    return one


@pytest.mark.parametrize("name", ["ppq_fuzzification", "ppq_table_2", "ppq_fig_9_workers"])
def test_the_controller_does_what_the_paper_prints(found: Reproduction, name: str) -> None:
    rows = table(found, name).rows
    assert [row.here for row in rows] == pytest.approx([row.paper for row in rows])


def test_every_rule_is_there_twice(found: Reproduction) -> None:
    assert len(table(found, "ppq_table_2").rows) == 24


def test_two_stages_come_out_as_printed(found: Reproduction) -> None:
    """All from one number, the time of a comparison, which is calibrated on Fig. 9."""
    for name in ("ppq_fig_10", "ppq_fig_11", "ppq_fig_13"):
        for row in table(found, name).rows:
            assert row.paper is None or row.here == pytest.approx(row.paper, rel=0.35), row.what
    here = {row.what: row.here for row in table(found, "ppq_fig_13").rows}
    assert here["workers with MERGE tasks"] < here["workers without"]
    assert here["idle share with MERGE tasks"] < here["idle share without"]


def test_streams_have_the_rates_and_the_burstiness_of_table_3(found: Reproduction) -> None:
    rates = [row for row in table(found, "ppq_table_3").rows if row.what.endswith("rate")]
    assert len(rates) == 8
    for row in rates:
        assert row.here == pytest.approx(row.paper, rel=0.12), row.what
    for row in table(found, "ppq_burstiness").rows:
        near = 0.06 if row.what.endswith("Hurst") else 0.5
        assert row.here == pytest.approx(row.paper, rel=near), row.what


def test_what_cannot_match_says_why(found: Reproduction) -> None:
    for row in table(found, "ppq_table_3").rows:
        assert row.why or abs(row.difference or 0.0) < 0.12, row.what


def test_missing_data_is_told_and_left_out(found: Reproduction) -> None:
    assert any("no ppq_transitions.csv" in each for each in found.remarks)
    assert any("no ppq_game1.txt" in each for each in found.remarks)
    assert "ppq_games" not in [each.name for each in found.tables]


def test_decisions_are_compared_one_by_one(tmp_path: Path) -> None:
    log = tmp_path / "ppq_transitions.csv"
    # Both stages fast: halved, which 10 and 10 to 5 and 5 is; 4 and 7 is off by one and two.
    log.write_text(f"{HEADER}0.4,1,0.4,10,10,5,5\n0.4,1,0.4,10,10,4,5\n0.4,1,0.4,10,10,4,7\n")
    alike, near = ppq.logged_decisions(log).rows
    assert (alike.here, near.here) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


@pytest.mark.parametrize("text", ["a,b\n1,2\n", f"{HEADER}0.4,1,0.4,ten,10,5,5\n"])
def test_a_log_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    log = tmp_path / "ppq_transitions.csv"
    log.write_text(text)
    with pytest.raises(ConfigurationError, match=r"csv line 2 is no decision; its columns must"):
        ppq.logged_decisions(log)


def test_an_empty_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(HEADER)
    with pytest.raises(ConfigurationError, match="has no decisions"):
        ppq.logged_decisions(tmp_path / "log.csv")


@pytest.mark.skipif(not (DATA / "controller").is_dir(), reason="the authors' log is not here")
@pytest.mark.parametrize("folder", ["", "rates", "controller"])
def test_the_authors_log_is_found_and_explained(folder: str) -> None:
    log = ppq._find_log(DATA / folder)
    assert log is not None
    alike, near = ppq.logged_decisions(log).rows
    assert alike.here > 0.988
    assert near.here == 1.0


@pytest.mark.skipif(not (DATA / "rates").is_dir(), reason="the traces are not here")
def test_the_matchs_streams_are_as_table_3_says() -> None:
    games = ppq.real_streams(DATA / "rates")
    assert games is not None
    for row in games[0].rows:
        assert row.here == pytest.approx(row.paper, rel=0.12), row.what
    assert max(games[1].series["Game1"]) > 20_000
