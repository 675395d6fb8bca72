"""What a soak must show, each as a line of a table: what it was, and whether it is good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from soak_faults import KINDS
from soak_record import START_TIMED_OUT, Record
from soak_slopes import after_warm_up, trend

# The share of a process's life, and of the run, in which things may still grow.
WARM_UP_SHARE = 1 / 3
MOST_GROWTH_SHARE = 0.10
# Nothing is said of memory by a process that lived for less of the run.
LEAST_LIFE_SHARE = 0.3
# A shorter run shows no more than growth that is clear: of the rest it can't tell.
PROVING_SECONDS = 3_600
GOOD, BAD, UNPROVEN = 0, 1, 3  # 2 is that of a wrong command
# What the journal promises to keep at most.
MOST_JOURNAL_FILES = 32
PROCESSES = {
    "driver_jvm": "driver, JVM",
    "driver_python": "driver, Python",
    "executor": "executor, JVM",
    "worker": "Python worker",
}
HEAPS = ("driver_jvm", "executor")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, in words and numbers for a table."""

    what: str
    level: float
    growth_percent: float
    low_percent: float
    high_percent: float
    minutes: float
    verdict: str
    is_good: bool

    @property
    def is_bad(self) -> bool:
        """Whether it is surely not good; what is unclear is neither."""
        return not self.is_good and self.verdict != "unclear"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What all findings of a run come to, as a sentence and as an exit code."""

    exit_code: int
    sentence: str


def judgement(found: Sequence[Finding], seconds: float) -> Judgement:
    """Judge a run of so many seconds: bad, or good, or too unclear to be called good.

    What is unclear may grow. A run that is long enough to show that nothing does has then not
    shown it; one that is shorter never says so.
    """
    bad = [f"{each.what} ({each.verdict})" for each in found if each.is_bad]
    unclear = [each.what for each in found if each.verdict == "unclear"]
    rose = (
        f"Unclear: {', '.join(unclear)} rose by more than {MOST_GROWTH_SHARE:.0%}, but by chance "
        "it may be."
    )
    if bad:
        said = f"Bad: {', '.join(bad)}."
        return Judgement(BAD, f"{said} {rose}" if unclear else said)
    if seconds < PROVING_SECONDS:
        said = (
            f"Nothing clearly grew. That nothing grows is not shown by {seconds / 60:.3g} "
            f"minutes: it takes {PROVING_SECONDS // 60} or more."
        )
        return Judgement(GOOD, f"{said} {rose}" if unclear else said)
    if unclear:
        return Judgement(
            UNPROVEN, f"{rose} So it is not shown that nothing grows. Run it again, or for longer."
        )
    return Judgement(GOOD, "Nothing grew.")


def findings(record: Record) -> list[Finding]:
    """Judge a record: what grew, what ended unasked, and whether every kind of fault came."""
    found = []
    for kind, words in PROCESSES.items():
        found += _memory(record, kind, words)
    at = [each.at for each in record.files]
    found.append(_grown("checkpoint: files", at, [each.files for each in record.files]))
    found.append(_grown("checkpoint: MB", at, [each.bytes / 1e6 for each in record.files]))
    batches = sorted(record.batches.values(), key=lambda each: each.at)
    at = [each.at for each in batches]
    found.append(_grown("batch: seconds", at, [each.seconds for each in batches]))
    told = [each for each in batches if each.waiting_rows is not None]
    waiting = [float(each.waiting_rows or 0) for each in told]
    found.append(_grown("rows waiting", [each.at for each in told], waiting))
    return [*found, *_counted(record)]


def _memory(record: Record, kind: str, words: str) -> list[Finding]:
    """Judge the process of a kind that lived longest; a kind that was hardly seen is bad."""
    life = record.longest_life(kind)
    if life is None:
        return [_unseen(f"{words}: resident MB", "never seen")]
    at, resident = record.lives(kind)[life]
    lived, run = at[-1] - at[0], record.memory[-1].at - record.memory[0].at
    if lived < LEAST_LIFE_SHARE * run:
        return [_unseen(f"{words}: resident MB", f"lived {lived:.0f} s at most")]
    found = [_grown(f"{words}: resident MB", at, resident)]
    if kind in HEAPS:
        heaps = [each for each in record.heaps if (each.pid, each.since) == life]
        at, heap_mb = [each.at for each in heaps], [each.heap_mb for each in heaps]
        found.append(_grown(f"{words}: heap after a collection, MB", at, heap_mb))
    return found


def _unseen(what: str, verdict: str) -> Finding:
    return Finding(what, 0.0, 0.0, 0.0, 0.0, 0.0, verdict, is_good=False)


def _grown(what: str, at: list[float], values: list[float]) -> Finding:
    seen = trend(*after_warm_up(at, values, WARM_UP_SHARE))
    verdict = seen.verdict(MOST_GROWTH_SHARE)
    grown = (seen.growth, seen.low, seen.high)
    percent = [100 * each / seen.level if seen.level else 0.0 for each in grown]
    return Finding(what, seen.level, *percent, seen.seconds / 60, verdict, verdict == "flat")


def _counted(record: Record) -> list[Finding]:
    made = Counter(each.kind for each in record.done)
    found = [count(f"fault: {kind}", made[kind], made[kind] > 0) for kind in KINDS]
    unasked = sum(not each.asked for each in record.done)
    found.append(count("drivers that ended unasked", unasked, unasked == 0))
    found.append(count("starts that Spark gave up on", made[START_TIMED_OUT], True))
    most = max((each.journal_files for each in record.files), default=0)
    found.append(count("journal: files", most, most <= MOST_JOURNAL_FILES))
    return found


def count(what: str, number: int, is_good: bool) -> Finding:
    """Make a line of something that is counted."""
    return Finding(what, number, 0.0, 0.0, 0.0, 0.0, "good" if is_good else "bad", is_good)
