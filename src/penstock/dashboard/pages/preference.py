"""Preference: how panes are split, and the newest skyline as it comes out."""

from __future__ import annotations

from penstock.dashboard.charts import COLOURS, SOFT, Line, Points, lines, scatter
from penstock.dashboard.markup import Safe, notice, table
from penstock.dashboard.sections import Chart, Html, Section, Shown
from penstock.dashboard.words import counted, moment
from penstock.history.preference_seen import PreferenceOperator
from penstock.journal.window_events import SkylineSeen

MOST_LISTED = 12


def sections(shown: Shown) -> list[Section]:
    """Say what became of each preference query."""
    operators = shown.query.preference.operators
    if not operators:
        return [
            Html(
                notice(
                    "This query has no skyline and no top dominant rows.",
                    "Write stream.window(ps.sliding('1 minute', '10 seconds'))"
                    ".skyline(minimize=['price'], maximize=['rating']) to have one.",
                )
            )
        ]
    found: list[Section] = []
    for name, operator in operators.items():
        found += _operator(shown, name, operator)
    return found


def _operator(shown: Shown, name: str, operator: PreferenceOperator) -> list[Section]:
    made: list[Section] = []
    if operator.skyline:
        made.append(_skyline(name, operator.skyline))
        made.append(Html(_points(operator.skyline), title="Its points", is_wide=False))
    splits = operator.splits.buckets(shown.since_seconds, shown.until_seconds, 300)
    at = splits["at"]
    reason = operator.newest_split.reason if operator.newest_split else ""
    made.append(
        Chart(
            f"Parts a pane is split in ({name})",
            lines(
                [
                    Line("parts per pane", at, splits["parts"]),
                    Line("split factor α", at, splits["alpha"], colour=SOFT, is_dashed=True),
                ],
                "parts",
            ),
            reason,
        )
    )
    made.append(
        Chart(
            f"Threshold at which a part ends ({name})",
            lines([Line("threshold", at, splits["threshold"])], "rows"),
            "α times what is usual; the controller lowers it while tasks are uneven.",
        )
    )
    tasks = operator.tasks.buckets(shown.since_seconds, shown.until_seconds, 300)
    made.append(
        Chart(
            f"Utilisation of the two stages ({name})",
            lines(
                [
                    Line("panes", at, splits["utilisation"]),
                    Line("windows", tasks["at"], tasks["utilisation"], colour=COLOURS[2]),
                ],
                "share of their time",
            ),
        )
    )
    made.append(
        Chart(
            f"Tasks that form windows ({name})",
            lines(
                [
                    Line("updates", tasks["at"], tasks["updates"]),
                    Line("merges", tasks["at"], tasks["merges"], colour=COLOURS[1]),
                ],
                "tasks",
            ),
        )
    )
    return made


def _skyline(name: str, groups: tuple[SkylineSeen, ...]) -> Chart:
    first = groups[0]
    axis = [
        f"{column} ({'larger' if maximized else 'smaller'} is better)"
        for column, maximized in (
            (first.x_column, first.x_is_maximized),
            (first.y_column, first.y_is_maximized),
        )
    ]
    window = f"{moment(first.window_start_seconds)} to {moment(first.window_end_seconds)} UTC"
    rows = sum(each.rows for each in groups)
    is_skyline = all(each.is_staircase for each in groups)
    why = "no other row of it is better in both" if is_skyline else "what the preference chose"
    return Chart(
        f"The newest skyline of {name}",
        scatter(
            [Points(each.key or name, each.x, each.y, each.is_staircase) for each in groups],
            axis[0],
            axis[1],
            x_is_time=first.x_is_time,
            y_is_time=first.y_is_time,
            x_is_maximized=first.x_is_maximized,
        ),
        f"Window from {window}, {counted(rows, 'row')}: {why}.",
        height=360,
    )


def _points(groups: tuple[SkylineSeen, ...]) -> Safe:
    first = groups[0]
    rows = [
        (each.key or "all rows", _value(x, first.x_is_time), _value(y, first.y_is_time))
        for each in groups
        for x, y in zip(each.x, each.y, strict=True)
    ]
    return table(
        f"The first {min(MOST_LISTED, len(rows))} of {len(rows)} points",
        ("group", first.x_column, first.y_column),
        rows[:MOST_LISTED],
    )


def _value(value: float, is_time: bool) -> str:
    return moment(value) if is_time else f"{value:.6g}"
