"""Damages each kind of file that a checkpoint has, and sees what a start makes of it."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Literal

from campaign.job import Job, write_batch
from campaign.outcomes import Outcome, stop_of, unclear
from penstock.elasticity.control import Control
from penstock.journal.control_file import write_control
from penstock.testing import fail_at

Damage = Literal["flip", "empty", "halve", "delete"]
DAMAGES: tuple[Damage, ...] = ("flip", "empty", "halve", "delete")
Base = Literal["stopped", "broken off"]
BATCHES = 3

KINDS = {
    "query.json": r"query\.json",
    "commit record": r"commits/\d{12}\.json",
    "rule of shedding": r"split\.json",
    "partials of windows": r"panes/.+\.parquet",
    "keyed state": r"state/.+\.arrow",
    "Spark's offsets": r"spark/offsets/\d+",
    "Spark's commits": r"spark/commits/\d+",
    "Spark's metadata": r"spark/metadata",
    "Spark's log of a file source": r"spark/sources/\d+/\d+(\.compact)?",
    "checksum of a log of Spark's": r"spark/(.+/)?\.[^/]+\.crc",
    "journal": r"journal/journal-\d+\.jsonl",
    "control file": r"journal/control\.json",
    "lock": r"\.lock|journal/journal\.lock",
    "owner of kept rows": r"(dead_letters|shed_rows/.+)/_penstock/owner\.json",
    "kept dead letters": r"dead_letters/batch_id=\d+/[^/]+\.parquet",
    "kept shed rows": r"shed_rows/.+/batch_id=\d+/[^/]+\.parquet",
}
"""Every kind of file in a checkpoint, by its path; a file that is none of them is a new kind."""

DELIVERED = {"kept dead letters", "kept shed rows"}
"""Rows that came out, like those in any sink: nobody reads them again, so nobody notices."""

_AFTER_THE_START = re.compile(r"journal/|\.lock$")


def kind_of(path: str) -> str | None:
    """Return the kind of a file of a checkpoint, None for one that nobody knows."""
    found = [kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, path)]
    return found[0] if found else None


def files_of(checkpoint: Path) -> list[str]:
    """Return the paths of all files in a checkpoint, or in another directory."""
    files = (path for path in checkpoint.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(checkpoint)) for path in files)


def spoil(path: Path, damage: Damage, dice: random.Random) -> None:
    """Damage a file as a disk, a full disk or a person would."""
    content = path.read_bytes()
    if damage == "delete":
        path.unlink()
    elif damage == "flip" and content:
        at = dice.randrange(len(content))
        changed = content[at] ^ (1 << dice.randrange(8))
        path.write_bytes(content[:at] + bytes([changed]) + content[at + 1 :])
    elif damage == "flip":
        path.write_bytes(b"?")
    else:
        path.write_bytes(content[: 0 if damage == "empty" else len(content) // 2])


@dataclass(frozen=True)
class Bases:
    """Two checkpoints of the whole job to damage copies of, and a micro-batch still to come.

    One is of a query that had come to its end, the other of one that broke off in a micro-batch.
    """

    job: Job
    where: Path
    _numbers: Iterator[int]

    @classmethod
    def made(cls, job: Job) -> Bases:
        """Run the job and keep what it left, twice."""
        where = job.where
        bases = cls(replace(job, where=where / "at-work"), where, count())
        job.source.mkdir(parents=True, exist_ok=True)
        for number in range(BATCHES):
            write_batch(job.source, number)
        _finish(bases.job)
        journal = bases.job.checkpoint_path / "journal"
        write_control(journal, Control(max_slots=2), by="the campaign")
        bases._keep("stopped")
        write_batch(job.source, BATCHES)
        stopped = stop_of(lambda: bases.job.start(on_step=fail_at("sinks", BATCHES)))
        assert stopped is not None
        bases._keep("broken off")
        # What both are when nothing is wrong.
        _finish(bases.job)
        assert bases.job.differences() == ""
        bases._check_kinds()
        return bases

    def _check_kinds(self) -> None:
        """See that no kind of file is left out, nor one listed that there is not."""
        homes: tuple[Base, ...] = ("stopped", "broken off")
        files = {path for base in homes for path in files_of(self.where / base / "checkpoint")}
        unknown = sorted(path for path in files if kind_of(path) is None)
        assert not unknown, f"new kinds of file, which no fault was injected into: {unknown}"
        absent = [kind for kind in KINDS if not all(self.files(base, kind) for base in homes)]
        assert not absent, f"there is no file of the kinds {absent}"

    def _keep(self, base: Base) -> None:
        shutil.copytree(self.job.where, self.where / base)

    def files(self, base: Base, kind: str) -> list[str]:
        """Return the files of a kind, the oldest first."""
        checkpoint = self.where / base / "checkpoint"
        files = [path for path in files_of(checkpoint) if kind_of(path) == kind]
        # A batch that runs again replaces what it delivered, and with it what we would put back.
        again = f"batch_id={BATCHES}/"
        return [path for path in files if kind not in DELIVERED or again not in path]

    def inject(self, base: Base, file: str, damage: Damage, dice: random.Random) -> Outcome:
        """Damage a file in a copy of a base, start, and compare."""
        copy = replace(self.job, where=self.where / f"copy-{next(self._numbers)}")
        shutil.copytree(self.where / base, copy.where)
        target = copy.checkpoint_path / file
        spoil(target, damage, dice)
        kind, fault = kind_of(file) or "?", f"{damage} {file} of a query that {base}"
        outcome = self._outcome(copy, base, file)
        shutil.rmtree(copy.where)
        return replace(outcome, kind=kind, fault=fault)

    def _outcome(self, copy: Job, base: Base, file: str) -> Outcome:
        error = stop_of(copy.start)
        kept = self.where / base / "checkpoint" / file
        if error is None:
            if kind_of(file) in DELIVERED:
                shutil.copy2(kept, copy.checkpoint_path / file)
            wrong = copy.differences()
            return Outcome("", "", "wrong" if wrong else "exact", wrong)
        # Of partials it is the directory that is named.
        directory = [str(Path(file).parent)] if file.startswith("panes/") else []
        problem = unclear(error, file, _logged(file), *directory)
        if problem:
            return Outcome("", "", "wrong", problem)
        (copy.checkpoint_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(kept, copy.checkpoint_path / file)
        wrong = self._way_out(copy, base)
        return Outcome("", "", "wrong" if wrong else "stopped", wrong or str(error))

    def _way_out(self, copy: Job, base: Base) -> str:
        """Say what is wrong after the file was put back from a copy, as the message asks for.

        Where all is as it was before, in the sinks too, so are the results; else the query has to
        show it.
        """
        if _contents(copy.where) == _contents(self.where / base):
            return ""
        error = stop_of(copy.start)
        if error is not None:
            return f"with the file put back it stops again: {str(error)[:500]}"
        wrong = copy.differences()
        return wrong and f"with the file put back: {wrong}"


def _logged(file: str) -> str:
    """Return the log that a checksum file of Hadoop's belongs to."""
    path = Path(file)
    return str(path.with_name(path.name.removeprefix(".").removesuffix(".crc")))


def _contents(where: Path) -> dict[str, bytes]:
    paths = [path for path in files_of(where) if not _AFTER_THE_START.search(path)]
    return {path: (where / path).read_bytes() for path in paths}


def _finish(job: Job) -> None:
    error = stop_of(job.start)
    if error is not None:
        raise error
