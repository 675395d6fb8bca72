"""Keeps secrets out of what is written for people: journals, errors, logs, plans.

Two nets, one behind the other. Values that are known to be secret, because a sink, a source or the
session was given them under a name that says so, are hidden wherever they stand. And whatever a
text itself calls a password, a token or a key is hidden, also where nobody knew of it.
"""

from __future__ import annotations

import html
import json
import logging
import re
import threading
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

HIDDEN = "***"
SHORTEST = 4
"""A shorter value is not looked for: it would be found in every second word."""
_SHORT_WORD = 12
_MASK = re.compile(r"[.*\s]*")

# No letter may follow: how many tokens there were, or who tokenizes, is no secret.
_NAME = (
    r"(?:passw(?:or)?d|passphrase|(?<![A-Za-z])(?:pwd|pass)|secret|token|credentials?"
    r"|(?-i:(?<=[a-z0-9])(?:Pass|Pwd))|jaas[._-]?config"
    r"|(?:secret|access|api|private|account|encryption|keystore)[._-]?key(?:[._-]?id)?)(?![A-Za-z])"
)
_NAMES_A_SECRET = re.compile(_NAME, re.IGNORECASE)
# dbPass and db.pwd do, and PWD is where a program works.
_ENDS_AS_ONE = re.compile(r"(?:pass|Pass|PASS|pwd|Pwd)\Z")
_IS_A_PLACE = re.compile(r"(?:\A|\W)PWD\Z")
# These say where a secret comes from, or whether: fs.s3a.aws.credentials.provider is a class.
_TELLS_OF_ONE = re.compile(r"(?:enabled|providers?|class|path|file|type)\Z", re.IGNORECASE)
# A text in quotation marks as JSON, SQL and Python write it, and as JSON within JSON does; without
# its end it goes on to that of the line. Repeats keep what they took (*+, ++): a text of somebody
# else's must not keep us busy with trying it in ever more ways.
_QUOTED = (
    r"[A-Za-z]{0,2}+(?:"
    r"\"(?:[^\"\\]|\\[\s\S]|\"\")*+\""
    r"|'(?:[^'\\]|\\[\s\S]|'')*+'"
    r"|\\(?P<mark>[\"'])(?:\\{4}|\\{3}[\"']|\\{1,2}[^\"'\\]|(?!(?P=mark))[^\\])*+\\(?P=mark)"
    r"|\\?[\"'][^\n]*+)"
)
_MORE_QUOTED = re.sub("mark", "next_mark", _QUOTED)
_NAMED = re.compile(
    # password = 'x', and password#3 in a plan of Spark's; or password IN ('x', 'y')
    rf"(?P<name>{_NAME}(?:[_.-]?\d{{1,4}})?+(?:\#\d{{1,9}})?+\\?[\"'`]?(?:"
    r"\s*+(?><=>|<>|!=+|={1,3}>?|:=?)\s*+"
    r"|(?P<listed>\s++(?:not\s++)?+(?:[ir]?like|regexp|between|in\s*+\()\s*+"
    r"(?=[A-Za-z]{0,2}\\?[\"'])|\s++(?:(?-i:NOT)\s++)?+(?-i:IN)\s*+\()))"
    # A value that is dots or stars stands for one: "write password=..." must stay as it is.
    r"(?!(?:\.{3,}+|\*{3,}+)(?:[\s\"'\\,;:&.(){}\[\]<>]|\Z))"
    rf"(?P<value>(?(listed)(?:{_QUOTED}(?:\s*+(?:,|and\b)\s*+{_MORE_QUOTED})*+|[^()\n]++)"
    rf"|(?:{_QUOTED.replace('mark', 'own_mark')}"
    # A password may have commas and brackets; those at its end are the sentence's.
    r"|[^\s\"';&<>]*[^\s\"';&<>,(){}\[\]]|[^\s\"';&<>,(){}\[\]])))",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"\A[A-Za-z]{0,2}(?=\\?[\"'])")
_ESCAPED = re.compile(r"\\(.)|(['\"])\2", re.DOTALL)
_MAY_END = re.compile(r"[,(){}\[\]]")
_SHAPES = (
    # scheme://user:password@host
    (re.compile(r"(?<=://)[^/\s:@\"']*+:[^/\s\"']+@"), f"{HIDDEN}@"),
    # https://token@host; elsewhere that is a user, or a container: abfss://data@account
    (re.compile(r"\b(https?://)[^/\s:@\"'?#]++@", re.IGNORECASE), rf"\1{HIDDEN}@"),
    (re.compile(r"\b(jdbc:oracle:\w++:)[^/\s@\"']++/[^\s@\"']++@", re.IGNORECASE), rf"\1{HIDDEN}@"),
    (re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL),
        HIDDEN,
    ),
)
# One look that is quick where there is nothing to hide, which is nearly always.
_SUSPECT = re.compile(
    rf"{_NAME}|://[^/\s]*@|jdbc:oracle:|\b(?:bearer|basic)\s|PRIVATE KEY", re.IGNORECASE
)


