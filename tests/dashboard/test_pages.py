from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dashboard.journals import (
    BEGAN,
    EVIL,
    Timed,
    batch,
    eventful,
    planned,
    shown_of,
    started,
    write_journal,
)
from dashboard.reading import charts, curves, read_page
from penstock.dashboard.pages import (
    compare,
    control,
    decisions,
    faults,
    now,
    placement,
    preference,
    topology,
    windows,
)
from penstock.dashboard.sections import Chart, Shown
from penstock.dashboard.site import PAGES
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import OperatorObservation
from penstock.history.journal_history import JournalHistory
from penstock.journal import events as e
from penstock.journal.placement_events import KeyGroupsPlaced
from penstock.journal.topology_events import PlannedOperator, TopologyPlanned
from penstock.journal.window_events import PanesStored, RowsLate, SkylineSeen
from penstock.placement.flux import Move


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    return shown_of(tmp_path, eventful())


def steady(batches: int = 5) -> list[Timed]:
    return [(BEGAN, started()), (BEGAN, planned()), *(batch(n) for n in range(batches))]


def test_now_tells_the_newest_numbers(tmp_path: Path) -> None:
    found = read_page(now.sections(shown_of(tmp_path, steady())))
    assert found.tiles["State"] == ("running", "for 11 s")
    # 100 rows in each two seconds; four slots, of which a batch used two for two seconds.
    assert found.tiles["Input"] == ("50 rows/s", "no forecast")
    assert found.tiles["Rows waiting"] == ("7", "at all sources")
    assert found.tiles["Batch time"] == ("500 ms", "25 % of the trigger (2 s)")
    assert found.tiles["Slots"] == ("2", "– planned, 4 observed, 4 at most")
    assert found.tiles["Saved so far"][1] == "50 % of always using the most"
    assert found.tiles["Done"] == ("500 rows", "5 batches")


def test_one_of_anything_is_not_many(tmp_path: Path) -> None:
    only = [batch(0, rows=1), (BEGAN + 2.0, KeyGroupsPlaced(0, "look_up", (0,) * 16))]
    shown = shown_of(tmp_path, [*steady(0), *only])
    assert read_page(now.sections(shown)).tiles["Done"] == ("1 row", "1 batch")
    (chart,) = (each for each in placement.sections(shown) if each.title == "Key groups of look_up")
    assert isinstance(chart, Chart)
    assert chart.about.startswith("16 key groups on 1 task; ")


def test_now_draws_rates_and_the_band_of_the_forecast(shown: Shown) -> None:
    drawn = charts(now.sections(shown))
    rate = curves(drawn["Input rate and forecast"])["rows in"]
    assert rate == [[(BEGAN + 2 * n) * 1000, 50.0] for n in (1, 2, 3, 4)]
    forecast = curves(drawn["Input rate and forecast"])["forecast"]
    # Made after the first batch, of the mean of four seconds: it stands in their middle.
    assert forecast == [[(BEGAN + 4) * 1000, 50.0]]
    low, width = drawn["Input rate and forecast"].options["series"][1:3]
    assert low["data"][0][1] == 37.5
    assert width["data"][0][1] == 25.0
    assert curves(drawn["Slots"])["planned"] == [[(BEGAN + 2) * 1000, 2.0]]
    assert curves(drawn["Slots"])["observed"] == [[(BEGAN + 2) * 1000, 2.0]]


def test_slots_used_are_drawn_under_the_plan_that_they_followed(tmp_path: Path) -> None:
    decided = [(BEGAN + 2.0 * n + 2.0, e.DecisionMade(n, Decision(1 + n % 2, ""))) for n in (0, 1)]
    events = [(BEGAN, started()), batch(0), decided[0], batch(1, used=1), decided[1], batch(2)]
    shown = shown_of(tmp_path, events)
    (slots,) = (each for each in now.sections(shown) if each.title == "Slots")
    assert isinstance(slots, Chart)
    steps = {each["name"]: each.get("step") for each in slots.options["series"]}
    # What was decided holds from then on; what a batch used is told when it is over.
    assert steps == {"used": "start", "planned": "end", "observed": "start"}
    (compared,) = (each for each in compare.sections([shown]) if each.title == "Slots used")
    assert isinstance(compared, Chart)
    assert [each["step"] for each in compared.options["series"]] == ["start"]


