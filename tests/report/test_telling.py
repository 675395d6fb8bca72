"""The story of a run whose story is known."""

from __future__ import annotations

import json
import re
from datetime import UTC
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.drawing.svg import svg
from penstock.elasticity.decision import Decision
from penstock.history.journal_history import JournalHistory
from penstock.journal.events import (
    CorruptLine,
    DecisionMade,
    KnownEvent,
    QueryStarted,
    QueryStopped,
)
from penstock.journal.window_events import RowsLate
from penstock.report.as_json import as_dict
from penstock.report.story import Chapter, Report, Story
from penstock.report.telling import report_of

from .journals import NASTY, NOON, batch, whole_run, write


def told(*journals: Path, **limits: float) -> Report:
    histories = [JournalHistory(path, **limits) for path in journals]  # type: ignore[arg-type]
    for history in histories:
        history.refresh()
        history.close()
    return report_of(histories, UTC)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    (found,) = told(write(tmp_path_factory.mktemp("run") / "journal", whole_run())).stories
    return found


def chapter(story: Story, title: str) -> Chapter:
    return next(each for each in story.chapters if each.title == title)


def test_the_headline_says_how_it_went(story: Story) -> None:
    assert story.name == "shop"
    assert story.headline == (
        "It ran from 17 November 2026, 12:00:00 UTC for 10 minutes 1 s and did 78,000 rows "
        "in 600 batches, 130 a second.",
        "It fell behind: 10 % of its batches took longer than their trigger of 1 s, the longest "
        "1.5 s.",
        "At most 3,000 rows waited, at 12:04:19; no rows waited at the end.",
        # 540 batches of 2 slots and 60 of 4, of 8 there could be, each for a second.
        "It used 2.2 slots on average, 0.367 slot-hours, and saved 0.967: 72 % of what all slots "
        "all the time would have taken.",
        "7 rows came late, and 600 rows failed and were set aside.",
        "It never began again, and 1 fault was seen.",
        "It ended as asked: stopped by its user.",
    )


def test_the_page_on_reports_shows_this_story(story: Story) -> None:
    page = Path(__file__).parents[2] / "docs" / "report.md"
    assert " ".join([*story.headline]) in " ".join(page.read_text().split())


def test_a_row_late_for_two_operators_is_said_to_count_for_each(tmp_path: Path) -> None:
    late: list[tuple[float, KnownEvent]] = [
        (1.0, RowsLate(0, name, 4)) for name in ("sums", "best")
    ]
    twice = "Rows came late 8 times, counted for each of 2 operators."
    for found, words in ((late[:1], "4 rows came late."), (late, twice)):
        journal = write(tmp_path / str(len(found)) / "journal", [*whole_run()[:1], *found])
        (story,) = told(journal).stories
        assert words in story.headline


def test_what_was_lost_is_parted_where_it_has_words_of_its_own_to_join(tmp_path: Path) -> None:
    late: list[tuple[float, KnownEvent]] = [
        (600.0, RowsLate(0, name, 4)) for name in ("sums", "best")
    ]
    events = [*whole_run()[:-2], *late]
    (story,) = told(write(tmp_path / "journal", events)).stories
    assert (
        "Rows came late 15 times, counted for each of 3 operators, and 600 rows failed and were "
        "set aside." in story.headline
    )


def test_one_of_anything_is_not_many(tmp_path: Path) -> None:
    events = [batch(number, float(number), rows=1, slots=1, used=1) for number in range(1, 4)]
    (story,) = told(write(tmp_path / "journal", events)).stories
    assert any(said.startswith("It used 1 slot on average, ") for said in story.headline)
    assert "Batches used 1 slot;" in chapter(story, "Slots").said


def test_the_moments_that_matter_come_in_their_order(story: Story) -> None:
    moments = [(each.at_seconds - NOON, each.kind) for each in story.moments]
    assert moments == [
        (0.0, "start"),
        (200.0, "behind"),
        (200.0, "burst"),
        (200.0, "slots"),
        (201.0, "fault"),
        (259.0, "backlog"),
        (260.0, "kept up"),
        (287.0, "recovery"),
        (601.0, "end"),
    ]
    said = {each.kind: each.what for each in story.moments}
    assert said["slots"] == "From 4 to 8: many rows for score"
    assert said["burst"] == "The most rows were read: 400 a second, 3.08 times the mean."
    assert said["recovery"] == "Caught up within 28 s: 300 rows waited then."


