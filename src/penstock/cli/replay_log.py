"""``penstock replay``: what other policies would have done with a load that was logged."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from penstock.cli.policy_names import USUAL
from penstock.cli.progress import sparkline
from penstock.cli.time_left import Shown
from penstock.elasticity.decision import Policy
from penstock.elasticity.policy_names import policy_named
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError
from penstock.replay.comparison import (
    Comparison,
    Given,
    Outcome,
    as_it_was,
    compare,
    conditions_of,
    slots_of,
    try_policy,
)
from penstock.replay.reading import read_recordings
from penstock.replay.recording import Recording, require_enough, require_one_time

LONG_BATCHES = 5_000
_SPARK_WIDTH = 20


@dataclass(frozen=True, slots=True)
class ReplayedLog:
    """All runs of a log that were replayed, and those that were too short for it."""

    comparisons: tuple[Comparison, ...]
    too_short: tuple[Recording, ...]


def replay_log(path: Path, policies: Sequence[str], given: Given, show: Shown) -> ReplayedLog:
    """Read a log and replay each of its runs with each policy."""
    recordings = read_recordings(path, lambda share: show("reading", share))
    enough = require_enough(recordings, str(path))
    for each in enough:
        require_one_time(each, str(path))
    too_short = tuple(each for each in recordings if each not in enough)
    compared = tuple(_compared(each, policies, given, show) for each in enough)
    return ReplayedLog(compared, too_short)


def _compared(
    recording: Recording, policies: Sequence[str], given: Given, show: Shown
) -> Comparison:
    before = as_it_was(slots_of(recording, given)[0])
    asked = [before if name == "static" else name for name in policies or ("static", *USUAL)]
    names = list(dict.fromkeys(asked))
    for name in names:
        _policy(recording, name, given)  # a wrong name is told before anything long begins
    if len(recording.batches) < LONG_BATCHES or len(names) == 1:
        outcomes = [_outcome(recording, name, given, show) for name in names]
    else:
        outcomes = _side_by_side(recording, names, given, show)
    return compare(recording, outcomes, given)


def _outcome(recording: Recording, name: str, given: Given, show: Shown | None = None) -> Outcome:
    policy = _policy(recording, name, given)
    if show is None:
        return try_policy(recording, name, policy, given)
    return try_policy(recording, name, policy, given, lambda share: show(name, share))


def _policy(recording: Recording, name: str, given: Given) -> Policy:
    conditions = conditions_of(recording, given)
    policy = policy_named(name, conditions.least_slots, conditions.most_slots)
    if isinstance(policy, Static) and name != as_it_was(slots_of(recording, given)[0]):
        _check_bounds(policy.slots or 1, given)
    return policy


def _check_bounds(slots: int, given: Given) -> None:
    """Refuse a fixed number of slots that the user ruled out: it would be another one's outcome."""
    if slots < given.least_slots:
        raise ConfigurationError(
            f"static:{slots} is less than --min {given.least_slots}. "
            f"Write --min {slots}, or --policy static:{given.least_slots}."
        )
    if given.most_slots is not None and slots > given.most_slots:
        raise ConfigurationError(
            f"static:{slots} is more than --max {given.most_slots}. "
            f"Write --max {slots}, or --policy static:{given.most_slots}."
        )


def _side_by_side(
    recording: Recording, names: Sequence[str], given: Given, show: Shown
) -> list[Outcome]:
    """Try the policies of a long recording in processes of their own, as many as there are cores.

    A policy that forecasts thinks for about half a millisecond after every batch.
    """
    # Forking a process that shows its progress in a thread could leave a lock taken for good.
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(len(names), os.cpu_count() or 1), mp_context=spawned) as pool:
        tried = {pool.submit(_outcome, recording, name, given): name for name in names}
        for done, finished in enumerate(as_completed(tried), start=1):
            show(f"{done} of {len(names)} policies, {tried[finished]}", done / len(names))
    return [finished.result() for finished in tried]


def as_dict(log: ReplayedLog) -> dict[str, Any]:
    """Lay out all that was found, for programs."""
    return {
        "recordings": [_comparison_dict(each) for each in log.comparisons],
        "too_short": [
            {"query": each.title, "run": each.run_id, "batches": len(each.batches)}
            for each in log.too_short
        ],
    }


