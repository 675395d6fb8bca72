"""What became of each fault, and the table of all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import penstock as ps

Verdict = Literal["exact", "stopped", "wrong"]
WITHIN_SECONDS = 900
_MOST_LETTERS = 1_500
_RAW = re.compile(r"Traceback \(most recent|^\s+at [\w.$]+\(|py4j\.|Caused by:", re.MULTILINE)
_WAY_OUT = re.compile(
    r"put it back|put the file back|start the query again|new checkpoint|write (it|this)|"
    r"delete (it|the)|free (some )?space|on_error|another directory",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One fault: what was done, and what was seen.

    Exact: results came out as if nothing had happened, without a stop. Stopped: the query stopped
    or did not start, with a clear sentence, and went on exactly once what it asked for was done.
    """

    kind: str
    fault: str
    verdict: Verdict
    seen: str = ""


def stop_of(start: Callable[[], ps.Query]) -> BaseException | None:
    """Run a query to its end; return what stopped it, None where it came to the end.

    One that neither ends nor fails is broken off, and that is what stopped it.
    """
    try:
        query = start()
        if query.await_termination(WITHIN_SECONDS):
            return None
        query.stop(timeout=5)
        return TimeoutError(f"it hung for {WITHIN_SECONDS} s")
    except Exception as error:
        return error


def unclear(error: BaseException, *names: str) -> str:
    """Say what a message lacks: it must be ours, one text without stacks, with a way out.

    Where ``names`` are given, it must have one of them in it.
    """
    said = str(error)
    if not isinstance(error, ps.PenstockError):
        return f"it is a {type(error).__name__}: {said[:300]}"
    if _RAW.search(said) or len(said) > _MOST_LETTERS:
        return f"it is a raw report: {said[:600]}"
    if names and not any(name in said for name in names):
        return f"it does not name the file: {said[:400]}"
    if not _WAY_OUT.search(said):
        return f"it has no way out: {said[:400]}"
    return ""


@dataclass(frozen=True, slots=True)
class Count:
    """How the faults of one kind went."""

    kind: str
    injected: int
    exact: int
    stopped: int
    wrong: int


def counts(outcomes: Iterable[Outcome]) -> list[Count]:
    """Count outcomes by kind, and all of them last."""
    listed = list(outcomes)
    kinds = list(dict.fromkeys(each.kind for each in listed))
    return [
        Count(
            kind, len(of), *(sum(e.verdict == v for e in of) for v in ("exact", "stopped", "wrong"))
        )
        for kind, of in [
            *((kind, [each for each in listed if each.kind == kind]) for kind in kinds),
            ("all", listed),
        ]
    ]


def as_table(outcomes: Iterable[Outcome]) -> str:
    """Write the counts as a table in Markdown."""
    lines = ["| fault | injected | exact at once | stopped clearly, then exact | wrong |"]
    lines.append("|---|---:|---:|---:|---:|")
    for c in counts(outcomes):
        lines.append(f"| {c.kind} | {c.injected} | {c.exact} | {c.stopped} | {c.wrong} |")
    return "\n".join(lines)


def as_json(outcomes: Iterable[Outcome], seed: int, seconds: float) -> str:
    """Write the counts, and each fault that went wrong."""
    listed = list(outcomes)
    return json.dumps(
        {
            "seed": seed,
            "seconds": round(seconds, 1),
            "counts": [asdict(each) for each in counts(listed)],
            "wrong": [asdict(each) for each in listed if each.verdict == "wrong"],
        }
    )
