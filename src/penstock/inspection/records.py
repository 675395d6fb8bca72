"""The commit records of a checkpoint, and what Spark's own offsets say beside them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path

from penstock.engine.checkpoint import parse_identity
from penstock.engine.checkpoint_files import LocalFiles
from penstock.engine.commit_log import CommitRecord
from penstock.engine.spark_log import SparkLog
from penstock.engine.split_log import read_rule
from penstock.errors import ConfigurationError, PenstockError
from penstock.inspection.holding import Problem
from penstock.regular_files import read_text
from penstock.topology.compatibility import Fingerprint

_RECORD = re.compile(r"^(\d{12})\.json$")
_COPY = "Put it back from a copy of the checkpoint, or start with a new checkpoint directory."


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose checkpoint it is."""

    query_id: str | None = None
    fingerprint: Fingerprint | None = None
    problems: tuple[Problem, ...] = ()


def read_identity(path: Path) -> Identity:
    """Read ``query.json``, or say what is wrong with it."""
    file = path / "query.json"
    try:
        text = read_text(file)
        if text is None:
            return Identity(problems=(Problem(f"{file} is missing", _COPY),))
        return Identity(*parse_identity(text, str(file)))
    except PenstockError as error:
        return Identity(problems=(told(error),))


def refuse_others(path: Path) -> None:
    """Say so where a directory is no checkpoint of Penstock's."""
    names = {each.name for each in path.iterdir()}
    if "query.json" in names or any(map(_is_record, (path / "commits").glob("*.json"))):
        return
    if (path.parent / "query.json").is_file():
        raise ConfigurationError(
            f"{path} is a part of a checkpoint. Name the whole: penstock inspect {path.parent}"
        )
    if {"offsets", "metadata"} & names:
        last = _newest_number(path / "offsets")
        so_far = "" if last is None else f" and has come to micro-batch {last}"
        raise ConfigurationError(
            f"{path} is the checkpoint of a Spark query that Penstock did not run{so_far}. To see "
            "what Penstock would do with its load, log its progress and write: penstock replay "
            "progress.jsonl"
        )
    if not names:
        raise ConfigurationError(
            f"{path} is empty: no query has begun with it. Name a checkpoint that one was run with."
        )
    shown = ", ".join(sorted(names)[:3])
    raise ConfigurationError(
        f"{path} is no checkpoint: it has no query.json, but {shown}. Name the directory that a "
        "query has as its checkpoint."
    )


@dataclass(frozen=True, slots=True)
class Commits:
    """The newest record that can be read, and what is wrong with the log.

    ``last_batch`` is that of the newest record, whether it can be read or not, and ``unread`` says
    how many records, all newer than ``newest``, can't be.
    """

    newest: CommitRecord | None = None
    problems: tuple[Problem, ...] = ()
    last_batch: int | None = None
    unread: int = 0


def read_commits(path: Path, query_id: str | None) -> Commits:
    """Read the newest record, or the newest that can be read where that one can't."""
    files = sorted(each for each in (path / "commits").glob("*.json") if _is_record(each))
    problems: list[Problem] = []
    for unread, file in enumerate(reversed(files)):
        try:
            record = CommitRecord.from_json(read_text(file) or "", str(file))
        except PenstockError as error:
            problems.append(told(error))
            continue
        if query_id is not None and record.query_id != query_id:
            what = f"{file} is of another query ({record.query_id})"
            problems.append(Problem(what, _COPY))
        if record.batch_id != int(file.stem):
            problems.append(Problem(f"{file} holds micro-batch {record.batch_id}", _COPY))
        last = int(files[-1].stem) if unread else record.batch_id
        return Commits(record, (*problems, *_gaps(files)), last, unread)
    return Commits(
        problems=tuple(problems),
        last_batch=int(files[-1].stem) if files else None,
        unread=len(files),
    )


def note_unread(commits: Commits) -> list[Problem]:
    """Note what can't be told, or looks older than it is, because newer records can't be read."""
    if not commits.unread or commits.newest is None:
        return []
    what = (
        f"what is said here is of micro-batch {commits.newest.batch_id}, the newest whose record "
        "can be read; which files the newer ones need can't be told"
    )
    return [Problem(what, "Look again once the newest record is put back.", is_note=True)]


def _gaps(files: list[Path]) -> list[Problem]:
    numbers = [int(file.stem) for file in files]
    # Two names may be far apart, so that nothing here goes through all that lie between them.
    gaps = [range(one + 1, next_one) for one, next_one in pairwise(numbers) if next_one > one + 1]
    if not gaps:
        return []
    shown = ", ".join(map(str, islice(chain.from_iterable(gaps), 5)))
    return [
        Problem(
            f"the records of {sum(map(len, gaps))} micro-batches are missing, such as {shown}",
            "Only the newest is needed to go on; find out who deleted the others.",
        )
    ]


def compare_with_spark(path: Path, commits: Commits, *, is_running: bool) -> list[Problem]:
    """Compare the commit log with Spark's log, and look at that as a start does."""
    problems = _apart(path, commits.last_batch, is_running=is_running)
    # Spark writes an entry and its checksums one after the other, so that they may not yet fit.
    if is_running or not all(problem.is_note for problem in problems):
        return problems
    newest = None if commits.newest is None or commits.unread else commits.newest.offsets
    try:
        SparkLog(LocalFiles(), str(path / "spark")).check(commits.last_batch, newest)
    except (PenstockError, OSError) as error:
        problems.append(told(error))
    return problems


def check_rule(path: Path, commits: Commits) -> list[Problem]:
    """Say what is wrong with ``split.json``, by which the newest micro-batch was split."""
    last = -1 if commits.last_batch is None else commits.last_batch
    planned = last + 1 if os.path.exists(path / "spark" / "offsets" / str(last + 1)) else None
    was_split = commits.newest is not None and not commits.unread and commits.newest.is_split
    try:
        read_rule(LocalFiles(), str(path), planned, was_split=was_split)
    except PenstockError as error:
        return [told(error)]
    return []


def _apart(path: Path, last_batch: int | None, *, is_running: bool) -> list[Problem]:
    """Compare how far the two logs are: they may be one micro-batch apart, not more."""
    spark = path / "spark"
    planned = _newest_number(spark / "offsets")
    if planned is None:
        if last_batch is None:
            return []
        what = f"{spark / 'offsets'} is empty or missing, though micro-batches were committed"
        return [Problem(what, _COPY)]
    committed = -1 if last_batch is None else last_batch
    if planned == committed + 1:
        if is_running:
            return [Problem(f"micro-batch {planned} is running", "", is_note=True)]
        what = f"micro-batch {planned} was begun and not committed: the query was broken off"
        return [Problem(what, "Start the query again: it repeats that batch, exactly once.", True)]
    if planned > committed + 1 or planned < committed:
        what = (
            f"Spark's offsets end at micro-batch {planned} and the commit log at "
            f"{'none' if last_batch is None else last_batch}: they don't belong together"
        )
        return [Problem(what, _COPY)]
    return []


def _newest_number(directory: Path) -> int | None:
    numbers = [int(each.name) for each in directory.glob("*") if each.name.isdecimal()]
    return max(numbers, default=None)


def _is_record(file: Path) -> bool:
    return _RECORD.match(file.name) is not None


def told(error: Exception) -> Problem:
    """Make a problem of what a start would be refused with."""
    what, _, remedy = str(error).partition(". ")
    return Problem(what, remedy or _COPY)
