"""Figures of the control loop: what is forecast, what it costs, what is decided and held."""

from __future__ import annotations

from math import pi, sin

import numpy as np
from axes import Axes

import penstock as ps
from drawing import BLUE, FAINT, GREEN, INK, MUTED, ORANGE, RED, VIOLET, Drawing
from penstock.elasticity.capacity import Capacity
from penstock.elasticity.forecast import Forecaster
from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.elasticity.rails.bounds import Bounds
from penstock.elasticity.rails.chain import RailChain
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.rails.rail import Situation
from penstock.elasticity.wish import whole_slots
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.topology_file import read_topology


def control_loop() -> Drawing:
    """Monitor, analyse, plan, execute, and the two time-scales."""
    d = Drawing(304, "Once round the control loop after every micro-batch")
    steps = (
        ("monitor", "rows, times, backlog", BLUE),
        ("analyse", "forecast, capacity", VIOLET),
        ("plan", "policy, guard rails", ORANGE),
        ("execute", "tasks and slots", GREEN),
    )
    for place, (words, detail, colour) in enumerate(steps):
        x = 24 + place * 174
        d.box(x, 28, 150, 66, words, detail=detail, colour=colour, filled=0.13)
        if place:
            d.arrow([(x - 24, 61), (x, 61)])
    d.arrow([(621, 94), (621, 136), (99, 136), (99, 94)])
    d.note(360, 128, "the next micro-batch")
    d.text(24, 190, "inner: every micro-batch", bold=True, anchor="start", size=13)
    d.text(24, 248, "outer: every interval", bold=True, anchor="start", size=13)
    left, width = 214, 482
    for batch in range(16):
        d.bar(left + batch * width / 16 + 1, 174, width / 16 - 2, 24, BLUE, solid=0.3)
    for interval, words in enumerate(("8 slots", "8 slots", "12 slots", "10 slots")):
        each = width / 4
        d.box(left + interval * each + 2, 232, each - 4, 28, words, colour=GREEN, radius=4)
    d.note(left + width / 2, 218, "tasks of each component, out of the slots there are: at once")
    d.note(left + width / 2, 282, "how many slots there are: seconds to come, so forecast")
    return d


def forecasting() -> Drawing:
    """Real forecasts of a rate with a period, made a horizon ahead, beside what came."""
    horizon, step = 30.0, 4.0
    rng = np.random.default_rng(8)
    times = np.arange(0, 600, 2.0)
    rates = [1000 + 500 * sin(2 * pi * t / 200) + t + 45 * rng.standard_normal() for t in times]
    forecaster = Forecaster(window_seconds=60)
    made: list[tuple[float, float, float, float, str]] = []
    for t, rate in zip(times.tolist(), rates, strict=True):
        forecaster.observe(t, float(rate))
        if t >= 40 and t % step == 0:
            f = forecaster.forecast(horizon_seconds=horizon)
            # What is forecast is the mean until then, so it stands in the middle of the horizon.
            made.append((t + horizon / 2, f.rate, f.low, f.high, f.model))
    d = Drawing(366, "A rate, and what was forecast of it 30 seconds ahead")
    axes = Axes(d, (66, 52), (630, 240), (0, 600), (0, 2400))
    ticks = [0, 100, 200, 300, 400, 500, 600]
    axes.frame(ticks, [0, 800, 1600, 2400], x_label="seconds", y_label="rows per second")
    at = [each[0] for each in made if each[0] <= 600]
    shown = made[: len(at)]
    axes.band(at, [each[2] for each in shown], [min(2400, each[3]) for each in shown], ORANGE)
    axes.curve(times.tolist(), rates, BLUE, width=1.6)
    axes.curve(at, [each[1] for each in shown], ORANGE, width=2)
    d.bar(66, 336, 14, 10, ORANGE, solid=0.25)
    d.text(86, 345, "nine times in ten", size=13, anchor="start")
    d.key(220, 345, [("what came", BLUE), ("forecast, 30 s ahead", ORANGE)], step=120)
    x = axes.x(next(each[0] for each in shown if each[4] == "seasonal"))
    d.line([(x, axes.top), (x, axes.bottom)], VIOLET, dashed=True)
    words = "from here on its period is known"
    d.text(x - 8, axes.bottom - 12, words, size=13, colour=VIOLET, anchor="end")
    return d