def test_now_says_that_a_query_failed_and_why(shown: Shown) -> None:
    found = read_page(now.sections(shown))
    assert found.tiles["State"][0] == "failed"
    assert "The query failed. ValueError: plain" in found.text
    assert found.tiles["Input"] == ("50 rows/s", "expected 50 rows/s within 4 s")
    assert found.tiles["Slots"][1] == "3 planned, 3 requested, 2 observed"


def test_a_query_that_failed_before_its_first_batch_says_why(tmp_path: Path) -> None:
    failed = e.QueryStopped("failed", "no such table: clicks")
    shown = shown_of(tmp_path, [(BEGAN, started()), (BEGAN, planned()), (BEGAN + 5.0, failed)])
    said = read_page(now.sections(shown)).text
    assert "The query failed. no such table: clicks" in said
    assert "The query ended before its first micro-batch did." in said
    assert "as soon as it is committed" not in said
    assert "The query failed. no such table: clicks" in read_page(faults.sections(shown)).text


def test_a_query_whose_first_batch_never_ends_falls_silent(tmp_path: Path) -> None:
    events: list[Timed] = [(BEGAN, started()), (BEGAN, planned())]
    shown = shown_of(tmp_path, events, after_seconds=59.0)
    assert shown.state == ("starting", "soft")
    assert "Nothing was heard" not in read_page(now.sections(shown)).text
    shown = shown_of(tmp_path, events, after_seconds=300.0)
    assert shown.state == ("silent", "warn")
    assert shown.idle_seconds == 300.0, "the page says for how long, and is drawn each minute"
    said = read_page(now.sections(shown)).text
    assert "Nothing was heard of the query for 5 min 0 s." in said
    assert "Its first batch takes long, it has no rows to take, or its process died" in said
    assert "No micro-batch has ended yet." in said


def test_now_says_when_a_query_is_silent_or_over_its_trigger(tmp_path: Path) -> None:
    events = [*steady(2), batch(2, seconds=3.0)]
    found = read_page(now.sections(shown_of(tmp_path, events, after_seconds=90.0)))
    assert found.tiles["State"][0] == "silent"
    assert "Nothing was heard of the query for 1 min 30 s." in found.text
    assert found.tiles["Batch time"] == ("3 s", "150 % of the trigger (2 s)")
    assert ("class", "value bad") in found.attributes


@pytest.mark.parametrize(
    ("after_seconds", "input_tile"),
    [
        (14.0, ("50 rows/s", "no forecast")),
        (16.0, ("0 rows/s", "none since 2023-11-14 22:13:30 UTC; no forecast")),
        (5_000.0, ("0 rows/s", "none since 2023-11-14 22:13:30 UTC; no forecast")),
    ],
)
def test_now_says_since_when_no_row_came(
    tmp_path: Path, after_seconds: float, input_tile: tuple[str, str]
) -> None:
    shown = shown_of(tmp_path, steady(), after_seconds=after_seconds)
    assert read_page(now.sections(shown)).tiles["Input"] == input_tile


def test_nothing_is_said_to_be_saved_where_nobody_knows_the_most(tmp_path: Path) -> None:
    def without_most(number: int) -> Timed:
        at, told = batch(number)
        return at, replace(told, observation=replace(told.observation, most_slots=None))

    shown = shown_of(tmp_path, [(BEGAN, started()), *map(without_most, range(3))])
    saved = read_page(now.sections(shown)).tiles["Saved so far"]
    assert saved == ("– slot-hours", "nobody says how many slots there may be")
    rows = {row[0]: row[1] for row in read_page(compare.sections([shown])).rows("")}
    assert (rows["slot-hours saved"], rows["saved"]) == ("–", "–")
    assert rows["slot-hours"] == "0.00333"
    # Of a run that tells it later, only what was used since then is compared.
    shown = shown_of(tmp_path / "later", [without_most(0), batch(1), batch(2)])
    assert read_page(now.sections(shown)).tiles["Saved so far"][1].startswith("50 % of")


def test_now_says_since_when_batches_have_no_rows(tmp_path: Path) -> None:
    empty = [batch(n, rows=0) for n in range(5, 30)]
    found = read_page(now.sections(shown_of(tmp_path, [*steady(), *empty])))
    assert found.tiles["Input"] == (
        "0 rows/s", "none since 2023-11-14 22:13:30 UTC; no forecast",
    )  # fmt: skip


