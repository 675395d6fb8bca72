"""The state of operators that a commit record names, held against the files that there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engine.checkpoint_files import LocalFiles
from penstock.engine.commit_log import CommitRecord
from penstock.engine.committed_files import damaged_panes, damaged_states
from penstock.engine.keyed_state import KeyedState
from penstock.engine.state_manifest import Manifest
from penstock.engine.window_state import WindowState
from penstock.errors import ConfigurationError
from penstock.inspection.files import all_files, is_whole
from penstock.inspection.holding import HeldGroups, HeldKeys, HeldWindows, Problem
from penstock.inspection.records import told
from penstock.placement.key_groups import KeyGroupState
from penstock.report.words import counted
from penstock.windows.durations import microseconds
from penstock.windows.panes import Panes, paned
from penstock.windows.segments import directory_name, directory_of
from penstock.windows.specs import WindowSpec

Signature = Mapping[str, str]
_SPEC = re.compile(r"^(?P<length>.+?)(?: every (?P<slide>.+?))?(?:, offset (?P<offset>.+))?$")
_LOST = (
    "Put it back from a copy of the checkpoint, or start with a new checkpoint directory: without "
    "it the query can't go on."
)
_LEFT_OVER = "Nothing: the query deletes it when it starts again."


def held_windows(
    path: Path,
    operator: str,
    state: WindowState,
    signature: Signature,
    is_newest: bool,
    is_running: bool,
) -> tuple[HeldWindows, list[Problem]]:
    """Describe the windows of an operator, and say which of their files are missing or damaged.

    Where a newer record can't be read, ``is_newest`` is False: that one may have had files
    replaced. Of a query that ``is_running`` they may be at any moment, and contents are not read.
    """
    directory = path / "panes" / operator
    rows: dict[int, int] = {}
    for segment in state.segments:
        number = directory_of(segment.name)
        rows[number] = rows.get(number, 0) + segment.rows
    problems = _wrong_panes(directory, rows, state.checksums if not is_running else {}, is_newest)
    written = [
        each.stat().st_mtime
        for number in rows
        for each in _partials_in(directory / directory_name(number))
        if each.exists()
    ]
    named = set(map(directory_name, rows))
    problems += _unnamed(directory, named, "segment") if is_newest else []
    panes = panes_of(signature.get("windows", ""))
    stored = [(segment.first, segment.end) for segment in state.segments]
    held = HeldWindows(
        operator=operator,
        windows=signature.get("windows", ""),
        keys=signature.get("keys", ""),
        aggregates=signature.get("aggregates", ""),
        segments=len(state.segments),
        rows=sum(segment.rows for segment in state.segments),
        bytes=sum(segment.bytes for segment in state.segments),
        open_windows=None if panes is None else panes.open_windows(state.closed, stored),
        closed_until_seconds=(
            panes.start_micros(state.closed) / 1e6 if panes and state.closed else None
        ),
        since_seconds=min(written, default=None),
    )
    return held, problems


def _wrong_panes(
    directory: Path, rows: Mapping[int, int], checksums: Mapping[int, str], is_newest: bool
) -> list[Problem]:
    """Say what is wrong with directories of a pane store; ``rows`` says how many each holds."""
    problems, whole = [], []
    for number in sorted(rows):
        folder = directory / directory_name(number)
        files = _partials_in(folder)
        damaged = [each for each in files if not is_whole(each)]
        problems += [Problem(f"{each} is cut short or damaged", _LOST) for each in damaged]
        if not files and rows[number]:
            if is_newest:
                problems.append(Problem(f"{folder} is missing, with {rows[number]:,} rows", _LOST))
        elif not damaged:
            whole.append(number)
    if is_newest:
        problems += map(told, damaged_panes(LocalFiles(), str(directory), whole, checksums))
    return problems


def _partials_in(folder: Path) -> list[Path]:
    return [each for each, _ in all_files(folder) if each.suffix == ".parquet"]


def panes_of(described: str) -> Panes | None:
    """Read windows back from the words that a checkpoint has for them; None where that fails.

    >>> panes_of("10 seconds; 30 seconds every 5 seconds").micros
    5000000
    >>> panes_of("when the moon is full")
    """
    try:
        return paned([_spec(text) for text in described.split("; ")])
    except ConfigurationError:
        return None


def _spec(text: str) -> WindowSpec:
    found = _SPEC.match(text)
    if found is None:
        raise ConfigurationError(f"'{text}' is no window.")
    length = microseconds(found["length"])
    slide = microseconds(found["slide"]) if found["slide"] else length
    offset = microseconds(found["offset"]) if found["offset"] else 0
    return WindowSpec(text, length, slide, offset)


def held_keys(
    path: Path,
    operator: str,
    state: KeyedState,
    signature: Signature,
    on_read: Callable[[str, float], object],
    is_newest: bool,
    is_running: bool,
) -> tuple[HeldKeys, list[Problem]]:
    """Describe the states of keys, and say which of their files are missing or damaged.

    ``is_newest`` and ``is_running`` are as for windows.
    """
    directory = path / "state" / operator
    there = LocalFiles().lengths(str(directory))
    is_missing = not state.manifest.names <= there.keys()
    files = [each for each in state.manifest.files if is_newest or each.name in there]
    if is_running:
        files = [replace(each, checksum=None) for each in files]
    problems = [*map(told, damaged_states(LocalFiles(), str(directory), Manifest(tuple(files))))]
    count = None
    if not problems and not is_missing:
        groups = state.groups.table.groups
        count = _count_keys(
            directory, state.manifest, groups, lambda share: on_read(f"keys of {operator}", share)
        )
        if count is None:
            problems.append(Problem(f"a file in {directory} can't be read as Arrow", _LOST))
    problems += _unnamed(directory, set(state.manifest.names), "file") if is_newest else []
    held = HeldKeys(
        operator=operator,
        keys=signature.get("keys", ""),
        files=len(state.manifest.files),
        bytes=state.manifest.bytes,
        key_count=count,
        timers=sum(timer is not None for timer in state.timers),
    )
    return held, problems


def _count_keys(
    directory: Path, manifest: Manifest, groups: int, on_read: Callable[[float], object]
) -> int | None:
    """Count the keys that have a state: a group's newest piece that knows a key decides."""
    total = 0
    try:
        readers = {
            name: pa.ipc.open_file(pa.memory_map(str(directory / name))) for name in manifest.names
        }
        for group, pieces in manifest.pieces(range(groups)).items():
            batches = [readers[piece.file].get_batch(piece.position) for piece in pieces]
            if batches:
                hashes = np.concatenate([np.asarray(each.column("hash")) for each in batches])
                gone = np.concatenate(
                    [each.column("is_gone").to_numpy(zero_copy_only=False) for each in batches]
                )
                _, newest = np.unique(hashes, return_index=True)
                total += int((~gone[newest].astype(bool)).sum())
            on_read((group + 1) / groups)
    except (OSError, KeyError, IndexError, ValueError, pa.ArrowException):
        return None
    return total