def test_every_chapter_is_there(story: Story) -> None:
    assert [each.title for each in story.chapters] == [
        "Turning points",
        "Rows that came in",
        "Rows that waited",
        "Batch time against the trigger",
        "Latency",
        "Slots",
        "The topology",
        "The busiest operators",
        "Decisions",
        "Placement",
        "Windows",
        "Preference queries",
        "Faults",
    ]


def test_decisions_say_what_was_expected_and_what_came(story: Story) -> None:
    (table, *_) = chapter(story, "Decisions").tables
    assert table.rows[0][:3] == ("12:00:00", "4", "the start")
    # Twenty seconds of 400 rows each, and at their end 1,000 more wait than at their beginning.
    assert table.rows[1] == (
        "12:03:20",
        "4 → 8",
        "many rows for score",
        "4,000",
        "9,000",
        "-56 %",
        "55 % → 150 %",
    )


@pytest.mark.parametrize(
    ("has_ended", "says"), [(True, "the run ended before"), (False, "not over yet")]
)
def test_of_a_decision_at_the_end_it_is_said_why_nothing_is_known(
    tmp_path: Path, has_ended: bool, says: str
) -> None:
    *run, (ended_at, end) = whole_run()
    assert isinstance(end, QueryStopped)
    last = DecisionMade(599, Decision(7, "at last", expected_rows={"clicks": 1.0},
                                      horizon_seconds=20.0))  # fmt: skip
    told_of = [*run, (ended_at - 0.5, last), *([(ended_at, end)] if has_ended else [])]
    (found,) = told(write(tmp_path, told_of)).stories
    (table, *_) = chapter(found, "Decisions").tables
    assert table.rows[-1][2] == "at last"
    assert table.rows[-1][4] == says


def test_operators_are_ranked_by_their_time(story: Story) -> None:
    (table,) = chapter(story, "The busiest operators").tables
    assert [row[:4] for row in table.rows] == [
        ("score", "180 s", "75 %", "0.3"),
        ("clicks", "60 s", "25 %", "0.1"),
    ]


def test_errors_come_with_a_message(story: Story) -> None:
    (letters, *_) = chapter(story, "Faults").tables
    assert letters.rows == [("score", "score", "600", "of score")]


def test_the_forecast_has_its_band(story: Story) -> None:
    (figure,) = chapter(story, "Rows that came in").figures
    assert set(figure.series) == {"rows read", "forecast"}
    assert set(figure.bands) == {"forecast"}


def test_slots_hold_until_they_change(story: Story) -> None:
    (figure,) = chapter(story, "Slots").figures
    planned = dict(zip(figure.x, figure.series["planned"], strict=True))
    assert {value for at, value in planned.items() if at < NOON + 200} == {4.0}
    assert {value for at, value in planned.items() if at >= NOON + 200} == {8.0}


def test_json_knows_the_same(story: Story) -> None:
    text = json.dumps(as_dict(Report((story,), {})), allow_nan=False)
    (found,) = json.loads(text)["stories"]
    assert found["summary"]["rows"] == 78_000
    assert found["headline"] == list(story.headline)
    assert len(found["turning_points"]) == 9


def test_a_time_can_be_left_out(tmp_path: Path) -> None:
    journal = write(tmp_path, whole_run())
    (found,) = told(journal, since_seconds=NOON + 100.5, until_seconds=NOON + 150.5).stories
    assert found.summary.batches == 50
    assert found.summary.rows == 5_000
    assert any(each.title == "The topology" for each in found.chapters)
    # The start lies before: it is neither told nor counted.
    assert found.headline[0].startswith("It ran from 17 November 2026, 12:01:40 UTC for 49.5 s")
    assert {each.kind for each in found.moments}.isdisjoint({"start", "restart"})


def test_of_a_time_in_which_nothing_happened_there_is_no_story(tmp_path: Path) -> None:
    journal = write(tmp_path / "journal", whole_run())
    with (journal / "journal-00000001.jsonl").open("a") as file:
        file.write(f"{NASTY}\n")  # of no known time, and so of any
    for limits in ({"since_seconds": NOON + 9_000}, {"until_seconds": NOON - 9_000}):
        report = told(journal, **limits)
        assert report.stories == ()
        (why,) = report.problems.values()
        assert "tells nothing of the time asked for: its events are from 17 November 2026, " in why
        assert "12:00:00 UTC to " in why
        assert "12:10:01 UTC." in why