def test_a_batch_that_takes_its_usual_time_is_waited_for(tmp_path: Path) -> None:
    slow = [batch(n, seconds=10.0) for n in range(5)]
    events = [(BEGAN, started()), *slow]
    shown = shown_of(tmp_path, events, after_seconds=29.0)
    assert read_page(now.sections(shown)).tiles["Input"][0] == "27.8 rows/s"
    shown = shown_of(tmp_path, events, after_seconds=31.0)
    assert read_page(now.sections(shown)).tiles["Input"][0] == "0 rows/s"


def test_now_leaves_out_a_batch_time_that_nobody_knows(tmp_path: Path) -> None:
    sections = now.sections(shown_of(tmp_path, [*steady(2), batch(2, seconds=None)]))
    assert read_page(sections).tiles["Batch time"] == ("–", "– of the trigger (2 s)")
    drawn = curves(charts(sections)["Batch time"])
    assert [point[1] for point in drawn["mean"]] == [0.5, 0.5, None]


def test_now_draws_the_slowest_batch_only_of_several_and_below_the_mean(tmp_path: Path) -> None:
    for batches, names in ((5, ["mean", "trigger"]), (700, ["slowest", "mean", "trigger"])):
        took = [batch(n, seconds=0.5 + n % 7 / 10) for n in range(batches)]
        shown = shown_of(tmp_path / str(batches), [(BEGAN, started()), *took])
        drawn = curves(charts(now.sections(shown))["Batch time"])
        assert list(drawn) == names


def test_topology_adds_up_what_operators_did(shown: Shown) -> None:
    found = read_page(topology.sections(shown))
    first, second = found.rows("operator", "kind", "component", "runs in")
    # 0.6 busy seconds a batch in two tasks of two seconds each; six rows failed in the first.
    assert first == ["plain", "map", "plain", "Python", "2", "50", "49.2", "15 %", "400 ms",
                     "1.33", "6"]  # fmt: skip
    assert second[:4] == ["source of plain", "source", "source of plain", "JVM"]
    assert "svg" in found.tags
    assert ("aria-label", "Topology") in found.attributes


def wide(operators: int) -> list[Timed]:
    """A source and a long row of maps in one batch, the last planned the busiest."""
    names = [f"step {n:04}" for n in range(operators)]
    plan = [
        PlannedOperator(name, "map", f"part {n // 10}", (names[n - 1],) if n else ())
        for n, name in enumerate(names)
    ]
    seen = tuple(
        OperatorObservation(name, 1, 1, 0.001 * n, 2, 0.001 * n, 0.001 * n)
        for n, name in enumerate(names)
    )
    at, body = batch(0)
    busy = replace(body, observation=replace(body.observation, operators=seen))
    return [(BEGAN, started()), (BEGAN, TopologyPlanned(0, tuple(plan))), (at, busy)]


def test_of_very_many_operators_the_busiest_are_drawn_and_listed(tmp_path: Path) -> None:
    sections = topology.sections(shown_of(tmp_path, wide(450)))
    drawing, listed = sections
    assert drawing.about == (
        "The 300 busiest of 450 operators in the time that is shown. 150 others are left out, "
        "with the lines to them."
    )
    found = read_page([drawing])
    assert [n for n in range(450) if f"step {n:04}" in found.text] == list(range(150, 450))
    names = [row[0] for row in read_page([listed]).rows("operator")]
    assert names == [f"step {n:04}" for n in reversed(range(450))]
    assert listed.about == ""


def test_of_very_many_operators_the_list_ends(tmp_path: Path) -> None:
    drawing, listed = topology.sections(shown_of(tmp_path, wide(2_000)))
    assert "The 300 busiest of 2,000 operators" in drawing.about
    assert len(read_page([listed]).rows("operator")) == 500
    assert listed.about == "1,500 others, which are less busy, are left out."


def test_of_few_operators_none_is_left_out(tmp_path: Path) -> None:
    sections = topology.sections(shown_of(tmp_path, wide(300)))
    assert [each.about for each in sections] == ["", ""]
    assert "step 0000" in read_page(sections[:1]).text


def test_topology_without_a_plan_shows_what_was_measured(tmp_path: Path) -> None:
    found = read_page(topology.sections(shown_of(tmp_path, [batch(0), batch(1)])))
    names = [row[:2] for row in found.rows("operator", "kind")]
    assert names == [["look_up", "operator"], ["sensors", "source"]]


