"""Decisions: each with its reason, what was seen, what was expected, and what came of it."""

from __future__ import annotations

from itertools import islice
from math import isfinite

from penstock.dashboard.charts import SOFT, Line, lines
from penstock.dashboard.markup import Safe, Tile, element, joined, notice, table, tiles
from penstock.dashboard.sections import Chart, Html, Section, Shown
from penstock.dashboard.words import NOTHING, count, counted, moment, share, signed_share, span
from penstock.history.decisions_seen import Made, Outcome

MOST_SHOWN = 60


def sections(shown: Shown) -> list[Section]:
    """Say what was decided in the time that is shown, the newest first."""
    seen = shown.query.decisions
    made = [each for each in reversed(seen.newest) if shown.is_within(each.at_seconds)]
    if not seen.count:
        return [
            Html(notice("No decision has been made yet.",
                        "A policy decides after every micro-batch; one that has nothing new to "
                        "say is not written down again."))
        ]  # fmt: skip
    found: list[Section] = []
    if seen.control is not None and (seen.control.reason or seen.control.paused):
        found.append(Html(notice("Control:", seen.control.reason or "scaling is paused")))
    if seen.last is not None:
        found.append(Html(tiles(_tiles(shown, seen.last))))
    table_ = seen.demands.buckets(shown.since_seconds, shown.until_seconds, 300)
    found.append(
        Chart(
            "Slots decided, and the demand behind them",
            lines(
                [
                    Line("decided", table_["at"], table_["slots"], is_step=True, is_filled=True),
                    Line("demand", table_["at"], table_["demand"], colour=SOFT, is_dashed=True),
                ],
                "slots",
            ),
            is_wide=True,
        )
    )
    left = len(made) - MOST_SHOWN
    about = f"{left:,} older ones are in the journal." if left > 0 else ""
    found.append(Html(_decisions(shown, made[:MOST_SHOWN]), "What was decided", about))
    found.append(Html(_changes(shown), "What else changed"))
    if seen.plan_weighed is not None:
        weighed = seen.plan_weighed
        verdict = "adopted" if weighed.is_adopted else "not adopted"
        words = (
            f"{'; '.join(weighed.operations)}: {weighed.reason} ({verdict}; now "
            f"{span(weighed.cost_seconds)} of a slot per batch, else "
            f"{span(weighed.other_cost_seconds)}; changing costs {span(weighed.change_seconds)})"
        )
        found.append(Html(element("p", words), "The plan, weighed against a better one"))
    return found


def _tiles(shown: Shown, last: Made) -> list[Tile]:
    decision = last.told.decision
    seen, shared = shown.query.decisions, shown.query.shared_slots
    in_force, about = decision.slots, f"since batch {last.told.batch_id + 1}"
    if isfinite(shared):
        in_force, about = int(shared), f"for all queries; this one asks for {count(decision.slots)}"
    return [
        Tile("In force", counted(in_force, "slot"), about),
        Tile(
            "Demand",
            NOTHING if decision.demand_slots is None else counted(decision.demand_slots, "slot"),
            "not known" if decision.demand_slots is None else "before any guard rail",
        ),
        Tile("Held by", ", ".join(decision.held_by) or "nothing", "guard rails that changed it"),
        Tile("Decisions", count(seen.count), f"{count(seen.changed_slots)} changed the slots"),
    ]


def _decisions(shown: Shown, made: list[Made]) -> Safe:
    query = shown.query
    rows = []
    for each in made:
        decision = each.told.decision
        outcome = query.decisions.outcome(each, query.batches, query.sources)
        rows.append(
            (
                moment(each.at_seconds),
                # The first is made before there is a batch.
                each.told.batch_id if each.told.batch_id >= 0 else NOTHING,
                _slots(each),
                _reason(each),
                count(decision.demand_slots),
                _seen(outcome),
                _expected(outcome, decision.horizon_seconds),
                _came(outcome, query.stopped is not None),
            )
        )
    heads = ("time (UTC)", "after batch", "slots", "why", "demand", "seen", "expected",
             "what came of it")  # fmt: skip
    return table(
        "Decisions, the newest first",
        heads,
        rows,
        words=(0, 2, 3, 5, 6, 7),
        empty="No decision was made in this time.",
    )


def _slots(made: Made) -> str:
    now = made.told.decision.slots
    if made.slots_before is None or made.slots_before == now:
        return f"{now}"
    return f"{made.slots_before} → {now}"


def _reason(made: Made) -> Safe:
    decision = made.told.decision
    held = [joined((" ", element("span", name, class_="chip"))) for name in decision.held_by]
    return element("div", joined([element("span", decision.reason), *held]))


def _seen(outcome: Outcome) -> str:
    if outcome.share_before is None:
        return NOTHING
    return f"batches took {share(outcome.share_before)} of the trigger"


def _expected(outcome: Outcome, horizon_seconds: float | None) -> str:
    if outcome.expected_rows is None or not horizon_seconds:
        return NOTHING
    return f"{counted(outcome.expected_rows, 'row')} in {span(horizon_seconds)}"


def _came(outcome: Outcome, has_ended: bool) -> str:
    said = []
    if (why := outcome.why_unknown(has_ended=has_ended)) is not None:
        said.append(why)
    if outcome.actual_rows is not None:
        error = f" (forecast {signed_share(outcome.error)})" if outcome.error is not None else ""
        said.append(f"{counted(outcome.actual_rows, 'row')} came{error}")
    if outcome.share_after is not None:
        said.append(f"batches took {share(outcome.share_after)} of the trigger")
    return "; ".join(said) or NOTHING


def _changes(shown: Shown) -> Safe:
    newest = (
        each for each in reversed(shown.query.decisions.changes) if shown.is_within(each.at_seconds)
    )
    rows = [
        (
            moment(each.at_seconds),
            NOTHING if each.batch_id is None else each.batch_id,
            each.kind,
            each.reason,
        )
        for each in islice(newest, MOST_SHOWN)
    ]
    return table(
        "Slots, limits, plans and controls, the newest first",
        ("time (UTC)", "batch", "of", "what and why"),
        rows,
        words=(0, 2, 3),
        empty="No executor came or went, and no plan, limit or control changed in this time.",
    )
