"""Figures of topologies, of what happens in a micro-batch, and of what is measured in it."""

from __future__ import annotations

from drawing import BLUE, FAINT, GREEN, MUTED, ORANGE, RED, VIOLET, Drawing
from penstock.engine.steps import Step


def topology() -> Drawing:
    """Operators in two components, with the tasks of each."""
    d = Drawing(286, "Operators, components and tasks of a topology")
    d.box(24, 34, 262, 150, colour=BLUE, dashed=True, filled=0.03, radius=10)
    d.box(346, 34, 242, 150, colour=ORANGE, dashed=True, filled=0.03, radius=10)
    d.text(155, 24, "component clicks", size=13, colour=BLUE, bold=True)
    d.text(467, 24, "component score", size=13, colour=ORANGE, bold=True)
    d.box(42, 66, 104, 52, "clicks", detail="source, JVM", colour=BLUE)
    d.arrow([(146, 92), (168, 92)])
    d.box(168, 66, 100, 52, "filter", detail="JVM", colour=BLUE)
    d.arrow([(268, 92), (364, 92)], ORANGE, width=2)
    d.text(316, 58, "rows", size=12.5, colour=ORANGE)
    d.text(316, 73, "move", size=12.5, colour=ORANGE)
    d.box(364, 66, 94, 52, "parse", detail="Python", colour=ORANGE)
    d.arrow([(458, 92), (476, 92)])
    d.box(476, 66, 94, 52, "score", detail="Python", colour=ORANGE)
    d.arrow([(570, 92), (604, 92)])
    d.arrow([(523, 118), (523, 150), (604, 150)])
    d.box(604, 66, 96, 52, "table", detail="sink", colour=GREEN)
    d.box(604, 128, 96, 44, "dead letters", colour=GREEN)
    d.note(155, 150, "rows come as they come;")
    d.note(155, 168, "no row moves in here")
    d.note(428, 150, "one crossing to Python")
    d.note(428, 168, "for both")
    _tasks(d, 42, 226, 3, BLUE, "3 tasks: the partitions of the source")
    _tasks(d, 364, 206, 4, ORANGE, "4 tasks: what this batch's plan says")
    return d


def _tasks(d: Drawing, left: float, width: float, count: int, colour: str, words: str) -> None:
    each = (width - 8 * (count - 1)) / count
    for task in range(count):
        d.bar(left + task * (each + 8), 206, each, 34, colour, solid=0.2)
        d.text(left + task * (each + 8) + each / 2, 228, f"task {task}", size=12.5)
    d.note(left + width / 2, 266, words)


def fusion() -> Drawing:
    """Enorm's loans: five operators apart, and in three components."""
    d = Drawing(364, "Operators by themselves, and fused")
    d.heading(24, 30, "Each by itself: 5 shuffles")
    d.heading(382, 30, "Fused: 3 shuffles")
    d.line([(360, 20), (360, 344)], "#d0d7de", width=1)
    apart = _loans(d, 24, together=False)
    fused = _loans(d, 382, together=True)
    d.note(apart, 342, "every red arrow moves all rows once more")
    d.note(fused, 342, "op4 and op5 need the loans of all areas together")
    return d


def _loans(d: Drawing, left: float, *, together: bool) -> float:
    middle = left + 157
    if together:
        d.box(left, 72, 314, 146, colour=BLUE, dashed=True, filled=0.04, radius=10)
        d.text(middle, 210, "partitioned on area", size=12.5, colour=BLUE)
    else:
        for x, y in ((left + 92, 72), (left + 2, 148), (left + 182, 148)):
            d.box(x, y, 130, 50, colour=FAINT, dashed=True, filled=0, radius=10)
    for x in (left + 2, left + 182):
        d.box(x, 266, 130, 50, colour=FAINT, dashed=True, filled=0, radius=10)
    _operator(d, left + 97, 77, "op1 interest", ORANGE)
    _operator(d, left + 7, 153, "op2 by area", BLUE)
    _operator(d, left + 187, 153, "op3 by area", BLUE)
    _operator(d, left + 7, 271, "op4 all areas", VIOLET)
    _operator(d, left + 187, 271, "op5 all areas", VIOLET)
    d.text(middle + 12, 56, "loans", size=13, anchor="start")
    d.arrow([(middle, 42), (middle, 77)], RED, width=2.5)
    inner, heavy = (MUTED, 1.5) if together else (RED, 2.5)
    d.arrow([(middle - 25, 117), (left + 82, 153)], inner, width=heavy)
    d.arrow([(middle + 25, 117), (left + 232, 153)], inner, width=heavy)
    d.arrow([(left + 67, 193), (left + 67, 271)], RED, width=2.5)
    d.arrow([(left + 247, 193), (left + 247, 271)], RED, width=2.5)
    return middle