def test_decisions_say_what_was_expected_and_what_came(shown: Shown) -> None:
    found = read_page(decisions.sections(shown))
    assert found.tiles["In force"] == ("2 slots", "since batch 1")
    assert found.tiles["Demand"][0] == "1.7 slots"
    assert found.tiles["Held by"][0] == "plain"
    assert found.tiles["Decisions"] == ("1", "0 changed the slots")
    (row,) = found.rows("time (UTC)", "after batch")
    assert row == [
        "2023-11-14 22:13:22", "0", "2", "decided: plain plain", "1.7",
        "batches took 25 % of the trigger", "200 rows in 4 s",
        "200 rows came (forecast +0 %); batches took 25 % of the trigger",
    ]  # fmt: skip
    changes = found.rows("time (UTC)", "batch", "of", "what and why")
    assert [row[2] for row in changes] == ["control", "plan", "limit", "slots"]
    assert "Control: at most 4 slots, asked by plain" in found.text
    assert "not adopted; now 1 s of a slot per batch, else 500 ms" in found.text


def shared(query: str = "clicks") -> list[Timed]:
    """A query that shares slots with others: it asks for 3, and all together have 7."""
    at, body = batch(0)
    return [
        (at, replace(body, query=query)),
        (at, e.DecisionMade(0, Decision(3, "demand of clicks"), query)),
        (at, e.SlotsChanged(9, 9, 4, 4, "more is asked for")),
        (at, e.SlotsChanged(7, 7, 4, 4, "at most 7 slots")),
    ]


def test_starts_of_queries_that_share_a_journal_say_whose_they_are(tmp_path: Path) -> None:
    again = (BEGAN + 60.0, replace(started("orders"), query_id="another"))
    shown = shown_of(tmp_path, [(BEGAN, started("clicks")), *shared(), again], after_seconds=60.0)
    rows = read_page(faults.sections(shown)).rows("time (UTC)", "query")
    assert [row[1] for row in rows] == ["orders", "clicks"]
    # Since its own start, not the newest of all.
    assert read_page(now.sections(shown)).tiles["State"][1] == "for 1 min 2 s"
    alone = shown_of(tmp_path / "alone", steady())
    assert len(read_page(faults.sections(alone)).rows("time (UTC)", "Penstock")) == 1


def test_slots_in_force_of_queries_that_share_them_are_those_of_all(tmp_path: Path) -> None:
    shown = shown_of(tmp_path, shared())
    said = read_page(control.sections(shown))
    assert "In force: 7 slots for all queries together. This one asks for 3: demand of" in said.text
    assert [row[3] for row in said.rows("time (UTC)")] == ["at most 7 slots", "more is asked for"]
    assert read_page(decisions.sections(shown)).tiles["In force"] == (
        "7 slots", "for all queries; this one asks for 3",
    )  # fmt: skip


def test_slots_in_force_where_nothing_says_what_all_have_are_those_decided(tmp_path: Path) -> None:
    for number, events in enumerate((shared()[:2], shared("")[:2], eventful())):
        said = read_page(control.sections(shown_of(tmp_path / str(number), events)))
        assert f"In force: {2 if number == 2 else 3} slots. d" in said.text


def test_decisions_count_changes_of_slots_and_what_is_left_out(tmp_path: Path) -> None:
    made = [
        (BEGAN + 2 + n, e.DecisionMade(n, Decision(1 + n % 2, f"reason {n}"))) for n in range(70)
    ]
    sections = decisions.sections(shown_of(tmp_path, [batch(0), *made]))
    found = read_page(sections)
    assert found.tiles["Decisions"] == ("70", "69 changed the slots")
    rows = found.rows("time (UTC)", "after batch")
    assert len(rows) == 60
    assert rows[0][2] == "1 → 2"
    assert rows[0][3] == "reason 69"
    assert [each.about for each in sections if each.title == "What was decided"] == [
        "10 older ones are in the journal."
    ]


def test_placement_tells_hot_keys_owners_and_moves(shown: Shown) -> None:
    sections = placement.sections(shown)
    found, drawn = read_page(sections), charts(sections)
    assert found.rows("key") == [
        ["sensor 7", "40 %", "15 ms"], ["other", "10 %", "–"],
    ]  # fmt: skip
    assert drawn["Hottest keys of plain"].options["series"][0]["data"] == [40.0, 10.0]
    owners = drawn["Key groups of plain"].options["series"][0]["data"]
    assert [cell[2] for cell in owners] == [0, 1, 0, 1]
    assert drawn["Key groups of plain"].about.startswith("4 key groups on 2 tasks")
    balance = curves(drawn["Task balance"])["plain"]
    assert [point[1] for point in balance] == [1.33333] * 4
    what = [row[3] for row in found.rows("time (UTC)", "batch", "of", "what", "why")]
    assert what == [
        "1 hot key split over all tasks", "1 key group moved, live plain",
        "placed least loaded plain",
    ]  # fmt: skip


