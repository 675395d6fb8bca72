"""Figures of which row goes to which task: dealt in turn, by cost, by key group."""

from __future__ import annotations

import numpy as np
from axes import Axes

from drawing import BLUE, BROWN, GREEN, INK, MUTED, ORANGE, RED, VIOLET, Drawing
from penstock.placement.assignment import dear_first
from penstock.placement.flux import Rebalance, rebalanced, task_loads
from penstock.placement.group_table import GroupTable
from penstock.placement.placement import Border
from penstock.placement.round_robin import RoundRobin

TASKS = 4


def placement() -> Drawing:
    """Rows of three partitions dealt to four tasks in turn."""
    d = Drawing(330, "Rows of three partitions go to four tasks")
    d.heading(24, 32, "3 partitions, as rows came")
    d.heading(300, 32, "a column says where")
    d.heading(540, 32, "4 tasks")
    sizes, colours = (6, 3, 7), (BLUE, ORANGE, GREEN)
    said = RoundRobin().expression(Border(partitions=len(sizes), tasks=TASKS)) or ""
    stride = int(said.split("spark_partition_id() * ")[1].partition(",")[0])
    lanes: list[list[str]] = [[] for _ in range(TASKS)]
    for partition, (size, colour) in enumerate(zip(sizes, colours, strict=True)):
        y = 62 + partition * 84
        d.box(24, y, 224, 60, colour=colour, filled=0.05)
        d.arrow([(248, y + 30), (296, y + 30)])
        for row in range(size):
            task = (row + partition * stride) % TASKS
            lanes[task].append(colour)
            d.dot(44 + row * 30, y + 30, colour, radius=9)
            d.text(304 + row * 22, y + 35, str(task), colour=colour, mono=True)
    d.arrow([(452, 176), (530, 176)])
    d.note(489, 160, "repartitionById")
    for task, rows in enumerate(lanes):
        y = 52 + task * 62
        d.box(540, y, 156, 48, colour=VIOLET, filled=0.05)
        d.text(556, y + 29, str(task), mono=True, bold=True)
        for place, colour in enumerate(rows):
            d.dot(582 + place * 22, y + 24, colour, radius=8)
    d.note(360, 316, "every task gets 4 rows; which of them, the placement says", anchor="middle")
    return d


def cost_aware() -> Drawing:
    """The same rows dealt in turn, and placed by what they cost."""
    rng = np.random.default_rng(7)
    costs = np.where(rng.random(48) < 0.15, 0.3, 0.02) * rng.uniform(0.8, 1.2, 48)
    in_turn = np.arange(len(costs)) % TASKS
    by_cost = dear_first(costs, np.zeros(TASKS))
    most = max(float(np.bincount(chosen, costs).max()) for chosen in (in_turn, by_cost))
    d = Drawing(300, "Loads of four tasks, dealt in turn and placed by cost")
    _gantt(d, 24, "Dealt in turn", costs, in_turn, most, RED)
    _gantt(d, 376, "Placed by cost", costs, by_cost, most, GREEN)
    d.key(24, 280, [("a row of 20 ms", BLUE), ("a row of 300 ms", ORANGE)], step=170)
    return d


def _gantt(
    d: Drawing,
    left: float,
    words: str,
    costs: np.ndarray,
    chosen: np.ndarray,
    most: float,
    colour: str,
) -> None:
    d.heading(left, 32, words)
    scale, top = 250 / most, 54
    loads = np.bincount(chosen, costs, TASKS)
    for task in range(TASKS):
        y, x = top + task * 42, left + 52
        d.note(left, y + 19, f"task {task}", anchor="start")
        for cost in sorted(costs[chosen == task], reverse=True):
            d.bar(x, y, max(1.2, cost * scale - 1.2), 28, ORANGE if cost > 0.1 else BLUE, solid=0.8)
            x += cost * scale
    end = left + 52 + float(loads.max()) * scale
    d.line([(end, 46), (end, 226)], colour, dashed=True)
    middle = left + 190
    d.text(middle, 246, f"the batch is done after {loads.max():.2f} s", size=13, colour=colour)


def key_groups() -> Drawing:
    """Flux moves some groups, and loads are even."""
    loads = [float(load) for load in (9, 3, 2, 4, 6, 2, 3, 2, 5, 3, 2, 1, 4, 2, 1, 3)]
    table = GroupTable.even(groups=len(loads), tasks=TASKS)
    moved = rebalanced(table, loads)
    d = Drawing(310, "Key groups of four tasks before and after Flux has moved some")
    _stacks(d, 60, "Before", table, loads, moved)
    _stacks(d, 408, "After", moved.table, loads, moved)
    d.arrow([(344, 160), (392, 160)], MUTED, width=2)
    groups = ", ".join(str(move.group) for move in moved.moves)
    count = len(moved.moves)
    said = (
        f"{count} of {len(loads)} groups move ({groups}), coloured; no key is looked at one by one"
    )
    d.note(360, 294, said)
    return d


def _stacks(
    d: Drawing, left: float, words: str, table: GroupTable, loads: list[float], moved: Rebalance
) -> None:
    most = max(task_loads(moved.table, loads) + task_loads(GroupTable.even(16, TASKS), loads))
    axes = Axes(d, (left, 52), (270, 190), (0, TASKS), (0, most))
    d.heading(left, 32, words)
    mean = sum(loads) / TASKS
    colours = dict(
        zip((m.group for m in moved.moves), (ORANGE, VIOLET, BROWN, GREEN, RED), strict=False)
    )
    for task in range(TASKS):
        height, x = 0.0, axes.x(task) + 8
        for group in table.of_task(task):
            y = axes.y(height + loads[group])
            size = axes.y(height) - y - 1.5
            colour = colours.get(group, BLUE)
            d.bar(x, y, 52, size, colour, solid=0.75 if group in colours else 0.25)
            if size > 13:
                ink = "#ffffff" if group in colours else INK
                d.text(x + 26, y + size / 2 + 4.5, str(group), size=12.5, colour=ink)
            height += loads[group]
        d.note(x + 26, axes.bottom + 18, f"task {task}")
    y = axes.y(mean)
    d.line([(axes.left, y), (axes.right, y)], INK, width=1.2, dashed=True)
    if words == "Before":
        d.note(axes.left - 6, y + 4, "mean", anchor="end")


FIGURES = {"placement": placement, "cost-aware": cost_aware, "key-groups": key_groups}
