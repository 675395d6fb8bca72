"""A page that tells a simulation, in one file: it loads nothing, and is light or dark as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.drawing.page import drawn, table
from penstock.drawing.page import page as whole_page
from penstock.simulation.comparison import Simulation
from penstock.simulation.report.figures import drawn_outcomes, figures_of
from penstock.simulation.trial import Outcome
from penstock.topology.explain_svg import safe

MOST_DECISIONS = 200
_COLUMNS = (
    ("saved", "saved"),
    ("degradation", "degradation"),
    ("processed", "processed"),
    ("mean latency s", "mean_latency_seconds"),
    ("95 % s", "p95_latency_seconds"),
    ("99 % s", "p99_latency_seconds"),
    ("slot-hours", "slot_hours"),
    ("changes", "changes"),
    ("behind s", "behind_seconds"),
)


def page(found: Simulation, asked: Mapping[str, str], command: str) -> str:
    """Return the whole page; ``asked`` says what was simulated, ``command`` how to do it again."""
    best = found.best
    title = f"Simulation of {found.topology.name}"
    body = [
        f"<h1>{safe(title)}</h1><p>{safe(found.advice)}</p>",
        "<h2>What was asked</h2>",
        table(("", " "), asked.items(), why=(" ",)),
        "<h2>What came of it</h2>",
        _outcomes(found.outcomes, best),
        _note(found),
    ]
    body += [f"<h2>{safe(each.title)}</h2>{drawn(each)}" for each in figures_of(found)]
    body += [
        f"<h2>What {safe(best.label)} decided, and why</h2>",
        _decisions(best),
        "<h2>How to run it again</h2>",
        f"<pre>{safe(command)}</pre>",
    ]
    return whole_page(title, body)


def _outcomes(outcomes: Sequence[Outcome], best: Outcome) -> str:
    rows = [
        [each.label, *(_number(getattr(each.measures, name)) for _, name in _COLUMNS)]
        for each in outcomes
    ]
    lit = next(number for number, each in enumerate(outcomes) if each is best)
    return (
        table(["policy", *(name for name, _ in _COLUMNS)], rows, best=lit)
        + '<p class="soft">saved: share of slots, against always having the most. degradation: '
        "mean of |input - output| / input over 10 seconds. behind: time in micro-batches that took "
        "longer than their trigger.</p>"
    )


def _note(found: Simulation) -> str:
    drawn = drawn_outcomes(found)
    if len(drawn) == len(found.outcomes):
        return ""
    return (
        f'<p class="soft">Of {len(found.outcomes)} runs, the figures over time show '
        f"{len(drawn)}: the best, and the cheapest others.</p>"
    )


def _decisions(outcome: Outcome) -> str:
    made = outcome.run.decisions
    changed = [
        each
        for number, each in enumerate(made)
        if number == 0 or each.decision.slots != made[number - 1].decision.slots
    ]
    rows = [
        (_number(each.at_seconds), str(each.decision.slots), each.decision.reason)
        for each in changed[:MOST_DECISIONS]
    ]
    left = len(changed) - MOST_DECISIONS
    more = f'<p class="soft">and {left:,} more; the journal has all.</p>' if left > 0 else ""
    return table(("second", "slots", "why"), rows, why=("why",)) + more


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
