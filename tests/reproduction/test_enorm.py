from pathlib import Path

import pytest

from penstock.reproduction import enorm
from penstock.reproduction.enorm_fusion import BASELINE, COMM, METHODS, OPERATORS, PA, Trial, fused
from penstock.reproduction.result import Reproduction, Table


@pytest.fixture(scope="module")
def found() -> Reproduction:
    told: list[tuple[str, float]] = []
    found = enorm.reproduce(
        data=Path(), quick=True, progress=lambda what, share: told.append((what, share))
    )
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert {what for what, _ in told} == {"consolidation", "fusion of random jobs"}
    return found


def table(found: Reproduction, name: str) -> Table:
    (one,) = (each for each in found.tables if each.name == name)
    return one


def test_what_the_paper_counts_is_counted_by_the_planner(found: Reproduction) -> None:
    rows = table(found, "enorm_consolidation").rows
    assert [(row.paper, row.here) for row in rows] == [
        (240, 240),
        (86, 86),
        (None, 720),
        (None, 364),
    ]


def test_curves_end_at_the_counts(found: Reproduction) -> None:
    hour, day, windows, *_ = found.figures
    assert (hour.series["naive"][-1], hour.series["efficient"][-1]) == (240, 86)
    assert (day.series["naive"][-1], day.series["efficient"][-1]) == (720, 364)
    # After five minutes only the first window has closed: five partials, whichever way.
    assert hour.series["naive"][5] == hour.series["efficient"][5] == 5
    # Each window more adds its 60 partials an hour naively, and only a few when results are shared.
    assert windows.series["naive"] == pytest.approx([60, 120, 180, 240, 300, 360])
    assert windows.series["efficient"][0] == 60
    assert windows.series["efficient"][-1] < 120


def test_what_has_no_printed_number_says_why(found: Reproduction) -> None:
    rows = [row for each in found.tables for row in each.rows if row.paper is None]
    assert len(rows) == 2 + 12 + 12 + 16
    assert all(row.why for row in rows)
    assert any("150 operators took" in remark for remark in found.remarks)
    assert not any("not there yet" in remark for remark in found.remarks)


def test_communication_is_least_when_it_is_what_counts(found: Reproduction) -> None:
    """The paper's claims on Figs. 14 and 15 that come out here too."""
    components, communication = found.figures[-2:]
    for place, operators in enumerate(OPERATORS):
        count = {name: curve[place] for name, curve in components.series.items()}
        share = {name: curve[place] for name, curve in communication.series.items()}
        assert set(count) == set(share) == set(METHODS)
        assert min(share, key=share.__getitem__) == COMM
        assert count[PA] < count[COMM] < count[BASELINE]
        assert all(1 <= each < operators for each in count.values())
        assert all(10 < each < 100 for each in share.values())  # per cent
    assert list(components.x) == list(communication.x) == list(OPERATORS)


def test_figures_and_tables_tell_the_same(found: Reproduction) -> None:
    for name, figure in zip(
        ("enorm_components", "enorm_communication"), found.figures[-2:], strict=True
    ):
        drawn = [curve[place] for place in range(3) for curve in figure.series.values()]
        assert [row.here for row in table(found, name).rows] == drawn


def test_sizes_that_change_more_leave_more_components(found: Reproduction) -> None:
    rows = [row for row in table(found, "enorm_subset_sizes").rows if "components" in row.what]
    comm = [row for row in rows if row.what.endswith(COMM)]
    assert [row.what.split(",")[0] for row in comm] == [
        f"by up to {change}" for change in (1, 5, 15, 29)
    ]
    assert comm[0].here < comm[-1].here


def test_a_job_is_the_same_for_every_method_and_again() -> None:
    one, again, other = (fused(Trial(50, 1), seed) for seed in (3, 3, 4))
    for name in METHODS:
        assert one[name].components == again[name].components
        assert one[name].communication == again[name].communication
    assert any(one[name].communication != other[name].communication for name in METHODS)
