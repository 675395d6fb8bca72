from __future__ import annotations

import json
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.dashboard.charts import COLOURS, Line, Points, bars, lines, scatter
from penstock.dashboard.key_group_map import key_group_map


def test_a_gap_stays_a_gap_and_times_become_milliseconds() -> None:
    options = lines([Line("rows", [1.0, 2.0, 3.0, nan], [5.0, nan, inf, 1.0])], "rows")
    assert options["series"][0]["data"] == [[1000, 5.0], [2000, None], [3000, None], [None, 1.0]]
    assert options["xAxis"]["type"] == "time"
    assert options["yAxis"]["name"] == "rows"


def test_a_band_is_drawn_from_its_low_side_up() -> None:
    line = Line("f", [1.0], [5.0], low=[3.0], high=[9.0])
    low, width, curve = lines([line], "rows", is_time=False)["series"]
    assert low["data"] == [[1.0, 3.0]]
    assert width["data"] == [[1.0, 6.0]]
    assert low["stack"] == width["stack"]
    assert curve["data"] == [[1.0, 5.0]]
    assert "stack" not in curve


def test_curves_that_change_at_once_are_steps() -> None:
    step, smooth = lines([Line("a", [1], [1], is_step=True), Line("b", [1], [1])], "x")["series"]
    assert step["step"] == "end"
    assert "step" not in smooth
    (before,) = lines([Line("a", [1], [1], is_step=True, tells_before=True)], "x")["series"]
    assert before["step"] == "start"


@pytest.mark.parametrize(("unit", "least_step"), [("slots", 1), ("rows", 1), ("seconds", 0)])
def test_nobody_has_half_a_slot_or_row(unit: str, least_step: int) -> None:
    assert lines([Line("a", [1], [1])], unit)["yAxis"]["minInterval"] == least_step


def test_times_and_values_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        lines([Line("a", [1.0, 2.0], [1.0])], "rows")


def test_key_groups_lie_in_rows_by_number() -> None:
    data = key_group_map([3, 0, 2, 1, 1])["series"][0]["data"]
    assert data == [[0, 0, 3], [1, 0, 0], [2, 0, 2], [3, 0, 1], [0, 1, 1]]


def test_each_task_of_key_groups_has_a_name_and_a_colour() -> None:
    colours = key_group_map([0, 1, 0, 1])["visualMap"]
    assert [(each["value"], each["label"]) for each in colours["pieces"]] == [
        (0, "task 0"),
        (1, "task 1"),
    ]
    assert len({each["color"] for each in colours["pieces"]}) == 2
    # As many tasks as there are colours still have one each; of more there is a scale.
    assert len(key_group_map(range(len(COLOURS)))["visualMap"]["pieces"]) == len(COLOURS)
    scale = key_group_map(range(30))["visualMap"]
    assert (scale["type"], scale["text"]) == ("continuous", ["task 29", "task 0"])


def test_a_curve_without_a_value_is_left_out() -> None:
    drawn = lines([Line("a", [1.0], [nan]), Line("b", [1.0], [2.0])], "rows")
    assert drawn["legend"]["data"] == ["b"]
    assert drawn["series"][0]["lineStyle"]["color"] == COLOURS[1]  # as if the other were there


def test_a_chart_without_any_value_says_so_instead_of_drawing_axes() -> None:
    drawn = lines([Line("a", [1.0], [nan])], "rows", nothing="Nobody knows.")
    assert drawn["title"]["text"] == "Nobody knows."
    assert "xAxis" not in drawn
    # On a phone they take two lines, which are not to lie on each other.
    style = drawn["title"]["textStyle"]
    assert style["lineHeight"] > style["fontSize"]
    assert lines([], "rows")["title"]["text"]


def test_a_single_moment_lies_in_the_middle_of_a_minute() -> None:
    one = lines([Line("a", [100.0], [2.0]), Line("b", [100.0], [3.0])], "rows")["xAxis"]
    assert (one["min"], one["max"]) == (70_000, 130_000)
    two = lines([Line("a", [100.0, 101.0], [2.0, 2.0])], "rows")["xAxis"]
    assert "min" not in two


def test_long_names_are_cut() -> None:
    options = bars(["k" * 100], [1.0], "%")
    assert options["yAxis"]["data"] == ["k" * 39 + "…"]


numbers = st.lists(st.floats(), max_size=6)
names = st.text(max_size=60)


@given(names, numbers)
def test_whatever_is_drawn_is_plain_json(name: str, values: list[float]) -> None:
    made: list[dict[str, Any]] = [
        lines([Line(name, values, values, low=values, high=values)], name),
        lines([Line(name, np.array(values), np.array(values))], name, is_time=False),
        bars([name] * len(values), values, name),
        scatter([Points(name, values, values)], name, name),
        scatter([Points(name, values, values)], name, name, x_is_time=True, y_is_time=True),
        key_group_map([0, 1, 500]),
    ]
    for options in made:
        assert json.loads(json.dumps(options, allow_nan=False)) == options


@pytest.mark.parametrize(("x_is_maximized", "turns"), [(False, "end"), (True, "start")])
def test_a_staircase_is_the_border_of_what_its_points_dominate(
    x_is_maximized: bool, turns: str
) -> None:
    # Of two points the better across counts between them: the left one unless larger is better.
    points = [Points("a", [1.0, 2.0], [4.0, 3.0])]
    (drawn,) = scatter(points, "x", "y", x_is_maximized=x_is_maximized)["series"]
    assert (drawn["type"], drawn["step"]) == ("line", turns)


def test_points_that_are_no_staircase_are_not_joined() -> None:
    (drawn,) = scatter([Points("a", [1.0, 2.0], [3.0, 4.0], is_staircase=False)], "x", "y")[
        "series"
    ]
    assert drawn["type"] == "scatter"
    assert "step" not in drawn


@pytest.mark.parametrize("at", [1e306, -1e306, inf, nan])
def test_a_time_beyond_all_numbers_is_left_out(at: float) -> None:
    made = scatter([Points("a", [at], [2.0])], "x", "y", x_is_time=True)
    assert made["series"][0]["data"] == [[None, 2.0]]


def test_times_are_drawn_in_utc_as_tables_tell_them() -> None:
    assert lines([Line("a", [1.0], [2.0])], "rows")["useUTC"] is True
    assert scatter([Points("a", [1.0], [2.0])], "x", "y", x_is_time=True)["useUTC"] is True


def test_a_long_name_is_cut_and_its_tip_wraps() -> None:
    made = lines([Line("n" * 500, [1.0], [2.0])], "rows")
    assert len(made["series"][0]["name"]) == 40
    assert made["legend"]["data"] == [made["series"][0]["name"]]
    for each in (made, bars(["n"], [1.0], "%"), key_group_map([0]), scatter([], "x", "y")):
        assert "white-space: normal" in each["tooltip"]["extraCssText"]
