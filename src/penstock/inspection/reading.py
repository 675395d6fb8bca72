"""Reads a checkpoint whole and puts together what it holds."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.engine.commit_log import CommitRecord
from penstock.errors import ConfigurationError
from penstock.inspection.files import all_files, by_kind, is_locked, local_checkpoint, rows_in
from penstock.inspection.holding import (
    HeldDecision,
    HeldJournal,
    HeldSource,
    Holding,
    Learnt,
    Problem,
)
from penstock.inspection.records import (
    Commits,
    Identity,
    check_rule,
    compare_with_spark,
    note_unread,
    read_commits,
    read_identity,
    refuse_others,
    told,
)
from penstock.inspection.state import held_groups, held_keys, held_windows
from penstock.journal.events import CorruptLine, QueryStarted
from penstock.journal.reader import read
from penstock.journal.topology_events import StartedQuery, TopologyPlanned
from penstock.report.words import counted

_SET_ASIDE = (
    "The query goes on without these rows. Put the file back from a copy of the checkpoint, or "
    "delete it: who reads the directory fails on it."
)
OnRead = Callable[[str, float], object]
_TRIES = 3
"""A query that runs may delete files between the reading of a record and of what it names."""


def inspect_checkpoint(
    checkpoint: str,
    *,
    on_read: OnRead = lambda what, share: None,
    clock: Callable[[], float] = time.time,
) -> Holding:
    """Read what a checkpoint on this machine's disk holds; nothing in it is changed.

    ``on_read`` is told what is being read and the share of it that is. A directory that is no
    checkpoint of Penstock's is a ``ConfigurationError`` which says what it is instead.
    """
    path = local_checkpoint(checkpoint)
    refuse_others(path)
    for _ in range(_TRIES):
        identity = read_identity(path)
        commits = read_commits(path, identity.query_id)
        found = _holding(path, identity, commits, on_read, clock)
        last = None if commits.newest is None else commits.newest.batch_id
        now = read_commits(path, identity.query_id).newest
        if found.is_sound or now is None or now.batch_id == last:
            return found
    return found


def _holding(
    path: Path, identity: Identity, commits: Commits, on_read: OnRead, clock: Callable[[], float]
) -> Holding:
    running, record = is_locked(path), commits.newest
    problems = [*identity.problems, *commits.problems, *note_unread(commits)]
    problems += compare_with_spark(path, commits, is_running=running)
    problems += check_rule(path, commits)
    dead_letters, damaged_letters = rows_in(path / "dead_letters")
    shed_rows, damaged_rows = rows_in(path / "shed_rows")
    if not running:
        damaged = (*damaged_letters, *damaged_rows)
        problems += [Problem(f"{each} is cut short or damaged", _SET_ASIDE) for each in damaged]
    found = Holding(
        path=str(path),
        query_id=identity.query_id or (record.query_id if record else None),
        is_running=running,
        seen_at_seconds=clock(),
        dead_letters=dead_letters,
        shed_rows=shed_rows,
        files=by_kind(path),
    )
    if record is not None:
        is_newest = commits.unread == 0
        found, of_state = _with_record(path, identity, record, found, on_read, is_newest)
        problems += of_state
    elif identity.fingerprint is not None:
        times = identity.fingerprint.times
        found = replace(found, sources=tuple(HeldSource(*each) for each in times.items()))
    found, of_journal = _with_journal(path, found, on_read)
    return replace(found, problems=(*problems, *of_journal))


def _with_record(
    path: Path,
    identity: Identity,
    record: CommitRecord,
    found: Holding,
    on_read: OnRead,
    is_newest: bool,
) -> tuple[Holding, list[Problem]]:
    signatures = identity.fingerprint.states if identity.fingerprint else {}
    problems: list[Problem] = []
    windows, keyed = [], []
    for number, (name, state) in enumerate(record.windows.items()):
        on_read(f"windows of {name}", number / len(record.windows))
        of_windows, wrong = held_windows(
            path, name, state, signatures.get(name, {}), is_newest, found.is_running
        )
        windows.append(of_windows)
        problems += wrong
    for name, keys in record.keyed.items():
        of_keys, wrong = held_keys(
            path, name, keys, signatures.get(name, {}), on_read, is_newest, found.is_running
        )
        keyed.append(of_keys)
        problems += wrong
    decision = record.decision
    policy_kind = str(record.policy.get("kind", "a policy"))
    whole = replace(
        found,
        operators=tuple(dict.fromkeys([*_homes(record.plan), *decision.tasks])),
        last_batch=record.batch_id,
        committed_at_seconds=record.committed_at_seconds,
        sources=tuple(_sources(identity, record, found.seen_at_seconds)),
        windows=tuple(windows),
        keyed=tuple(keyed),
        key_groups=tuple(held_groups(record)),
        placement=tuple(
            Learnt(name, _placement_kind(learnt), _size(learnt))
            for name, learnt in record.placement.items()
        ),
        policy=Learnt("policy", policy_kind, _size(record.policy)) if record.policy else None,
        admission=(
            Learnt("admission", "read limits", _size(record.admission))
            if record.admission
            else None
        ),
        plan=_components(record.plan),
        decision=HeldDecision(decision.slots, decision.reason, dict(decision.tasks)),
    )
    return whole, problems


def _sources(identity: Identity, record: CommitRecord, now: float) -> list[HeldSource]:
    times = dict(identity.fingerprint.times) if identity.fingerprint else {}
    found = []
    for name in dict.fromkeys([*times, *record.marks]):
        mark = record.marks.get(name)
        at = mark.micros / 1e6 if mark and mark.micros is not None else None
        newest = getattr(mark, "newest_micros", None)
        found.append(
            HeldSource(
                name=name,
                time_column=times.get(name),
                watermark_seconds=at,
                newest_row_seconds=None if newest is None else newest / 1e6,
                behind_seconds=None if at is None else now - at,
            )
        )
    return found


def _homes(plan: Mapping[str, Any]) -> dict[str, str]:
    homes = plan.get("homes")
    return {str(k): str(v) for k, v in homes.items()} if isinstance(homes, Mapping) else {}


def _components(plan: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    together: dict[str, list[str]] = {}
    for operator, component in _homes(plan).items():
        together.setdefault(component, []).append(operator)
    return {component: tuple(operators) for component, operators in together.items()}


def _placement_kind(learnt: Any) -> str:
    """Say what was learnt, by the names that placements save it under."""
    names = set(learnt) if isinstance(learnt, Mapping) else set()
    if "models" in names:
        return "what rows cost, by their keys"
    if {"state", "hot"} & names:
        return "which task owns which key group"
    if "sizes" in names or "alpha" in names:
        return "how panes are split"
    return "what a placement learnt"


def _size(document: Any) -> int:
    return len(json.dumps(document, separators=(",", ":")))


def _with_journal(path: Path, found: Holding, on_read: OnRead) -> tuple[Holding, list[Problem]]:
    directory = path / "journal"
    files = [size for file, size in all_files(directory) if file.suffix == ".jsonl"]
    if not files:
        return found, []
    events = corrupt = starts = 0
    first = last = math.nan
    started: QueryStarted | StartedQuery | None = None
    problems = []
    try:
        for event in read(directory, lambda share: on_read("reading the event log", share)):
            if isinstance(event.body, CorruptLine):
                corrupt += 1
                continue
            events += 1
            first = event.at_seconds if math.isnan(first) else first
            last = event.at_seconds
            if isinstance(event.body, QueryStarted):
                started, starts = event.body, starts + 1
            elif isinstance(event.body, TopologyPlanned):
                started = started or event.body.started
    except ConfigurationError as error:  # a newer Penstock wrote on
        problems.append(told(error))
    journal = HeldJournal(
        files=len(files),
        bytes=sum(files),
        events=events,
        corrupt_lines=corrupt,
        first_seconds=None if math.isnan(first) else first,
        last_seconds=None if math.isnan(last) else last,
        starts=starts,
    )
    if corrupt:
        what = f"{counted(corrupt, 'line')} of the event log in {directory} can't be read"
        problems.append(Problem(what, "The query goes on without them; reports leave them out."))
    named = replace(
        found,
        journal=journal,
        name=started.name if started else None,
        written_by=(
            f"Penstock {started.penstock_version}, PySpark {started.spark_version}"
            if started
            else None
        ),
    )
    return named, problems