def _operator(d: Drawing, x: float, y: float, words: str, colour: str) -> None:
    d.bar(x, y, 120, 40, "#ffffff")
    d.box(x, y, 120, 40, words, colour=colour, filled=0.12)


def micro_batch() -> Drawing:
    """The steps of a batch, and what a crash before and after the commit comes to."""
    d = Drawing(286, "The seven steps of a micro-batch, and where it may be killed")
    d.heading(24, 32, "micro-batch b")
    width, left = 84, 24
    for place, step in enumerate(Step):
        x = left + place * (width + 14)
        colour = GREEN if step is Step.COMMIT else BLUE
        solid = 0.22 if step is Step.COMMIT else 0.1
        d.box(x, 46, width, 44, step.value, colour=colour, mono=True, filled=solid)
        if place:
            d.arrow([(x - 14, 68), (x, 68)])
    commit = left + 5 * (width + 14)
    d.line([(commit + width, 98), (commit + width, 232)], GREEN, dashed=True)
    _span(d, left, commit + width - 6, 116, RED)
    _span(d, commit + width + 6, 696, 116, GREEN)
    d.text(310, 146, "killed here: nothing of b counts", bold=True, colour=RED)
    d.text(310, 170, "Spark sends b again, with the same offsets;", size=13)
    d.text(310, 190, "every sink puts the second try in the place of the first", size=13)
    d.text(652, 146, "killed here:", bold=True, colour=GREEN, size=13)
    d.text(652, 166, "b counts", bold=True, colour=GREEN, size=13)
    for line, words in enumerate(("load finds", "the record:", "b is skipped")):
        d.text(652, 188 + line * 17, words, size=12.5)
    words = "from here on the record of b is there, whole"
    d.text(commit + width, 254, words, size=13, colour=GREEN, anchor="end")
    return d


def _span(d: Drawing, left: float, right: float, y: float, colour: str) -> None:
    d.line([(left, y - 6), (left, y), (right, y), (right, y - 6)], colour, width=2)


def rows() -> Drawing:
    """Neighbouring functions cross to Python once; SQL between them makes it twice."""
    d = Drawing(318, "How often rows cross between the JVM and Python")
    d.heading(24, 30, "Two maps side by side")
    d.heading(394, 30, "SQL between them")
    for top, words, colour in ((46, "JVM", BLUE), (160, "Python", ORANGE)):
        for left, width in ((24, 330), (394, 302)):
            d.bar(left, top, width, 92, colour, solid=0.06)
        for left in (34, 404):
            y = top + (18 if colour == BLUE else 83)
            d.text(left, y, words, size=12.5, colour=colour, bold=True, anchor="start")
    d.box(42, 72, 64, 40, "filter", colour=BLUE)
    d.box(272, 72, 64, 40, "sink", colour=BLUE)
    d.box(102, 186, 74, 40, "map", colour=ORANGE)
    d.box(202, 186, 74, 40, "map", colour=ORANGE)
    d.arrow([(74, 112), (74, 206), (102, 206)], RED, width=2)
    d.arrow([(176, 206), (202, 206)])
    d.arrow([(276, 206), (304, 206), (304, 112)], RED, width=2)
    d.note(189, 148, "one Arrow batch")
    d.note(189, 246, "dicts from one to the next")
    d.box(404, 72, 58, 40, "read", colour=BLUE)
    d.box(516, 72, 58, 40, "filter", colour=BLUE)
    d.box(628, 72, 58, 40, "sink", colour=BLUE)
    d.box(456, 186, 66, 40, "map", colour=ORANGE)
    d.box(568, 186, 66, 40, "map", colour=ORANGE)
    for left in (433, 545):
        d.arrow([(left, 112), (left, 206), (left + 23, 206)], RED, width=2)
    d.arrow([(522, 192), (534, 192), (534, 112)], RED, width=2)
    d.arrow([(634, 206), (657, 206), (657, 112)], RED, width=2)
    d.text(189, 282, "2 crossings", colour=RED, bold=True)
    d.text(545, 282, "4 crossings", colour=RED, bold=True)
    d.note(189, 302, "the same rows, half the copying")
    d.note(545, 302, "filter before or after, where you can")
    return d