def test_placement_tells_which_groups_went_from_which_task_to_which(tmp_path: Path) -> None:
    def moved(number: int, moves: tuple[Move, ...]) -> Timed:
        at = BEGAN + 2.0 * (number + 1)
        return at, e.KeyGroupsMoved(number, "look_up", moves, f"uneven {number}", "smooth")

    first = (*(Move(group, 0, 1, 0.1) for group in (0, 1, 2, 9)), Move(5, 3, 2, 0.2))
    events = [
        *steady(2),
        (BEGAN + 4.0, KeyGroupsPlaced(1, "look_up", tuple(n % 3 for n in range(300)))),
        moved(0, first),
        moved(1, tuple(Move(group, group, group + 1, 0.1) for group in range(100))),
    ]
    sections = placement.sections(shown_of(tmp_path, events))
    found = read_page(sections)
    moves = found.rows("time (UTC)", "batch", "of", "groups", "from task", "to task", "why")
    assert len(moves) == placement.MOST_SHOWN
    assert moves[0][1:] == ["1", "look_up", "99", "99", "100", "uneven 1"]
    events = [*steady(2), moved(0, first)]
    moves = read_page(placement.sections(shown_of(tmp_path / "few", events))).rows(
        "time (UTC)", "batch", "of", "groups"
    )
    assert [row[1:] for row in moves] == [
        ["0", "look_up", "5", "3", "2", "uneven 0"],
        ["0", "look_up", "0–2, 9", "0", "1", "uneven 0"],
    ]
    assert found.rows("task", "how many", "which groups") == [
        [str(task), "100", f"{task}–{297 + task} by 3"] for task in range(3)
    ]


def test_of_very_many_tasks_the_first_are_listed(tmp_path: Path) -> None:
    placed = KeyGroupsPlaced(0, "look_up", tuple(range(1_000)))
    sections = placement.sections(shown_of(tmp_path, [*steady(2), (BEGAN + 4.0, placed)]))
    (owners,) = (each for each in sections if each.title == "Who owns which group of look_up")
    assert owners.about == "0–8 by 4 is 0, 4 and 8. 800 other tasks are left out."
    assert len(read_page([owners]).rows("task", "how many")) == 200


def test_windows_tell_what_is_open_kept_and_late(shown: Shown) -> None:
    sections = windows.sections(shown)
    found = read_page(sections)
    assert {name: value for name, (value, _) in found.tiles.items()} == {
        "Watermark": "2023-11-14 22:13:16",
        "Behind the clock": "12 s",
        "Open windows": "5",
        "Closed windows": "3",
        "Partial results": "4 kB",
        "Late rows": "4",
    }
    assert found.rows("operator", "open")[0] == [
        "plain", "5", "2023-11-14 22:13:20", "2", "40", "4 kB", "30 s", "3", "12",
        "2023-11-14 22:13:30",
    ]  # fmt: skip
    assert found.rows("operator", "plan")[0] == [
        "plain", "flat plain", "plan: plain", "0",
    ]  # fmt: skip
    assert found.rows("operator", "rows") == [["plain", "4"]]
    drawn = charts(sections)
    behind = curves(drawn["Watermark behind the clock"])["behind"]
    assert [point[1] for point in behind] == [12.0] * 4
    assert curves(drawn["Partial results kept"])["plain"][0][1] == 4.0
    assert curves(drawn["Open windows"])["plain"][0][1] == 5.0


@pytest.mark.parametrize(
    ("behind_seconds", "unit", "drawn"),
    [(12.0, "seconds", 12.0), (600.0, "minutes", 10.0), (30_000_000.0, "days", 347.222)],
)
def test_windows_draw_how_late_the_watermark_is_in_a_fitting_unit(
    tmp_path: Path, behind_seconds: float, unit: str, drawn: float
) -> None:
    told = [
        (at, replace(body, watermark_seconds=at - behind_seconds))
        for at, body in (batch(0), batch(1))
    ]
    shown = shown_of(tmp_path, [(BEGAN, started()), *told])
    chart = charts(windows.sections(shown))["Watermark behind the clock"]
    assert chart.options["yAxis"]["name"] == unit
    assert [point[1] for point in curves(chart)["behind"]] == [drawn] * 2


