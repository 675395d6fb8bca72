"""Figures of what simulations are worth: plans, agreement with live runs, the papers' numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from axes import Axes

from drawing import BLUE, FAINT, GREEN, GRID, MUTED, ORANGE, Drawing
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static
from penstock.reproduction.ppq import artificial_scenario
from penstock.reproduction.ppq_streams import table_3
from penstock.simulation.agreement.agreement import Errors
from penstock.simulation.agreement.learning import learn
from penstock.simulation.agreement.prediction import predicted_seconds
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.planner.candidates import Candidate
from penstock.simulation.planner.resampling import block_seconds_of, resampled
from penstock.simulation.planner.trials import Setting, run_trial
from penstock.simulation.topology_file import read_topology
from penstock.sources.trace import Trace, trace_of_counts

SECONDS, DAYS, STEADY = 400, 8, "static"


def capacity_planning() -> Drawing:
    """One recorded trace, others drawn from it, and what holds on how many of them."""
    rng = np.random.default_rng(9)
    rates = [200 + 800 * max(0.0, np.sin(t / 64)) for t in range(SECONDS)]
    trace = trace_of_counts([int(rng.poisson(rate)) for rate in rates])
    blocks = block_seconds_of(trace)
    d = Drawing(366, "A recorded trace, others drawn from it, and the plans that were tried")
    d.heading(24, 32, "One trace, and others drawn from it")
    days = [("recorded", trace, BLUE)]
    days += [(f"drawn {day}", resampled(trace, blocks, day), MUTED) for day in (1, 2, 3)]
    for place, (words, each, colour) in enumerate(days):
        _sparkline(d, 52 + place * 66, words, each, colour)
    d.note(94, 330, "stretches stay together, in any order", anchor="start")
    held = _tried(trace, blocks)
    d.heading(386, 32, "What plans cost, and how sure they are")
    axes = Axes(d, (430, 74), (262, 200), (0.4, 1.2), (0, 108))
    axes.frame([0.4, 0.6, 0.8, 1, 1.2], [0, 50, 100], y_label="% of days on which the target held")
    axes.level(90, GREEN)
    d.text(axes.left + 4, axes.y(90) + 16, "asked for", size=12.5, colour=GREEN, anchor="start")
    for policy, colour in ((STEADY, MUTED), ("replica-pool", ORANGE)):
        ladder = sorted(point for name, *point in held if name == policy)
        axes.curve([cost for cost, _ in ladder], [share for _, share in ladder], colour, width=1.4)
        for cost, share in ladder:
            d.dot(*axes.at(cost, share), colour, radius=4.5)
    cost, share = min((cost, share) for _, cost, share in held if share >= 90)
    d.dot(*axes.at(cost, share), GREEN, radius=9, hollow=True)
    d.dot(*axes.at(cost, share), GREEN, radius=5)
    d.note(axes.right, axes.bottom + 36, "slot-hours", anchor="end")
    entries = [("slots that stay", MUTED), ("that follow", ORANGE), ("chosen", GREEN)]
    for place, entry in enumerate(entries):
        d.key((386, 508, 608)[place], 346, [entry], step=0)
    return d


def _tried(trace: Trace, blocks: float) -> list[tuple[str, float, float]]:
    """Return the policy, mean slot-hours and share of days that held of some candidates."""
    setting = Setting(Load(trace), read_topology("tweets"), MicroBatch(), 3.0, blocks, seed=0)
    candidates = [Candidate(STEADY, slots, slots, 1.0) for slots in range(4, 11)]
    candidates += [
        Candidate("replica-pool", 3, 12, 1.0, utilisation=each, interval_seconds=5.0)
        for each in (0.95, 0.8, 0.65, 0.5)
    ]
    found = []
    for candidate in candidates:
        trials = [run_trial(setting, candidate, day) for day in range(DAYS)]
        share = sum(trial.in_time >= 0.99 for trial in trials) / DAYS
        cost = sum(trial.slot_hours for trial in trials) / DAYS
        found.append((candidate.policy, cost, 100 * share))
    return found


def _sparkline(d: Drawing, top: float, words: str, trace: Trace, colour: str) -> None:
    axes = Axes(d, (94, top), (240, 46), (0, SECONDS), (0, 1_300))
    counts = np.array(trace.counts, dtype=np.float64).reshape(-1, 10).mean(axis=1)
    seconds = [10.0 * place + 5 for place in range(len(counts))]
    axes.fill(seconds, counts.tolist(), colour)
    axes.curve(seconds, counts.tolist(), colour, width=1.4)
    d.line([(axes.left, axes.bottom), (axes.right, axes.bottom)], FAINT, width=1)
    d.text(24, top + 30, words, size=13, anchor="start", colour=colour)


@dataclass(slots=True)
class Noted:
    """Keeps what a simulated run shows of its batches."""

    batches: list[Observation] = field(default_factory=list)

    def batch(self, seen: Observation) -> None:
        """Keep a batch."""
        self.batches.append(seen)

    def decision(self, batch_id: int, decision: Decision, at_seconds: float) -> None:
        """Leave decisions alone."""


def agreement() -> Drawing:
    """Learn from the first half of a run, and predict the second."""
    rng = np.random.default_rng(14)
    counts = [int(rng.poisson(500 + 350 * np.sin(t / 17))) for t in range(240)]
    noted = Noted()
    costs = BatchCosts(0.5, task_seconds=0.01, imbalance=1.2)
    live = MicroBatch(trigger_seconds=4.0, most_slots=8, costs=costs)
    live.run(read_topology("tweets"), Load(trace_of_counts(counts)), Static(8), recorder=noted)
    noise = rng.normal(1.0, 0.06, len(noted.batches)).tolist()
    seen = [
        replace(each, batch_seconds=each.batch_seconds * off)
        for each, off in zip(noted.batches, noise, strict=True)
    ]
    half = len(seen) // 2
    learnt = learn("a run", seen[:half])
    predicted = predicted_seconds(learnt.topology, learnt.costs, seen)
    took = [each.batch_seconds for each in seen]
    errors = Errors.of(predicted[half:], took[half:])
    d = Drawing(342, "Batch times of a run, and what was predicted of its second half")
    axes = Axes(d, (66, 60), (630, 206), (0, len(seen)), (0, 4))
    axes.frame([0, 20, 40, 60], [0, 1, 2, 3, 4], y_label="seconds of a micro-batch")
    x = axes.x(half)
    d.area(
        [(axes.left, axes.top), (x, axes.top), (x, axes.bottom), (axes.left, axes.bottom)],
        BLUE,
        solid=0.06,
    )
    d.text((axes.left + x) / 2, axes.top + 18, "costs are learnt here", size=13, colour=BLUE)
    d.text((x + axes.right) / 2, axes.top + 18, "and predict what follows", size=13, colour=ORANGE)
    for place, seconds in enumerate(took):
        d.dot(axes.x(place + 0.5), axes.y(seconds), BLUE, radius=3.4)
    after = [place + 0.5 for place in range(half, len(seen))]
    axes.curve(after, predicted[half:], ORANGE, width=2)
    d.key(66, 322, [("measured", BLUE), ("predicted", ORANGE)], step=110)
    said = f"half of the batches are off by less than {100 * errors.median:.1f} %"
    d.text(axes.right, 322, said, size=13, anchor="end")
    d.note(axes.right, 302, "micro-batches", anchor="end")
    return d


def reproduction() -> Drawing:
    """Two of the papers' results beside what comes out here."""
    workers, over_time = artificial_scenario()
    d = Drawing(350, "Two results of a paper beside what comes out here")
    d.heading(24, 32, "Workers when the rate rises")
    axes = Axes(d, (50, 72), (270, 200), (0, 90), (0, 7))
    axes.frame([0, 30, 60, 90], [0, 2, 4, 6], x_label="seconds")
    d.note(50, 56, "Elastic-PPQ, Fig. 9", anchor="start")
    axes.steps(over_time.x, over_time.series["workers"], BLUE, width=2.4)
    for at, row in zip((15, 45, 62.5, 80), workers.rows, strict=True):
        d.dot(*axes.at(at, row.paper or 0), ORANGE, radius=6, hollow=True)
    d.heading(372, 32, "How bursty its streams are")
    d.note(372, 56, "peak over mean, Table 3", anchor="start")
    peaks = [row for row in table_3(quick=True).rows if row.what.endswith("peak to mean")]
    chart = Axes(d, (502, 72), (190, 200), (1, 5), (0, len(peaks)))
    for value in (1, 2, 3, 4, 5):
        d.line([(chart.x(value), chart.top), (chart.x(value), chart.bottom)], GRID, width=1)
        d.note(chart.x(value), chart.bottom + 18, str(value))
    for place, row in enumerate(peaks):
        y = chart.y(len(peaks) - place - 0.5)
        d.note(492, y + 4, row.what.partition(":")[0], anchor="end")
        paper, here = chart.x(row.paper or 1), chart.x(row.here)
        d.line([(paper, y), (here, y)], FAINT, width=2)
        d.dot(paper, y, ORANGE, radius=6, hollow=True)
        d.dot(here, y, BLUE, radius=4)
    d.key(24, 330, [("here", BLUE), ("printed in the paper", ORANGE)], step=80)
    d.note(692, 326, "where they differ, the page says why", anchor="end")
    return d


FIGURES = {
    "capacity-planning": capacity_planning,
    "agreement": agreement,
    "reproduction": reproduction,
}
