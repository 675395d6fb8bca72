"""Figures of preference queries: the skyline, panes that are split, windows that are formed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
from axes import Axes

from drawing import BLUE, FAINT, GREEN, MUTED, ORANGE, RED, VIOLET, Drawing
from penstock.preference.pane_splitting import PaneSplitting
from penstock.preference.skyline import skyline
from penstock.preference.split_control import PanesSeen, SplitControl, SplitState
from penstock.preference.utilisation import uneven_utilisation
from penstock.preference.window_tasks import PartResult, WindowEmitter, WindowTask


def preference() -> Drawing:
    """Offers by price and days: the skyline, and one row's victims."""
    rng = np.random.default_rng(11)
    offers = np.column_stack([rng.uniform(8, 96, 90), rng.uniform(0.6, 9.6, 90)])
    offers = offers[offers[:, 0] / 100 + offers[:, 1] / 10 > 0.52]
    best = skyline(offers)
    d = Drawing(366, "Offers by price and days, and those that no other beats")
    axes = Axes(d, (66, 52), (630, 250), (0, 100), (0, 10))
    axes.frame([0, 20, 40, 60, 80, 100], [0, 2, 4, 6, 8, 10], y_label="days until it is here")
    ordered = offers[best][np.argsort(offers[best][:, 0])]
    one = ordered[len(ordered) // 2]
    x, y = axes.at(*one)
    d.area([(x, y), (axes.right, y), (axes.right, axes.top), (x, axes.top)], ORANGE, solid=0.09)
    words = "no better than the orange offer in price, nor in days"
    d.text(axes.right, axes.top - 12, words, size=13, colour=ORANGE, anchor="end")
    edge = [(float(ordered[0][0]), 10.0)]
    for price, days in ordered:
        edge += [(float(price), edge[-1][1]), (float(price), float(days))]
    edge.append((100.0, edge[-1][1]))
    d.line([axes.at(*point) for point in edge], GREEN, dashed=True, width=1.2)
    kept = set(best.tolist())
    for place, offer in enumerate(offers.tolist()):
        if place not in kept:
            d.dot(*axes.at(*offer), FAINT, radius=3.5)
    for offer in ordered.tolist():
        d.dot(*axes.at(*offer), GREEN, radius=5.5)
    d.dot(x, y, ORANGE, radius=6)
    d.key(
        66, 346, [(f"skyline: {len(best)} of {len(offers)}", GREEN), ("dominated", FAINT)], step=170
    )
    d.note(axes.right, 342, "price", anchor="end")
    return d


TASKS, SERVED = 4, 1_000.0


def pane_splitting() -> Drawing:
    """A burst of rows: utilisation, and into how many parts panes are split."""
    heavy = [False] * 10 + [True] * 18 + [False] * 12
    seen = list(_split(heavy))
    d = Drawing(404, "Utilisation of tasks and parts of panes while a burst lasts")
    batches = range(len(heavy))
    use = Axes(d, (66, 56), (630, 124), (0, len(heavy)), (0.2, 1.6))
    use.frame([], [0.5, 0.9, 1.3], y_label="utilisation of the tasks", written="{:.1f}")
    use.level(0.9, GREEN)
    left, right = use.x(10), use.x(28)
    d.area([(left, use.top), (right, use.top), (right, 336), (left, 336)], ORANGE, solid=0.07)
    d.text(
        (left + right) / 2, use.top - 12, "one pane has 4 times its rows", size=13, colour=ORANGE
    )
    use.steps(batches, [each.whole for each in seen], FAINT, width=1.6)
    use.steps(batches, [each.utilisation for each in seen], BLUE, width=2.2)
    d.text(use.x(28.6), use.y(1.36), "every pane whole", size=13, colour=MUTED, anchor="start")
    d.text(
        use.x(28.6), use.y(1.12), "split by the controller", size=13, colour=BLUE, anchor="start"
    )
    parts = Axes(d, (66, 232), (630, 104), (0, len(heavy)), (0, 4))
    parts.frame(
        [0, 10, 20, 30, 40],
        [0, 1, 2, 3, 4],
        x_label="micro-batches",
        y_label="parts of a pane, mean",
    )
    parts.steps(batches, [each.parts for each in seen], VIOLET, width=2.2)
    d.note(
        66, 384, "the set point is 0.9: panes are split only as far as that takes", anchor="start"
    )
    return d


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of one batch: as split, and as it would be with no pane split."""

    utilisation: float
    parts: float
    whole: float


def _split(heavy: list[bool]) -> Iterator[Batch]:
    rng = np.random.default_rng(5)
    control, state = SplitControl(PaneSplitting()), SplitState(usual_rows=600.0)
    for is_heavy in heavy:
        usual = (500.0, 2_000.0 if is_heavy else 500.0, 500.0, 500.0)
        sizes = [
            int(rows * factor) for rows, factor in zip(usual, rng.uniform(0.9, 1.1, 4), strict=True)
        ]
        threshold = state.threshold_rows or 1.0
        parts = {
            pane: _even(size, min(TASKS, max(1, ceil(size / threshold))))
            for pane, size in enumerate(sizes)
        }
        utilisation = _utilisation(parts)
        yield Batch(
            utilisation,
            PanesSeen(parts).parts_per_pane,
            _utilisation({pane: (size,) for pane, size in enumerate(sizes)}),
        )
        state, _ = control.after(state, PanesSeen(parts), utilisation)


def _even(rows: int, parts: int) -> tuple[int, ...]:
    return tuple(rows // parts + (part < rows % parts) for part in range(parts))


def _utilisation(parts: dict[int, tuple[int, ...]]) -> float:
    loads = [0.0] * TASKS
    for pane, sizes in parts.items():
        for part, rows in enumerate(sizes):
            loads[(pane + part) % TASKS] += rows
    return uneven_utilisation(loads, SERVED)


def window_tasks() -> Drawing:
    """Four workers form two windows, with merges and without."""
    d = Drawing(346, "Workers that form two windows, with and without merges")
    with_merges, alone = _run(merges=True), _run(merges=False)
    longest = max(end for _, _, end in alone)
    _workers(d, 24, "With MERGE tasks", with_merges, longest)
    _workers(d, 178, "Without them", alone, longest)
    entries = [
        ("update of window A", BLUE),
        ("update of window B", GREEN),
        ("merge of two results", ORANGE),
    ]
    d.key(24, 328, entries, step=210)
    return d


Timed = tuple[WindowTask[int], float, float]


def _run(*, merges: bool) -> list[Timed]:
    """Give the emitter nine results for each of two windows, and let every task take its size."""
    emitter: WindowEmitter[int] = WindowEmitter(workers=4, merges=merges)
    done: list[Timed] = []
    running: list[tuple[float, int, float, WindowTask[int]]] = []
    now, number = 0.0, 0

    def start(tasks: list[WindowTask[int]]) -> None:
        nonlocal number
        for task in tasks:
            number += 1
            took = 1.0 if task.kind == "update" else 0.8
            running.append((now + took, number, now, task))

    for window in ("A", "B"):
        emitter.open(window, panes=[window])
    for part in range(9):
        for window in ("A", "B"):
            start(emitter.arrived(PartResult(window, 9, part)))
    while running:
        running.sort(key=lambda each: each[:2])
        now, _, began, task = running.pop(0)
        done.append((task, began, now))
        start(emitter.done(task, merged=0 if task.kind == "merge" else None))
    return done


def _workers(d: Drawing, top: float, words: str, tasks: list[Timed], longest: float) -> None:
    d.heading(24, top + 10, words)
    pixels = 560 / longest
    for worker in range(4):
        y = top + 24 + worker * 27
        d.note(24, y + 15, f"worker {worker}", anchor="start")
        d.bar(92, y, 560, 20, FAINT, solid=0.13)
    for task, began, ended in tasks:
        colour = ORANGE if task.kind == "merge" else BLUE if task.window == "A" else GREEN
        y = top + 24 + task.worker * 27
        d.bar(92 + began * pixels + 1, y, (ended - began) * pixels - 2, 20, colour, solid=0.85)
    end = 92 + max(ended for _, _, ended in tasks) * pixels
    d.line([(end, top + 18), (end, top + 134)], RED, dashed=True)
    d.text(end, top + 10, "both formed", size=13, colour=RED)


FIGURES = {
    "preference": preference,
    "pane-splitting": pane_splitting,
    "window-tasks": window_tasks,
}