def test_preference_draws_the_newest_skyline_and_the_two_stages(shown: Shown) -> None:
    sections = preference.sections(shown)
    found, drawn = read_page(sections), charts(sections)
    assert found.rows("group") == [
        ["sensor 7", "1", "4"], ["sensor 7", "2", "3"],
    ]  # fmt: skip
    assert curves(drawn["The newest skyline of plain"]) == {"sensor 7": [[1.0, 4.0], [2.0, 3.0]]}
    assert "2023-11-14 22:13:20 to 2023-11-14 22:13:30 UTC, 2 rows" in (
        drawn["The newest skyline of plain"].about
    )
    parts = curves(drawn["Parts a pane is split in (plain)"])
    assert [point[1] for points in parts.values() for point in points] == [1.5, 0.5]
    assert curves(drawn["Threshold at which a part ends (plain)"])["threshold"][0][1] == 100.0
    stages = curves(drawn["Utilisation of the two stages (plain)"])
    assert [points[0][1] for points in stages.values()] == [0.8, 0.7]
    formed = curves(drawn["Tasks that form windows (plain)"])
    assert [points[0][1] for points in formed.values()] == [3.0, 1.0]


@pytest.mark.parametrize(
    ("x_is_maximized", "y_is_maximized", "y", "drawn_as"),
    [
        (False, False, (4.0, 3.0), ("line", "end")),
        (True, True, (4.0, 3.0), ("line", "start")),
        (False, True, (3.0, 4.0), ("line", "end")),
        (True, False, (3.0, 4.0), ("line", "start")),
        (False, False, (3.0, 4.0), ("scatter", None)),
        (False, True, (4.0, 3.0), ("scatter", None)),
        (False, False, (4.0, float("nan")), ("scatter", None)),
    ],
)
def test_a_skyline_is_joined_by_the_border_of_what_it_dominates_where_there_is_one(
    tmp_path: Path,
    x_is_maximized: bool,
    y_is_maximized: bool,
    y: tuple[float, float],
    drawn_as: tuple[str, str | None],
) -> None:
    seen = SkylineSeen(
        0, "best", BEGAN, BEGAN + 10.0, "price", "rating", (1.0, 2.0), y, 2, None,
        x_is_maximized, y_is_maximized,
    )  # fmt: skip
    drawn = charts(preference.sections(shown_of(tmp_path, [batch(0), (BEGAN + 2.0, seen)])))
    chart = drawn["The newest skyline of best"]
    (series,) = chart.options["series"]
    assert (series["type"], series.get("step")) == drawn_as
    is_skyline = drawn_as[0] == "line"
    assert ("no other row of it is better in both" in chart.about) == is_skyline
    assert ("what the preference chose" in chart.about) != is_skyline


def test_moments_of_a_skyline_are_told_as_moments(tmp_path: Path) -> None:
    seen = SkylineSeen(0, "newest", BEGAN, BEGAN + 10, "ts", "heat", (BEGAN,), (9.0,), 1,
                       x_is_maximized=True, x_is_time=True)  # fmt: skip
    sections = preference.sections(shown_of(tmp_path, [batch(0), (BEGAN + 2, seen)]))
    assert read_page(sections).rows("group", "ts", "heat")[0] == [
        "all rows", "2023-11-14 22:13:20", "9",
    ]  # fmt: skip
    options = charts(sections)["The newest skyline of newest"].options
    assert options["xAxis"]["type"] == "time"
    assert options["series"][0]["data"] == [[BEGAN * 1000, 9.0]]


def test_faults_tell_letters_faults_restarts_and_what_was_shed(tmp_path: Path) -> None:
    again = [(BEGAN + 20, started()), (BEGAN + 21, e.QueryStopped("asked"))]
    found = read_page(faults.sections(shown_of(tmp_path, [*eventful(), *again])))
    assert {name: value for name, (value, _) in found.tiles.items()} == {
        "Dead letters": "6",
        "Faults": "2",
        "Restarts": "1",
        "Executors lost": "0",
        "Late rows": "4",
        "Batches run twice": "1",
    }
    assert found.rows("operator", "error") == [["plain", "ValueError plain", "6", "for plain"]]
    assert found.rows("source", "why") == [["source of plain", "shed: plain", "9"]]
    starts = found.rows("time (UTC)", "Penstock")
    assert starts[0] == ["2023-11-14 22:13:40", "0.1.0", "4", "ValueError: plain"]


