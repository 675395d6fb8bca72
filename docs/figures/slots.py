"""Figures of slots that come and go, of limits, and of queries that somebody else wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axes import Axes

from drawing import BLUE, GREEN, GRID, MUTED, ORANGE, RED, VIOLET, Drawing
from penstock.elasticity.admission import Admission, AdmissionControl

Held = Sequence[tuple[float, int]]


def slots() -> Drawing:
    """Four numbers over time: planned, requested, observed, warm."""
    d = Drawing(318, "Slots planned, requested, observed and warm over time")
    lanes: tuple[tuple[str, str, str, Held], ...] = (
        ("planned", "what the policy wants", ORANGE, ((0, 1), (4, 4), (26, 1))),
        ("requested", "what was asked for", VIOLET, ((0, 1), (4.3, 4), (26.3, 1))),
        ("observed", "what has registered", BLUE, ((0, 1), (10, 2), (12, 4), (29, 1))),
        ("warm", "what a plan may use", GREEN, ((0, 1), (13, 2), (15, 4), (26.3, 1))),
    )
    end, left, width = 36.0, 182.0, 514.0
    for place, (name, detail, colour, held) in enumerate(lanes):
        y = 30 + place * 58
        d.text(24, y + 18, name, bold=True, anchor="start", colour=colour)
        d.note(24, y + 36, detail, anchor="start")
        until = [since for since, _ in held[1:]] + [end]
        for (since, count), then in zip(held, until, strict=True):
            x, right = left + since / end * width, left + then / end * width
            height = 10.5 * count
            d.bar(x + 1, y + 44 - height, right - x - 2, height, colour, solid=0.22 + 0.12 * count)
            if right - x > 14:
                d.text((x + right) / 2, y + 40, str(count), size=12.5)
        d.line([(left, y + 46), (left + width, y + 46)], GRID, width=1)
    asked, ready = left + 4 / end * width, left + 15 / end * width
    d.line([(asked, 24), (asked, 262)], MUTED, width=1, dashed=True)
    d.line([(ready, 24), (ready, 262)], MUTED, width=1, dashed=True)
    d.arrow([(asked + 4, 276), (ready - 2, 276)], MUTED)
    d.arrow([(ready - 4, 276), (asked + 2, 276)], MUTED)
    d.text((asked + ready) / 2, 298, "seconds: so it is forecast", size=13)
    back = left + 26 / end * width
    d.line([(back, 24), (back, 262)], MUTED, width=1, dashed=True)
    d.text(back + 6, 298, "fewer: at once", size=13)
    return d


@dataclass(frozen=True, slots=True)
class Batch:
    """One simulated batch: when it began, how long it took, and the rows that it might take."""

    began: float
    seconds: float
    limit: float


RATE, PER_ROW, FIXED, TRIGGER, END, PILED = 300.0, 1 / 1_200, 0.6, 10.0, 300.0, 160_000.0
DEARER_FROM = 180.0


def admission() -> Drawing:
    """A backlog after a pause: one huge batch, or many that fit their trigger."""
    free, held = _run(None), _run(AdmissionControl(Admission(), 0.8 * TRIGGER))
    d = Drawing(372, "Batches after a pause, with and without a limit")
    left, width = 132.0, 564.0
    for y, words, batches, colour in (
        (44.0, "no limit", free, RED),
        (88.0, "Admission()", held, GREEN),
    ):
        d.text(24, y + 19, words, bold=True, size=13, anchor="start", colour=colour)
        for batch in batches:
            x = left + batch.began / END * width
            size = min(batch.seconds, END - batch.began) / END * width
            d.bar(x + 0.7, y, max(1.0, size - 1.4), 28, colour, solid=0.75)
    d.text(left, 32, "micro-batches, each as long as it takes", size=13, anchor="start")
    late = free[0].seconds
    middle = left + late / END * width / 2
    d.text(middle, 63, f"{late:.0f} s with no result", size=12.5, colour="#ffffff")
    axes = Axes(d, (left, 168), (width, 150), (0, END), (0, 24))
    axes.frame(
        [0, 60, 120, 180, 240, 300], [0, 8, 16, 24], y_label="rows that a batch may take, thousand"
    )
    times = [*(batch.began for batch in held), END]
    limits = [batch.limit / 1e3 for batch in held]
    axes.steps(times, [*limits, limits[-1]], GREEN, width=2.2)
    x = axes.x(DEARER_FROM)
    d.line([(x, 126), (x, axes.bottom)], ORANGE, dashed=True)
    d.text(x + 8, axes.top + 34, "rows take twice as long", size=13, colour=ORANGE, anchor="start")
    d.text(
        axes.x(8),
        axes.y(21.4),
        "the source's own limit, for the first batch",
        size=13,
        anchor="start",
    )
    d.note(axes.right, 354, "seconds", anchor="end")
    aim = f"every batch is to take {0.8 * TRIGGER:.0f} s of a {TRIGGER:.0f} s trigger"
    d.note(left, 354, aim, anchor="start")
    return d


def _run(control: AdmissionControl | None) -> list[Batch]:
    """Run batches on a backlog while rows come; rows get twice as dear on the way."""
    now, waiting, batches = 0.0, PILED, []
    limit = 20_000.0 if control else float("inf")  # the source's own, for the first batch
    while now < END:
        rows = int(min(waiting, limit))
        seconds = FIXED + rows * PER_ROW * (2 if now >= DEARER_FROM else 1)
        took = max(seconds, TRIGGER)
        waiting += RATE * took - rows
        batches.append(Batch(now, seconds, limit))
        if control:
            found = control.after_batch(rows, seconds, int(waiting))
            limit = float(found.rows) if found else limit
        now += took
    return batches


def autoscale() -> Drawing:
    """Progress reports of plain queries become one number of executors."""
    d = Drawing(300, "From the progress of plain queries to executors")
    d.box(20, 44, 176, 224, colour=BLUE, dashed=True, filled=0.03, radius=10)
    d.text(108, 32, "your Spark session", size=13, colour=BLUE, bold=True)
    d.box(262, 44, 292, 224, colour=ORANGE, dashed=True, filled=0.03, radius=10)
    d.text(408, 32, "a thread of ps.autoscale", size=13, colour=ORANGE, bold=True)
    for place, (name, wants) in enumerate((("clicks", 5), ("orders", 2), ("audit", 1))):
        y = 62 + place * 68
        d.box(36, y, 144, 48, name, detail="a plain query", colour=BLUE)
        d.arrow([(180, y + 24), (280, y + 24)])
        d.box(280, y, 132, 48, "its policy", detail=f"wants {wants}", colour=ORANGE)
        d.arrow([(412, y + 24), (440, y + 24), (440, 154), (466, 154)])
    d.note(230, 74, "progress")
    d.note(230, 116, "no query")
    d.note(230, 130, "waits")
    d.box(466, 124, 74, 60, "8", detail="added up", colour=ORANGE, filled=0.2)
    d.arrow([(540, 154), (586, 154)], GREEN, width=2)
    d.box(586, 118, 112, 72, "executors", detail="within min, max", colour=GREEN)
    d.text(646, 232, "dry_run=True", size=12.5, mono=True)
    d.note(646, 250, "stops before this")
    d.line([(563, 100), (563, 208)], RED, dashed=True)
    d.arrow([(598, 228), (567, 210)], RED, width=1.2)
    return d


FIGURES = {"slots": slots, "admission": admission, "autoscale": autoscale}