def keyed_state() -> Drawing:
    """One key's state over four batches, until its timer comes."""
    d = Drawing(326, "The state of one key from batch to batch")
    lefts = [110 + place * 150 for place in range(4)]
    d.text(24, 82, "ann's rows", size=13, anchor="start", bold=True)
    d.text(24, 160, "function", size=13, anchor="start", bold=True)
    d.text(24, 230, "state after", size=13, anchor="start", bold=True)
    d.text(24, 296, "comes out", size=13, anchor="start", bold=True)
    happened = (
        (2, "2 rows", "clicks: 2"),
        (3, "3 rows", "clicks: 5"),
        (0, "", "clicks: 5"),
        (0, "timer", "cleared"),
    )
    for batch, (left, (count, call, state)) in enumerate(zip(lefts, happened, strict=True)):
        d.text(left + 60, 32, f"batch {batch}", size=13, colour=MUTED)
        d.line([(left, 42), (left + 120, 42)], "#d0d7de", width=1)
        for row in range(count):
            d.dot(left + 60 + (row - (count - 1) / 2) * 22, 77, BLUE, radius=7)
        if not count and not call:
            d.note(left + 60, 82, "none")
        if call:
            colour = VIOLET if call == "timer" else BLUE
            d.box(left + 8, 134, 104, 42, f"called: {call}", colour=colour)
            if count:
                d.arrow([(left + 60, 94), (left + 60, 134)], colour)
            d.arrow([(left + 60, 176), (left + 60, 204)], colour)
        else:
            d.note(left + 60, 160, "not called")
        cleared = state == "cleared"
        d.box(left + 8, 204, 104, 42, state, colour=MUTED if cleared else GREEN, dashed=cleared)
        if batch:
            up = [(left - 16, 225), (left - 16, 155), (left + 8, 155)]
            d.arrow([(left - 38, 225), *(up if call else [(left + 8, 225)])], GREEN)
    d.text(lefts[3] + 60, 82, "30 min later", size=12.5, colour=VIOLET)
    d.arrow([(lefts[3] + 60, 94), (lefts[3] + 60, 134)], VIOLET, dashed=True)
    d.arrow([(lefts[3] + 60, 246), (lefts[3] + 60, 274)], VIOLET)
    d.box(lefts[3] - 4, 274, 128, 36, "ann, 5 clicks", colour=VIOLET)
    d.note(
        lefts[0] + 8,
        296,
        "each state is in its batch's commit: a restart goes on with it",
        anchor="start",
    )
    return d


def measurement() -> Drawing:
    """Where counts and times come from, and who gets them."""
    d = Drawing(270, "Where measurements come from and who gets them")
    d.heading(24, 32, "who knows it already")
    d.heading(338, 32, "after the batch")
    d.heading(560, 32, "who gets it")
    told = (
        ("Python workers", "rows in, out, failed; time", ORANGE),
        ("Spark's observe", "where nothing else tells", BLUE),
        ("Spark's bookkeeping", "tasks, busy and CPU time", BLUE),
        ("sources", "rows that wait", GREEN),
    )
    for place, (words, detail, colour) in enumerate(told):
        y = 46 + place * 53
        d.box(24, y, 224, 44, words, detail=detail, colour=colour)
        d.arrow([(248, y + 22), (292, y + 22), (292, 147), (338, 147)])
    d.box(338, 96, 160, 102, "Observation", detail="of every operator", colour=VIOLET, filled=0.14)
    gets = ("policy", "query.status()", "journal")
    for place, words in enumerate(gets):
        y = 58 + place * 70
        d.arrow([(498, 147), (528, 147), (528, y + 20), (560, y + 20)])
        d.box(560, y, 136, 40, words, colour=GREEN, mono="(" in words)
    d.text(418, 234, "no Spark job of its own", size=13, colour=MUTED)
    return d


FIGURES = {
    "topology": topology,
    "fusion": fusion,
    "micro-batch": micro_batch,
    "rows": rows,
    "keyed-state": keyed_state,
    "measurement": measurement,
}