def _comparison_dict(found: Comparison) -> dict[str, Any]:
    recording, work, conditions = found.recording, found.work, found.conditions
    return {
        "query": recording.title,
        "run": recording.run_id,
        "batches": len(recording.batches),
        "rows": recording.rows,
        "seconds": recording.ended_seconds - recording.started_seconds,
        "trigger_seconds": conditions.trigger_seconds,
        "limit_seconds": conditions.limit_seconds,
        "slots_then": found.slots_then,
        "slots_assumed": found.slots_assumed,
        "least_slots": conditions.least_slots,
        "most_slots": conditions.most_slots,
        "executor_seconds": conditions.executor_seconds,
        "logged_behind_seconds": recording.behind_seconds,
        "work": {
            "fixed_seconds": work.fixed_seconds,
            "slot_seconds_per_row": work.slot_seconds_per_row,
            "error": work.error,
        },
        "policies": [_outcome_dict(each, recording.started_seconds) for each in found.outcomes],
        "recommendation": {
            "policy": found.recommendation.policy,
            "reason": found.recommendation.reason,
        },
    }


def _outcome_dict(outcome: Outcome, origin_seconds: float) -> dict[str, Any]:
    it = outcome.replayed
    return {
        "policy": outcome.policy,
        "slot_hours": outcome.slot_hours,
        "behind_seconds": it.behind_seconds,
        "mean_latency_seconds": it.mean_latency_seconds,
        "p95_latency_seconds": it.p95_latency_seconds,
        "changes": it.changes,
        "rows": it.rows,
        "batches": len(it.batches),
        "slots": [[round(at - origin_seconds, 3), slots] for at, slots in it.timeline],
    }


def as_screen(log: ReplayedLog) -> Group:
    """Lay out all that was found, for people."""
    parts: list[Any] = []
    for found in log.comparisons:
        parts += [Text(_about(found)), _table(found), Text(f"{_advice(found)}\n")]
    for short in log.too_short:
        parts.append(Text(f"{short.title}: left out, only {_batches(short)}"))
    return Group(*parts)


def _batches(short: Recording) -> str:
    return "1 micro-batch" if len(short.batches) == 1 else f"{len(short.batches)} micro-batches"


def _about(found: Comparison) -> str:
    recording, work, conditions = found.recording, found.work, found.conditions
    seconds = recording.ended_seconds - recording.started_seconds
    trigger = conditions.trigger_seconds
    often = f"every {trigger:g} s" if trigger else "as fast as it could"
    assumed = " (assumed: write --slots-then if there were others)" if found.slots_assumed else ""
    return (
        f"{recording.title}: {len(recording.batches):,} micro-batches {often}, "
        f"{recording.rows:,} rows in {seconds:,.0f} s\n"
        f"a batch took {work.fixed_seconds:.2f} s and {1e3 * work.slot_seconds_per_row:.3g} ms of "
        f"a slot for each row, give or take {work.error:.0%}, with {found.slots_then} "
        f"slots{assumed}\n"
        f"it was behind for {recording.behind_seconds:,.0f} s: in batches that took more than "
        f"{conditions.limit_seconds:g} s"
    )


def _advice(found: Comparison) -> str:
    return f"Recommended: {found.recommendation.reason}"


def _table(found: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", no_wrap=True)
    table.add_column("slots over time", no_wrap=True)
    for name in ("slot-hours", "behind s", "mean s", "95 % s", "changes"):
        table.add_column(name, justify="right", no_wrap=True)
    top = max(slots for each in found.outcomes for _, slots in each.replayed.timeline)
    for outcome in found.outcomes:
        it = outcome.replayed
        table.add_row(
            outcome.policy,
            Text(sparkline(slots_over_time(outcome, found.recording, _SPARK_WIDTH), top=top)),
            f"{outcome.slot_hours:,.2f}",
            f"{it.behind_seconds:,.0f}",
            f"{it.mean_latency_seconds:,.1f}",
            f"{it.p95_latency_seconds:,.1f}",
            f"{it.changes}",
        )
    return table


def slots_over_time(outcome: Outcome, recording: Recording, columns: int) -> list[float]:
    """Return the most slots that there were in each of so many equal parts of the time."""
    it = outcome.replayed
    origin = it.timeline[0][0]
    end = max(recording.ended_seconds, it.ended_seconds)
    width = max(end - origin, 1e-9) / columns
    most, slots = [0.0] * columns, it.timeline[0][1]
    changes = list(it.timeline[1:])
    for column in range(columns):
        most[column] = slots
        while changes and changes[0][0] < origin + (column + 1) * width:
            slots = changes.pop(0)[1]
            most[column] = max(most[column], slots)
    return most
