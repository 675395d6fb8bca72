"""Figures and tables on disk: read them back."""

from __future__ import annotations

import csv
import math
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError
from penstock.reproduction.result import Beside, Figure, Reproduction, Table
from penstock.reproduction.writing import write_reproduction

TABLE = Table(
    "numbers",
    "Some numbers",
    (
        Beside("gain, at Zipf-1.0", 0.25, 0.2, "share", why='it "differs", so'),
        Beside("no paper", None, 1 / 3),
    ),
)
FIGURE = Figure(
    "curves",
    "Two curves",
    "k",
    "seconds",
    [1, 2, 4],
    {"round robin": [3.0, 2.0, math.nan], "full": [1.0, 0.1, 0.001]},
    bands={"full": ([0.5, 0.05, 0.0005], [2.0, 0.2, 0.002])},
    logarithmic=True,
)
FOUND = Reproduction("demo", "A demo", (TABLE,), (FIGURE,))


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_numbers_read_back_as_they_were(tmp_path: Path) -> None:
    table, curves, _ = write_reproduction(FOUND, tmp_path / "new" / "folder")
    assert rows_of(table) == [
        ["what", "paper", "here", "unit", "difference", "why"],
        ["gain, at Zipf-1.0", "0.25", "0.2", "share", "-0.2", 'it "differs", so'],
        ["no paper", "", repr(1 / 3), "", "", ""],
    ]
    assert rows_of(curves) == [
        ["k", "round robin", "full", "full, low", "full, high"],
        ["1.0", "3.0", "1.0", "0.5", "2.0"],
        ["2.0", "2.0", "0.1", "0.05", "0.2"],
        ["4.0", "", "0.001", "0.0005", "0.002"],
    ]


def test_a_figure_is_a_picture_that_shows_its_curves(tmp_path: Path) -> None:
    def picture(figure: Figure) -> bytes:
        (path,) = (
            each
            for each in write_reproduction(replace(FOUND, figures=(figure,)), tmp_path)
            if each.suffix == ".png"
        )
        return path.read_bytes()

    drawn = picture(FIGURE)
    assert drawn.startswith(b"\x89PNG")
    assert struct.unpack(">II", drawn[16:24]) == (840, 480)
    # The same again is the same file; what a person would see changed makes it another.
    assert picture(FIGURE) == drawn
    for other in (
        replace(FIGURE, title="Others"),
        replace(FIGURE, y_label="ms"),
        replace(FIGURE, logarithmic=False),
        replace(FIGURE, bands={}),
        replace(FIGURE, joined=False),
        replace(FIGURE, series={"round robin": FIGURE.series["round robin"]}),
    ):
        assert picture(other) != drawn


@pytest.mark.parametrize("name", ["$\\no$", "a very long name of a policy, " * 9])
def test_any_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    figure = replace(FIGURE, series={name: FIGURE.series["round robin"], "b": FIGURE.x}, bands={})
    files = write_reproduction(replace(FOUND, figures=(figure,)), tmp_path)
    assert rows_of(files[1])[0] == ["k", name, "b"]
    assert files[2].read_bytes().startswith(b"\x89PNG")


def test_curves_of_another_length_are_refused(tmp_path: Path) -> None:
    wrong = replace(FIGURE, series={"short": [1.0]}, bands={})
    with pytest.raises(ValueError, match="zip"):
        write_reproduction(replace(FOUND, figures=(wrong,)), tmp_path)


def test_one_file_never_replaces_another(tmp_path: Path) -> None:
    alike = replace(FOUND, figures=(replace(FIGURE, name="numbers"),))
    files = write_reproduction(alike, tmp_path)
    assert [each.name for each in files] == ["numbers_table.csv", "numbers.csv", "numbers.png"]
    assert rows_of(files[0])[0][0] == "what"
    assert rows_of(files[1])[0][0] == "k"
    for wrong in (replace(FOUND, tables=(TABLE, TABLE)), replace(FOUND, figures=(FIGURE, FIGURE))):
        with pytest.raises(ValueError, match="two results of demo are called"):
            write_reproduction(wrong, tmp_path)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(ConfigurationError, match=r"taken can't be written to: .*--out"):
        write_reproduction(FOUND, tmp_path / "taken")
