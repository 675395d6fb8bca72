"""One line of a journal: an event with its number and its time, as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from penstock.arguments import checked
from penstock.errors import ConfigurationError
from penstock.journal.codec import decode, encode
from penstock.journal.events import KINDS, CorruptLine, KnownEvent, UnknownEvent
from penstock.secrets import may_hold_secret, redacted_within

SCHEMA_VERSION = 1

ENVELOPE_KEYS = ("v", "seq", "at", "kind")


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a journal: the ``seq``-th since the journal began, at ``at_seconds`` (epoch).

    Numbers go up by one from line to line, also across restarts; a gap means that segments were
    deleted. A :class:`CorruptLine` has the number 0 and the time NaN, since nobody knows them.
    """

    seq: int
    at_seconds: float
    body: KnownEvent | UnknownEvent | CorruptLine


@checked
def to_json(event: Event) -> str:
    """Write an event as one line of JSON, without the line's end.

    Fields that have their default are left out, and so is what a day of batches would repeat.
    Secrets in its texts are hidden.

    >>> from penstock.journal.events import BatchSkipped, QueryStopped
    >>> to_json(Event(7, 12.5, BatchSkipped(batch_id=3)))
    '{"v":1,"seq":7,"at":12.5,"kind":"BatchSkipped","batch_id":3}'
    >>> to_json(Event(8, 13.5, QueryStopped("ended", error=None)))
    '{"v":1,"seq":8,"at":13.5,"kind":"QueryStopped","reason":"ended"}'
    """
    body = event.body
    if isinstance(body, UnknownEvent):
        kind, content = body.kind, encode(body.fields)
    elif type(body).__name__ in KINDS:
        kind, content = type(body).__name__, encode(body, without_defaults=True)
    else:
        raise TypeError(f"{type(body).__name__} is not an event that a journal can hold")
    assert isinstance(content, dict)
    head = {"v": SCHEMA_VERSION, "seq": event.seq, "at": encode(event.at_seconds), "kind": kind}
    # The envelope comes last in the merge too: no field may pass for a sequence number.
    whole = {**head, **content, **head}
    line = json.dumps(whole, separators=(",", ":"), allow_nan=False)
    if not may_hold_secret(line):
        return line
    return json.dumps(redacted_within(whole), separators=(",", ":"), allow_nan=False)


def from_json(line: str | bytes, where: str = "this line") -> Event:
    """Read one line; ``where`` names it in the error about a journal that is too new.

    Raises ConfigurationError for a newer schema and ValueError for a line that is no event.

    >>> from_json('{"v":1,"seq":7,"at":12.5,"kind":"BatchSkipped","batch_id":3,"new":true}')
    Event(seq=7, at_seconds=12.5, body=BatchSkipped(batch_id=3))
    >>> from_json('{"v":1,"seq":8,"at":13,"kind":"Novelty","depth":2}').body
    UnknownEvent(kind='Novelty', fields={'depth': 2})
    """
    raw = _parse(line)
    _refuse_newer(raw.get("v"), where)
    for key in ENVELOPE_KEYS:
        if key not in raw:
            raise ValueError(f"it has no '{key}'")
    seq, at_seconds = decode(int, raw["seq"]), decode(float, raw["at"])
    kind = decode(str, raw["kind"])
    if kind in KINDS:
        return Event(seq, at_seconds, decode(KINDS[kind], raw))
    unknown = {key: value for key, value in raw.items() if key not in ENVELOPE_KEYS}
    return Event(seq, at_seconds, UnknownEvent(kind, unknown))


def _parse(line: str | bytes) -> dict[str, object]:
    try:
        raw = json.loads(line.decode() if isinstance(line, bytes) else line)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except TypeError:
        raise ValueError("it is no text") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(raw, dict):
        raise ValueError("it is not a JSON object")
    return raw


def _refuse_newer(version: object, where: str) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError(f"its schema version 'v' is {version!r:.80}")
    if version > SCHEMA_VERSION:
        raise ConfigurationError(
            f"{where}: this journal was written with schema {version}, and this Penstock reads "
            f"schemas up to {SCHEMA_VERSION}. Read it with the Penstock that wrote it, or a newer "
            "one (pip install --upgrade penstock)."
        )