def held_groups(record: CommitRecord) -> list[HeldGroups]:
    """Describe which task owns which key group, of every operator that has a table of them."""
    found = [_groups(name, state.groups) for name, state in record.keyed.items()]
    for name, document in record.placement.items():
        try:
            found.append(_groups(name, KeyGroupState.from_json(document["state"])))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # another placement's, which has no groups
    return found


def _groups(operator: str, state: KeyGroupState) -> HeldGroups:
    table = state.table
    owned = [table.of_task(task) for task in range(table.tasks)]
    loads = [sum(state.loads[group] for group in groups) for groups in owned]
    share = max(loads) / sum(loads) if sum(loads) > 0 else None
    return HeldGroups(operator, table.groups, tuple(map(len, owned)), share)


def _unnamed(directory: Path, named: set[str], noun: str) -> list[Problem]:
    """Note what no record names: a try that failed left it, or a batch that runs now writes it."""
    try:
        there = {each.name for each in directory.iterdir() if not each.name.startswith(".")}
    except FileNotFoundError:
        return []
    left: Sequence[Any] = sorted(there - named)
    if not left:
        return []
    these = counted(len(left), noun)
    what = f"{directory} holds {these} of which no commit record tells, such as {left[0]}"
    return [Problem(what, _LEFT_OVER, is_note=True)]