def capacity() -> Drawing:
    """Learnt costs turned into a demand, by how many rows come."""
    learnt = Capacity()
    for batch, rows in enumerate((2_000, 6_000, 4_000, 9_000, 3_000, 7_000, 5_000, 8_000)):
        learnt.observe(_observed(batch, rows))
    utilisation, interval = 0.8, 10.0
    counts = list(range(1_000, 61_000, 1_000))
    demands = [
        learnt.demand({"parse": rows, "look_up": rows / 3}, interval, utilisation=utilisation)
        for rows in counts
    ]
    d = Drawing(344, "Demand in slots by the rows of an interval")
    axes = Axes(d, (66, 52), (390, 226), (0, 60), (0, 17.5))
    axes.frame(
        [0, 20, 40, 60], [0, 4, 8, 12, 16], x_label="thousand rows in 10 seconds", y_label="slots"
    )
    thousands = [rows / 1_000 for rows in counts]
    slots = [demand.slots for demand in demands]
    look_up = [demand.by_operator["look_up"] for demand in demands]
    axes.fill(thousands, slots, BLUE)
    axes.band(thousands, [0.0] * len(look_up), look_up, ORANGE)
    axes.curve(thousands, slots, BLUE)
    whole = [float(whole_slots(each)) for each in slots[1:]]
    axes.steps(thousands, [*whole, whole[-1]], INK, width=1.4)
    d.text(axes.x(40), axes.y(1.3), "look_up", size=13, colour=ORANGE)
    d.text(axes.x(48), axes.y(8.3), "parse", size=13, colour=BLUE)
    d.text(axes.x(34), axes.y(13), "whole slots", size=13, anchor="end")
    d.line([(axes.x(34.6), axes.y(12.8)), (axes.x(42), axes.y(whole[41]))], FAINT, width=1)
    d.heading(494, 46, "Learnt from batches")
    lines = (
        (f"{1e3 * (learnt.seconds_per_row('parse') or 0):.1f} ms", "a row of parse"),
        (f"{1e3 * (learnt.seconds_per_row('look_up') or 0):.1f} ms", "a row of look_up"),
        (f"{learnt.batch_seconds:.2f} s", "a batch with no rows"),
        (f"{learnt.imbalance:.2f}", "slowest task over mean"),
    )
    for place, (number, words) in enumerate(lines):
        y = 84 + place * 40
        d.text(494, y, number, bold=True, anchor="start", colour=BLUE)
        d.note(494, y + 17, words, anchor="start")
    d.note(494, 262, "demand = work over the time", anchor="start")
    d.note(494, 280, "that fixed costs leave of", anchor="start")
    d.note(494, 298, "80 % of the interval", anchor="start")
    return d