class _Known:
    """The values that are secret, and the one pattern that finds them all."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._changing = threading.Lock()
        self.pattern: re.Pattern[str] | None = None

    def add(self, values: Iterable[str]) -> None:
        with self._changing:
            new = {value for value in values if len(value) >= SHORTEST} - self._values
            if not new:
                return
            self._values |= new
            # The longest first: one secret may be the beginning of another.
            forms = sorted({f for v in self._values for f in _forms(v)}, key=len, reverse=True)
            self.pattern = re.compile("|".join(map(_sought, forms)))

    def forget(self) -> None:
        with self._changing:
            self._values, self.pattern = set(), None


_known = _Known()


def keep_secret(*values: object) -> None:
    """Hide these values in all that Penstock writes from now on, in this process.

    Sinks do so with their passwords, and a query with the options of its sources and the settings
    of its session whose names say that they are secret. Call it for any other. What is no
    text is hidden as Python writes it. Values shorter than four characters are not looked for.

    >>> keep_secret("correct horse")
    >>> redacted("login failed for 'correct horse'")
    "login failed for '***'"
    """
    told = [_as_text(value) for value in values if value is not None]
    given = [value for value in told if not _MASK.fullmatch(value)]
    # A setting of Kafka's is a sentence with the password in it.
    inner = [value for each in given for value in _named_in(each)]
    _known.add([*given, *(value for value in inner if not _MASK.fullmatch(value))])


def keep_secrets_of(options: Mapping[str, object]) -> None:
    """Hide the values of those options whose names say that they are secret.

    >>> keep_secrets_of({"user": "report", "sasl.jaas.config": 'x password="open sesame";'})
    >>> redacted("report said: open sesame")
    'report said: ***'
    """
    named = (name for name in options if names_a_secret(name) and not _TELLS_OF_ONE.search(name))
    keep_secret(*(str(options[name]) for name in named))
    # An address may hold one, whatever its option is called.
    keep_secret(*(found for value in options.values() for found in _in_address(str(value))))


def names_a_secret(name: str) -> bool:
    """Whether a setting of this name holds what nobody should read.

    >>> [names_a_secret(name) for name in ("fs.s3a.secret.key", "dbPass", "driver")]
    [True, True, False]
    """
    if _IS_A_PLACE.search(name):
        return False
    return (_NAMES_A_SECRET.search(name) or _ENDS_AS_ONE.search(name)) is not None


def redacted(text: str) -> str:
    """Return a text with its secrets hidden.

    >>> redacted("FATAL: no entry with user=report&password=s3cr3t for db.example")
    'FATAL: no entry with user=report&password=*** for db.example'
    >>> redacted("can't reach postgresql://report:s3cr3t@db/shop")
    "can't reach postgresql://***@db/shop"
    """
    if _known.pattern is not None:
        text = _known.pattern.sub(HIDDEN, text)
    if _SUSPECT.search(text) is None:
        return text
    text = _NAMED.sub(lambda found: found["name"] + HIDDEN, text)
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text


def redacted_within(value: object) -> object:
    """Return JSON values with the secrets of all texts in them hidden; the rest is as it was.

    >>> redacted_within({"detail": "token=abcdef", "rows": [1, 2]})
    {'detail': 'token=***', 'rows': [1, 2]}
    """
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {key: redacted_within(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_within(item) for item in value]
    return value


def may_hold_secret(text: str) -> bool:
    """Whether a closer look is needed; quick, for what is written all the time."""
    pattern = _known.pattern
    return _SUSPECT.search(text) is not None or (pattern is not None and bool(pattern.search(text)))


def logger(name: str) -> logging.Logger:
    """Return the logger of a part of Penstock, which hides secrets in what it is told."""
    found = logging.getLogger(name)
    if not any(isinstance(each, _Redacting) for each in found.filters):
        found.addFilter(_Redacting())
    return found


class _Redacting(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redacted(record.getMessage()), None
        if record.exc_info:
            # What is here already, a handler does not write anew.
            record.exc_text = redacted(logging.Formatter().formatException(record.exc_info))
        return True


def _in_address(value: str) -> list[str]:
    found = re.search(r"://[^/\s:@]*:([^/\s]+)@", value)
    return [*_named_in(value), *([found.group(1)] if found else [])]


def _named_in(text: str) -> list[str]:
    """Return what a text calls a secret: as a whole, and up to where it may end as well."""
    values = (_PREFIX.sub("", found["value"]) for found in _NAMED.finditer(text))
    whole = [value.strip("\"'\\") for value in values]
    plain = [_ESCAPED.sub(r"\1\2", value) for value in whole]
    return [*whole, *plain, *(_MAY_END.split(each, maxsplit=1)[0] for each in whole)]


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def _forms(secret: str) -> set[str]:
    """Return a secret as it stands in plain text, in addresses, in JSON, in pages and in repr."""
    return {
        secret,
        quote(secret, safe="", errors="replace"),
        quote_plus(secret, errors="replace"),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        html.escape(secret),
        repr(secret)[1:-1],
    }


def _sought(secret: str) -> str:
    # "test" is a poor password, and must not make "latest" unreadable.
    if len(secret) < _SHORT_WORD and re.fullmatch(r"\w+", secret):
        return rf"(?<!\w){re.escape(secret)}(?!\w)"
    return re.escape(secret)