def test_faults_count_executors_lost_and_say_who_saw_them(tmp_path: Path) -> None:
    lost = [
        (BEGAN + 3.0, e.FaultSeen(None, "executor lost", "executor 3 ended unasked", 2)),
        (BEGAN + 4.0, e.FaultSeen(None, "policy failed", "division by zero")),
    ]
    found = read_page(faults.sections(shown_of(tmp_path, [*steady(1), *lost])))
    assert found.tiles["Executors lost"] == ("2", "as far as ExecutorSlots saw")
    assert found.tiles["Faults"][0] == "3"


def test_faults_tell_of_lines_that_cannot_be_read(tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "journal", [batch(0)])
    with next(journal.iterdir()).open("a") as segment:
        segment.write(f"{EVIL}\n")
    history = JournalHistory(journal)
    history.refresh()
    history.close()
    query = history.queries[0]
    page = faults.sections(Shown(query, "run", 0.0, BEGAN + 9, BEGAN + 9))
    found = read_page(page)
    assert "1 line of the journal can't be read. The newest is line 2" in found.text
    assert "img" not in found.tags
    assert "can't be shown" not in found.text


def test_faults_tell_of_events_that_only_a_newer_penstock_knows(tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "journal", [batch(0)])
    with next(journal.iterdir()).open("a") as segment:
        for number in (2, 3):
            segment.write(f'{{"v":1,"seq":{number},"at":{BEGAN + 3},"kind":"TeaMade","cups":2}}\n')
    history = JournalHistory(journal)
    history.refresh()
    history.close()
    page = faults.sections(Shown(history.queries[0], "run", 0.0, BEGAN + 9, BEGAN + 9))
    assert "2 events of the journal can't be shown. A newer Penstock wrote" in read_page(page).text


def test_compare_lays_runs_side_by_side(tmp_path: Path) -> None:
    one = shown_of(tmp_path / "one", steady(5))
    other = shown_of(tmp_path / "two", steady(3))
    sections = compare.sections([one, other])
    rows = {row[0]: row[1:] for row in read_page(sections).rows("", "run", "run")}
    assert rows["batches"] == ["5", "3"]
    assert rows["rows"] == ["500", "300"]
    assert rows["slots, mean"] == ["2", "2"]
    drawn = charts(sections)
    # Each begins when its own first batch began: seconds, not moments.
    assert [point[0] for point in curves(drawn["Slots used"])["run"]] == [2.0, 4.0, 6.0]
    assert drawn["Batch time"].options["xAxis"]["type"] == "value"


def test_compare_of_one_run_says_how_to_have_more(shown: Shown) -> None:
    found = read_page(compare.sections([shown]))
    assert "There is one run only. Start the dashboard with several" in found.text


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("Now", "No micro-batch has ended yet."),
        ("Topology", "The journal does not tell the operators yet."),
        ("Decisions", "No decision has been made yet."),
        ("Placement", "No micro-batch has ended yet."),
        ("Windows", "This query has no windows and no watermark."),
        ("Preference", "This query has no skyline and no top dominant rows."),
        ("Faults", "No row failed."),
    ],
)
def test_an_empty_journal_has_a_helpful_word_on_every_page(
    tmp_path: Path, page: str, says: str
) -> None:
    shown = shown_of(tmp_path, [])
    sections = next(make for each, make in PAGES.items() if each.title == page)
    assert says in read_page(sections(shown)).text


def test_a_time_without_batches_says_to_choose_a_longer_one(tmp_path: Path) -> None:
    quiet = (BEGAN + 4_000, e.FaultSeen(None, "a fault", "later"))
    shown = shown_of(tmp_path, [batch(0), quiet], chosen="5m")
    assert "Choose a longer one at the top." in read_page(now.sections(shown)).text


def test_a_row_that_is_late_for_two_operators_is_said_to_count_twice(tmp_path: Path) -> None:
    late = [(BEGAN + 2.0, RowsLate(0, name, 4)) for name in ("sums", "best")]
    stored = (BEGAN + 2.0, PanesStored(0, "sums", 2, 40, 4_000, 30.0, 5, BEGAN))
    one = shown_of(tmp_path / "one", [*steady(), stored, late[0]])
    two = shown_of(tmp_path / "two", [*steady(), stored, *late])
    for page in (windows, faults):
        tiles = read_page(page.sections(one)).tiles
        assert tiles["Late rows"] == ("4", "missed a window")
        tiles = read_page(page.sections(two)).tiles
        assert tiles["Late rows"] == ("8", "counted for each of 2 operators")