def _observed(batch: int, rows: int) -> Observation:
    """Make up what a batch of two operators shows: 1 and 3 ms a row, 0.4 s whatever the rows."""
    operators, at_work = [], 0.0
    for name, count, each in (("parse", rows, 0.001), ("look_up", rows // 3, 0.003)):
        tasks = 4
        busy = count * each + tasks * 0.01
        slowest = 1.15 * busy / tasks
        at_work += slowest
        operators.append(
            OperatorObservation(name, count, count, busy, tasks, slowest, busy / tasks)
        )
    return Observation(
        batch, 10.0 * batch, at_work + 0.4, 10.0, slots=4, operators=tuple(operators)
    )


def policies() -> Drawing:
    """Three policies on the same load: what was needed, and what each had."""
    rng = np.random.default_rng(2)
    load = [
        float(rng.poisson(500 + 900 * (120 <= t < 300) * min(1.0, (t - 120) / 90)))
        for t in range(480)
    ]
    cluster = MicroBatch(most_slots=16, start_slots=6, executor_seconds=15.0, trigger_seconds=5.0)
    topology = read_topology("tweets")
    asked = {"static": "static:8", "replica pool": "replica-pool", "AutoScale+": "auto-scale-plus"}
    found = ps.simulate(load, topology, list(asked.values()), cluster=cluster)
    per_row = sum(each.law.mean_seconds() for each in topology.operators)
    seconds = range(0, 480, 5)
    needed = [per_row * float(np.mean(load[at : at + 10])) for at in seconds]
    d = Drawing(420, "Slots that were needed, and slots that three policies had")
    colours = (MUTED, BLUE, ORANGE)
    for place, (words, colour) in enumerate(zip(asked, colours, strict=True)):
        outcome = found.outcomes[place]
        axes = Axes(d, (66, 44 + place * 116), (470, 84), (0, 480), (0, 16))
        axes.frame([0, 120, 240, 360, 480] if place == 2 else [], [0, 8, 16])
        d.text(66, axes.top - 10, words, size=13, bold=True, anchor="start", colour=colour)
        axes.fill(seconds, needed, FAINT)
        axes.curve(seconds, needed, FAINT, width=1.2)
        axes.steps(range(480), outcome.run.timeline.slots[:480].tolist(), colour, width=2.2)
        measures = outcome.measures
        d.text(
            556, axes.top + 26, f"{100 * measures.saved:.0f} % of 16 saved", size=13, anchor="start"
        )
        said = f"99 % in {measures.p99_latency_seconds:.0f} s"
        behind = outcome.run.behind_seconds > 30
        d.text(556, axes.top + 48, said, size=13, anchor="start", colour=RED if behind else GREEN)
    d.note(536, 400, "seconds", anchor="end")
    d.key(66, 400, [("slots that the rows take", FAINT)], step=100)
    return d


def guard_rails() -> Drawing:
    """A wish, what the rails leave of it, and which of them acted."""
    wishes = [4, 4, 3, 4, 7, 9, 14, 11, 5, 8, 4, 5, 4, 4, 4, 6, 4, 5, 4, 4, 4, 4, 4, 4]
    planned, held = _passed(wishes)
    d = Drawing(394, "What a policy wishes for and what the guard rails let pass")
    axes = Axes(d, (150, 52), (546, 176), (0, len(wishes)), (0, 16))
    axes.frame([], [0, 4, 8, 12, 16], y_label="slots")
    axes.level(10, RED, "max_slots")
    xs = list(range(len(wishes) + 1))
    axes.steps(xs, [*wishes, wishes[-1]], FAINT, width=2)
    axes.steps(xs, [*planned, planned[-1]], BLUE, width=2.6)
    colours = {
        "bounds": RED,
        "rows wait": GREEN,
        "scale-in patience": ORANGE,
        "oscillation": VIOLET,
    }
    for lane, (name, colour) in enumerate(colours.items()):
        y = 244 + lane * 24
        d.text(138, y + 13, name, size=12.5, anchor="end", colour=colour)
        d.bar(axes.left, y, axes.width, 17, FAINT, solid=0.12)
        for interval, names in enumerate(held):
            if name in names:
                d.bar(axes.x(interval) + 1, y, axes.width / len(wishes) - 2, 17, colour, solid=0.8)
    d.note(axes.right, 362, "control intervals", anchor="end")
    d.key(150, 376, [("the policy's wish", FAINT), ("what passes", BLUE)], step=150)
    return d


def _passed(wishes: list[int]) -> tuple[list[int], list[tuple[str, ...]]]:
    """Send wishes through the chain of rails, while a query falls behind and catches up."""
    chain, limits = RailChain(GuardRails(max_slots=10)), Bounds(1, 10)
    plan, planned, held = 4, [], []
    for place, wish in enumerate(wishes):
        at = 10.0 * place
        behind, growing = place in range(5, 9), place in range(4, 7)
        now = Situation(at, at, 10.0, plan, plan, behind=behind, growing=growing)
        chain.watch(now)
        passed = chain.passes(wish, now, limits)
        plan = passed.slots
        chain.decided(plan, now)
        planned.append(plan)
        held.append(passed.held_by)
    return planned, held


FIGURES = {
    "control-loop": control_loop,
    "forecasting": forecasting,
    "capacity": capacity,
    "policies": policies,
    "guard-rails": guard_rails,
}