def test_of_a_query_that_had_only_begun_the_time_is_told_too(tmp_path: Path) -> None:
    journal = write(tmp_path / "journal", whole_run()[:2])
    report = told(journal, since_seconds=NOON + 9_000)
    assert "nothing of the time asked for" in report.problems[str(journal)]


def test_a_restart_counts_also_where_the_start_is_left_out(tmp_path: Path) -> None:
    start = QueryStarted("id", "shop", "", "1.0", "4.3", 4)
    events = [(0.0, start), batch(0, 1.0), (20.0, start), batch(1, 21.0), (60.0, start)]
    (found,) = told(write(tmp_path, events), since_seconds=NOON + 40).stories
    assert found.summary.restarts == 1
    assert [(each.at_seconds - NOON, each.kind) for each in found.moments] == [(60.0, "restart")]


def test_runs_with_triggers_of_their_own_and_without(tmp_path: Path) -> None:
    start, end = QueryStarted("id", "shop", "", "1.0", "4.3", 4), QueryStopped("ended")
    events = [
        (0.0, start), batch(0, 1.0), (2.0, end),
        (60.0, start), batch(1, 61.0, trigger=9.0), (62.0, end),
        (70.0, start), batch(2, 71.0, trigger=None), (72.0, end),
    ]  # fmt: skip
    (found,) = told(write(tmp_path, events)).stories
    assert "It kept up: every batch ended within its trigger." in found.headline
    assert found.headline[-1] == "It ended as asked."
    assert [(each.kind, each.what) for each in found.moments if "start" in each.kind] == [
        ("start", "The query began with 4 slots."),
        ("restart", "The query began again with 4 slots."),
        ("restart", "The query began again with 4 slots."),
    ]


def test_restarts_and_how_the_run_before_ended(tmp_path: Path) -> None:
    start = QueryStarted("id", "shop", "", "1.0", "4.3", 4)
    events = [
        (0.0, start), batch(0, 1.0), (2.0, QueryStopped("failed", "no space left")),
        (60.0, start), batch(1, 61.0),
    ]  # fmt: skip
    (found,) = told(write(tmp_path, events)).stories
    assert "It began again once, and no faults were seen." in found.headline
    assert found.outcome == "Nothing says that it has ended; the last word from it is of 12:01:01."
    restarts = chapter(found, "Faults").tables[0]
    assert restarts.rows[0][3] == "no space left"


def gaps(story: Story) -> list[tuple[float, float]]:
    """Return the gaps in minutes since noon, the same of each figure over time."""
    drawn = [each for chapter in story.chapters for each in chapter.figures if each.zone]
    assert drawn
    (found,) = {tuple(each.gaps) for each in drawn}
    return [((start - NOON) / 60, (end - NOON) / 60) for start, end in found]


@pytest.mark.parametrize("count", [1, 2, 30, 900])
def test_figures_are_parted_between_runs_hours_apart(tmp_path: Path, count: int) -> None:
    start, end = QueryStarted("id", "shop", "", "1.0", "4.3", 4), QueryStopped("ended")
    events: list[tuple[float, KnownEvent]] = []
    for began in (0.0, 3 * 3_600.0, 9 * 3_600.0):
        runs = [batch(n, began + 60.0 * (n + 1) / count) for n in range(count)]
        events += [(began, start), *runs, (began + 60.0, end)]
    (found,) = told(write(tmp_path, events)).stories
    first = 60.0 / count / 60
    expected = [1.0, 180.0 + first, 181.0, 540.0 + first]
    assert [minute for gap in gaps(found) for minute in gap] == pytest.approx(expected)
    (slots,) = chapter(found, "Slots").figures
    lines = re.findall(r'<(?:polyline points="([^"]*)"|circle cx="([^"]*)")', svg(slots))
    spans = [[float(each.split(",")[0]) for each in (a or b).split()] for a, b in lines]
    assert spans
    # Of 646 points across, a minute is not much more than one.
    assert all(max(each) - min(each) <= 2.0 for each in spans)


def test_figures_of_a_run_without_pauses_are_whole(story: Story) -> None:
    assert gaps(story) == []


