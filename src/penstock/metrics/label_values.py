"""Label values that Prometheus can bear: clean, short, and only so many.

Every value makes a time series that Prometheus keeps for weeks, so names that grow without end, of
queries that come and go or of errors with numbers in them, must not become labels.
"""

from __future__ import annotations

import hashlib

OTHER = "other"
LONGEST = 80
_NO_NAME = "(no name)"
_DIGITS = 8


def clean(text: str) -> str:
    r"""Return a name as one short line of text; a long one keeps its beginning and gets a number.

    >>> clean(" parse\tthe\n clicks ")
    'parse the clicks'
    >>> clean("very " * 40)[-25:], len(clean("very " * 40))
    ('very very very v~73b169bf', 80)
    """
    seen = text[: 20 * LONGEST].encode("utf-8", "replace").decode()
    line = " ".join("".join(c if c.isprintable() else " " for c in seen).split())
    if len(line) <= LONGEST and len(text) <= 20 * LONGEST:
        return line or _NO_NAME
    number = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{line[: LONGEST - _DIGITS - 1]}~{number}"


class LabelValues:
    """Knows the first ``most`` names it was asked for; all that come later are "other".

    >>> operators = LabelValues(most=2)
    >>> [operators.of(name) for name in ("parse", "score", "route", "parse")]
    ['parse', 'score', 'other', 'parse']
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()
        self._cleaned: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return the label value for a name."""
        seen = self._cleaned.get(name)
        if seen is not None:
            return seen
        value = clean(name)
        if value not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(value)
        # The same few names come with every batch; only they are kept, so that memory is bounded.
        if len(self._cleaned) < 2 * self._most:
            self._cleaned[name] = value
        return value
