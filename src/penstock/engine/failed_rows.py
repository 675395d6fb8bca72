"""What the journal says of rows on which a function failed: how many, of which errors, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.engine.python_step import Tally
from penstock.journal.events import RowsFailed
from penstock.secrets import redacted

MOST_EXAMPLES = 5
EXAMPLE_LETTERS = 200


def rows_failed(batch_id: int, operator: str, rows: int, tallies: Iterable[Tally]) -> RowsFailed:
    """Add up what the tasks of an operator told of its failed rows.

    The most frequent types of error come with a message that one of them had: with the value of a
    row in it every message is another, so that counting messages would tell nothing.

    >>> tally = Tally(failures={"ValueError": 83}, examples={"ValueError": "7 is above full scale"})
    >>> rows_failed(4, "parse", 83, [tally]).examples
    {'ValueError': '7 is above full scale'}
    """
    reasons: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for tally in tallies:
        reasons.update(tally.failures)
        examples.update(tally.examples)
    told = {
        error: _in_short(examples[error])
        for error, _ in reasons.most_common(MOST_EXAMPLES)
        if examples.get(error)
    }
    return RowsFailed(batch_id, operator, rows, dict(reasons), told)


def _in_short(message: str) -> str:
    """Hide secrets before cutting: of half a secret nobody would know that it is one."""
    text = redacted(message)
    return text if len(text) <= EXAMPLE_LETTERS else f"{text[: EXAMPLE_LETTERS - 1]}…"