def test_the_first_decision_comes_before_any_batch(tmp_path: Path) -> None:
    first = (BEGAN + 1.5, e.DecisionMade(-1, Decision(4, "beginning with 4 slots")))
    found = read_page(decisions.sections(shown_of(tmp_path, [*steady(), first])))
    ((_, after, slots, *_),) = found.rows("time (UTC)", "after batch")
    assert (after, slots) == ("–", "4")
    assert found.tiles["Demand"] == ("–", "not known")


def test_what_came_long_before_the_first_batch_ended_is_shown(tmp_path: Path) -> None:
    at, body = batch(30)
    slow = replace(body, observation=replace(body.observation, batch_seconds=60.0))
    early = [
        (BEGAN, started()),
        (BEGAN, e.DecisionMade(-1, Decision(4, "beginning with 4 slots"))),
        (BEGAN, e.SlotsChanged(4, 4, 2, 2, "executors were asked for")),
    ]
    for chosen in ("", "all"):
        shown = shown_of(tmp_path / f"run {chosen}", [*early, (at, slow)], chosen=chosen)
        found = read_page(decisions.sections(shown))
        assert [row[3] for row in found.rows("time (UTC)", "after batch")] == [
            "beginning with 4 slots"
        ]
        assert [row[3] for row in found.rows("time (UTC)", "batch")] == ["executors were asked for"]
        planned_slots = curves(charts(now.sections(shown))["Slots"])["planned"]
        assert planned_slots == [[BEGAN * 1000, 4.0]]


def set_back(event: Timed) -> Timed:
    """The same an hour earlier by the clock; event time goes on."""
    at, body = event
    if isinstance(body, e.BatchFinished):
        body = replace(body, observation=replace(body.observation, at_seconds=at - 3_600.0))
    return at - 3_600.0, body


def test_after_a_clock_was_set_back_pages_go_on(tmp_path: Path) -> None:
    def decided(number: int) -> Timed:
        at, _ = batch(number)
        decision = Decision(2, f"after {number}", {}, 1.5, 4.0, {"sensors": 200.0})
        return at, e.DecisionMade(number, decision)

    before = [*steady(3), decided(2), *map(batch, range(3, 10)), decided(9)]
    later = [set_back(event) for event in (batch(10), decided(10), *map(batch, range(11, 20)))]
    shown = shown_of(tmp_path, [*before, *later])
    found = read_page(now.sections(shown))
    assert found.tiles["State"] == ("running", "began at 2023-11-14 22:13:20 UTC")
    assert found.tiles["Input"][0] == "50 rows/s"
    # The mark is twelve seconds behind where the clock would be, had it not been set back.
    tiles = read_page(windows.sections(shown)).tiles
    assert tiles["Behind the clock"][0] == "-59 min 48 s"
    rows = read_page(decisions.sections(shown)).rows("time (UTC)", "after batch")
    assert [(row[0], row[3], row[7]) for row in rows] == [
        ("2023-11-14 21:13:42", "after 10", "not over yet"),
        ("2023-11-14 22:13:40", "after 9", "not over yet"),
        ("2023-11-14 22:13:26", "after 2",
         "200 rows came (forecast +0 %); batches took 25 % of the trigger"),
    ]  # fmt: skip


def test_now_says_so_where_sources_do_not_tell_what_waits(tmp_path: Path) -> None:
    told = [batch(n, waiting=None) for n in range(3)]
    sections = now.sections(shown_of(tmp_path, [(BEGAN, started()), *told]))
    assert read_page(sections).tiles["Rows waiting"] == ("–", "the sources don't tell")
    waiting = charts(sections)["Rows waiting"].options
    assert waiting["title"]["text"] == "The sources don't tell how many rows wait."


def test_now_draws_no_trigger_where_there_is_none(tmp_path: Path) -> None:
    def without_trigger(number: int) -> Timed:
        at, told = batch(number)
        return at, replace(told, observation=replace(told.observation, trigger_seconds=None))

    untimed = [without_trigger(n) for n in range(3)]
    for name, events in (("timed", steady()), ("untimed", [(BEGAN, started()), *untimed])):
        chart = charts(now.sections(shown_of(tmp_path / name, events)))["Batch time"]
        assert ("trigger" in curves(chart)) == (name == "timed")
        assert ("Without a trigger" in chart.about) == (name == "untimed")
