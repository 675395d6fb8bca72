"""Placement: whether tasks get equal work, which keys are hot, and who owns which key group."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from penstock.dashboard.charts import Line, bars, lines
from penstock.dashboard.key_group_map import key_group_map
from penstock.dashboard.markup import Safe, notice, table
from penstock.dashboard.sections import Chart, Html, Section, Shown
from penstock.dashboard.words import count, counted, moment, share, span
from penstock.placement.group_ranges import in_ranges

MOST_CURVES = 6
MOST_SHOWN = 60
MOST_TASKS = 200


def sections(shown: Shown) -> list[Section]:
    """Say how evenly rows were dealt out."""
    found: list[Section] = []
    if not shown.query.operators.names:
        return [Html(notice("No micro-batch has ended yet.", "Task balance is known after one."))]
    found.append(_balance(shown))
    found += _hottest(shown)
    placement = shown.query.placement
    for name, placed in placement.owners.items():
        found += _owners(name, placed.owners)
    if placement.owners or placement.moves:
        found.append(Html(_moves(shown), "Key groups that moved"))
    found.append(Html(_changes(shown), "Moves and changes"))
    return found


def _owners(name: str, owners: Sequence[int]) -> list[Section]:
    """Show which task owns which key groups: as a field of colours, and in words."""
    owned: dict[int, list[int]] = {}
    for group, task in enumerate(owners):
        owned.setdefault(task, []).append(group)
    rows = [(task, count(len(owned[task])), in_ranges(owned[task])) for task in sorted(owned)]
    left = len(rows) - MOST_TASKS
    more = f" {left:,} other tasks are left out." if left > 0 else ""
    return [
        Chart(
            f"Key groups of {name}",
            key_group_map(owners),
            f"{counted(len(owners), 'key group')} on {counted(len(owned), 'task')}; a box is "
            "a group, its colour the task that owns it.",
            height=260,
        ),
        Html(
            table(
                "Task by task",
                ("task", "how many", "which groups"),
                rows[:MOST_TASKS],
                words=(0, 2),
                empty="It has no key groups.",
            ),
            f"Who owns which group of {name}",
            f"0–8 by 4 is 0, 4 and 8.{more}",
            is_wide=False,
        ),
    ]


def _balance(shown: Shown) -> Chart:
    """Draw the slowest task over the mean one, of the operators that take most time."""
    rows = {name: shown.operator(name) for name in shown.query.operators.names}
    parallel = [name for name, each in rows.items() if len(each) and (each["tasks"] > 1).any()]
    busiest = sorted(parallel, key=lambda name: -float(np.nansum(rows[name]["busy"])))
    balances = {name: shown.balance(name) for name in busiest[:MOST_CURVES]}
    return Chart(
        "Task balance",
        lines(
            [Line(name, each["at"], each["balance"]) for name, each in balances.items()],
            "slowest task / mean task",
            least=1.0,
            nothing="No operator ran as several tasks in this time.",
        ),
        "1 is even: every task of a batch ends at the same time. At 2 the slowest takes twice the "
        "mean, and the others wait for it. Operators with several tasks, the busiest first.",
        height=280,
        is_wide=True,
    )


def _hottest(shown: Shown) -> list[Section]:
    hottest = shown.query.placement.hottest
    if not hottest:
        return [
            Html(
                notice(
                    "No hottest keys.",
                    "They come from what a placement learns: give a map a cost_key and the query "
                    "placement=ps.CostAware(), or place by ps.KeyGroups().",
                )
            )
        ]
    made: list[Section] = []
    for name, told in hottest.items():
        keys = [each.key for each in told.keys]
        made.append(
            Chart(
                f"Hottest keys of {name}",
                bars(keys, [100 * each.share for each in told.keys], "% of the load"),
                f"As of batch {told.batch_id}, of all the time that its tasks took.",
                height=60 + 24 * max(3, len(keys)),
            )
        )
        rows = [(each.key, share(each.share), span(each.mean_seconds)) for each in told.keys]
        made.append(
            Html(
                table("The heaviest first", ("key", "of the load", "per row"), rows),
                f"Hottest keys of {name} in numbers",
                is_wide=False,
            )
        )
    return made


def _moves(shown: Shown) -> Safe:
    newest = (
        each for each in reversed(shown.query.placement.moves) if shown.is_within(each.at_seconds)
    )
    rows = [
        (
            moment(each.at_seconds),
            count(each.batch_id),
            each.operator,
            in_ranges(each.groups),
            each.source,
            each.target,
            each.reason,
        )
        for each in islice(newest, MOST_SHOWN)
    ]
    return table(
        "Which went where, the newest first",
        ("time (UTC)", "batch", "of", "groups", "from task", "to task", "why"),
        rows,
        words=(0, 2, 3, 6),
        empty="No key group moved in this time.",
    )


def _changes(shown: Shown) -> Safe:
    newest = (
        each for each in reversed(shown.query.placement.changes) if shown.is_within(each.at_seconds)
    )
    rows = [
        (moment(each.at_seconds), count(each.batch_id), each.operator, each.what, each.reason)
        for each in islice(newest, MOST_SHOWN)
    ]
    return table(
        "What changed about where rows go, the newest first",
        ("time (UTC)", "batch", "of", "what", "why"),
        rows,
        words=(0, 2, 3, 4),
        empty="Nothing changed about where rows go in this time.",
    )
