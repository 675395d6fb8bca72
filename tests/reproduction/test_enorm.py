from pathlib import Path

import pytest

from penstock.reproduction import enorm


def test_what_the_paper_counts_is_counted_by_the_planner() -> None:
    told: list[tuple[str, float]] = []
    found = enorm.reproduce(
        data=None, quick=True, progress=lambda what, share: told.append((what, share))
    )
    (table,) = found.tables
    assert [(row.paper, row.here) for row in table.rows] == [
        (240, 240),
        (86, 86),
        (None, 720),
        (None, 364),
    ]
    assert all(row.why for row in table.rows if row.paper is None)
    assert told[-1][1] == 1.0
    assert any("Figs. 14 and 15" in remark for remark in found.remarks)


def test_curves_end_at_the_counts() -> None:
    found = enorm.reproduce(data=Path(), quick=False, progress=lambda what, share: None)
    hour, day, windows = found.figures
    assert (hour.series["naive"][-1], hour.series["efficient"][-1]) == (240, 86)
    assert (day.series["naive"][-1], day.series["efficient"][-1]) == (720, 364)
    # After five minutes only the first window has closed: five partials, whichever way.
    assert hour.series["naive"][5] == hour.series["efficient"][5] == 5
    # Each window more adds its 60 partials an hour naively, and only a few when results are shared.
    assert windows.series["naive"] == pytest.approx([60, 120, 180, 240, 300, 360])
    assert windows.series["efficient"][0] == 60
    assert windows.series["efficient"][-1] < 120