def test_batches_that_come_as_rows_do_are_no_gaps(tmp_path: Path) -> None:
    at = [1.0, 2.0, 5.0, 6.0, 11.0, 12.5, 14.0, 20.0]
    events = [(0.0, QueryStarted("id", "shop", "", "1.0", "4.3", 4))]
    (found,) = told(write(tmp_path, [*events, *(batch(n, t) for n, t in enumerate(at))])).stories
    assert gaps(found) == []


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        ([4], "1 decision was made: it set the number of slots."),
        (
            [4, 4, 8, 8, 8, 4],
            "6 decisions were made: the first set the number of slots, 2 changed it, 3 left it as "
            "it was. The table shows those that set or changed it.",
        ),
        (
            [4, 8],
            "2 decisions were made: the first set the number of slots, 1 changed it, none left it "
            "as it was.",
        ),
    ],
)
def test_decisions_are_counted_as_the_table_shows_them(
    tmp_path: Path, slots: list[int], said: str
) -> None:
    events = [(float(n), DecisionMade(n - 1, Decision(each, "so"))) for n, each in enumerate(slots)]
    (found,) = told(write(tmp_path, [*events, batch(0, 9.0)])).stories
    decisions = chapter(found, "Decisions")
    assert decisions.said == said
    changed = 1 + sum(a != b for a, b in pairwise(slots))
    assert len(decisions.tables[0].rows) == changed


def test_a_query_that_has_only_begun_has_a_story(tmp_path: Path) -> None:
    (found,) = told(write(tmp_path, [(0.0, QueryStarted("id", "shop", "", "1", "4", 4))])).stories
    assert found.summary.batches == 0
    assert "no rows in no batches" in found.headline[0]


def test_several_queries_of_one_journal_have_a_story_each(tmp_path: Path) -> None:
    events = [batch(n, float(n), query=name, rows=rows) for n in range(1, 4)
              for name, rows in (("a", 10), ("b", 20))]  # fmt: skip
    found = told(write(tmp_path, events)).stories
    assert [(each.name, each.summary.rows) for each in found] == [("a", 30), ("b", 60)]


def test_stories_of_one_name_are_told_apart(tmp_path: Path) -> None:
    journals = [write(tmp_path / name, whole_run()[:10]) for name in ("monday", "tuesday")]
    assert [each.name for each in told(*journals).stories] == ["shop (monday)", "shop (tuesday)"]


class TestJournalsWithoutAStory:
    def test_empty(self, tmp_path: Path) -> None:
        (tmp_path / "journal-00000001.jsonl").write_text("")
        report = told(tmp_path)
        assert not report.stories
        assert "is empty so far: no query has begun" in report.problems[str(tmp_path)]

    def test_half_written(self, tmp_path: Path) -> None:
        (tmp_path / "journal-00000001.jsonl").write_text('{"v":1,"seq":1,"at":1')
        assert "is empty so far" in told(tmp_path).problems[str(tmp_path)]

    def test_corrupt(self, tmp_path: Path) -> None:
        (tmp_path / "journal-00000001.jsonl").write_text("nonsense\n" * 3)
        assert "holds 3 lines that are no events" in told(tmp_path).problems[str(tmp_path)]

    def test_one_corrupt_line(self, tmp_path: Path) -> None:
        (tmp_path / "journal-00000001.jsonl").write_text("nonsense\n")
        assert "holds 1 line that is no event" in told(tmp_path).problems[str(tmp_path)]

    def test_nothing_there(self, tmp_path: Path) -> None:
        assert "there is nothing at" in told(tmp_path / "no").problems[str(tmp_path / "no")]

    def test_a_newer_schema(self, tmp_path: Path) -> None:
        (tmp_path / "journal-00000001.jsonl").write_text('{"v":99,"seq":1,"at":1,"kind":"A"}\n')
        assert "newer" in told(tmp_path).problems[str(tmp_path)]


def test_corrupt_lines_among_others_are_told(tmp_path: Path) -> None:
    journal = write(tmp_path, whole_run())
    with (journal / "journal-00000001.jsonl").open("a") as file:
        file.write(f"{NASTY}\n")
    (found,) = told(journal).stories
    faults = chapter(found, "Faults")
    assert "1 line of the journal can't be read" in faults.said
    assert CorruptLine.__name__ not in faults.said
