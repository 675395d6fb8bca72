"""Reads the lines of a journal as fast as a page wants to open: a day of batches in two seconds.

Most of a journal is batches, and of each batch a history keeps a few numbers. So these alone are
decoded, into structs; other kinds become the very dataclasses that they were written from. Whatever
does not look as Penstock writes it is left to the exact reader, which also says what is wrong.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import msgspec

from penstock.journal.events import KINDS, BatchFinished, SourceProgress
from penstock.journal.lines import SCHEMA_VERSION
from penstock.journal.reader import RawLine

_HEAD = re.compile(
    rb'\{"v":%d,"seq":\d+,"at":(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?),"kind":"(\w+)"' % SCHEMA_VERSION
)
# What the quick way would take for a whole number that fits, but not the digits of a fraction: any
# measured time has as many. Before the first digit of a number JSON has nothing but these.
_HUGE = re.compile(rb"[-:,\[ \t\r]\d{19}")
# Half a character, as in names of files that are no UTF-8: no page could be sent with one.
_ESCAPED = re.compile(rb"\\\\|\\ud[89ab]..\\ud[c-f]..|(?P<half>\\ud[89a-f]..)", re.IGNORECASE)
# Of these there is one for every batch, and nothing in them that a batch does not tell as well.
_PASSED_OVER = SourceProgress.__name__.encode()
_BATCH = BatchFinished.__name__.encode()


class OperatorNumbers(msgspec.Struct, gc=False):
    """What a history keeps of one operator in one batch."""

    name: str
    rows_in: int
    rows_out: int
    tasks: int
    busy_seconds: float
    slowest_task_seconds: float
    mean_task_seconds: float
    failed_rows: int = 0


class SourceNumbers(msgspec.Struct, gc=False):
    """What a history keeps of one source in one batch."""

    name: str
    rows: int
    waiting_rows: int | None = None


class ObservedNumbers(msgspec.Struct, gc=False):
    """What a history keeps of what was measured in a batch."""

    batch_id: int
    slots: int
    at_seconds: float | None = None
    batch_seconds: float | None = None
    trigger_seconds: float | None = None
    operators: list[OperatorNumbers] = []
    sources: list[SourceNumbers] = []
    jobs: int = 0
    used_slots: int | None = None
    most_slots: int | None = None


class BatchNumbers(msgspec.Struct, gc=False):
    """What a history keeps of a ``BatchFinished``."""

    observation: ObservedNumbers
    watermark_seconds: float | None = None
    query: str | None = None


class Told(NamedTuple):
    """What a line says, and when; a line that a history has no use for has the body None."""

    at_seconds: float
    body: Any


_DECODERS = {name.encode(): msgspec.json.Decoder(kind) for name, kind in KINDS.items()}
_DECODERS[_BATCH] = msgspec.json.Decoder(BatchNumbers)


def quick(line: RawLine) -> Told:
    r"""Read a line; a batch comes as :class:`BatchNumbers`, all else as what a journal knows.

    >>> from pathlib import Path
    >>> text = b'{"v":1,"seq":7,"at":12.5,"kind":"BatchSkipped","batch_id":3}\n'
    >>> quick(RawLine(Path("journal-00000001.jsonl"), 1, text))
    Told(at_seconds=12.5, body=BatchSkipped(batch_id=3))
    """
    if b"\\u" in line.text:
        line = line._replace(text=_ESCAPED.sub(_whole, line.text))
    head = _HEAD.match(line.text)
    if head is None or not line.text.endswith(b"\n") or _HUGE.search(line.text):
        return _exact(line)
    if head[2] == _PASSED_OVER:
        return Told(float(head[1]), None)
    decoder = _DECODERS.get(head[2])
    if decoder is None:
        return _exact(line)
    try:
        return Told(float(head[1]), decoder.decode(line.text))
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError):
        return _exact(line)


def _whole(escaped: re.Match[bytes]) -> bytes:
    """Put the mark of a character that is not known in the place of half a one."""
    return rb"\ufffd" if escaped["half"] else escaped[0]


def _exact(line: RawLine) -> Told:
    event = line.event()
    body = event.body
    if isinstance(body, BatchFinished):
        return Told(event.at_seconds, _numbers(body))
    return Told(event.at_seconds, body)


def _numbers(batch: BatchFinished) -> BatchNumbers:
    """Keep of an exactly read batch what a quickly read one has."""
    seen = batch.observation
    return BatchNumbers(
        ObservedNumbers(
            batch_id=seen.batch_id,
            slots=seen.slots,
            at_seconds=_known(seen.at_seconds),
            batch_seconds=_known(seen.batch_seconds),
            trigger_seconds=_known(seen.trigger_seconds),
            operators=[
                OperatorNumbers(
                    name=each.name,
                    rows_in=each.rows_in,
                    rows_out=each.rows_out,
                    tasks=each.tasks,
                    busy_seconds=each.busy_seconds,
                    slowest_task_seconds=each.slowest_task_seconds,
                    mean_task_seconds=each.mean_task_seconds,
                    failed_rows=each.failed_rows,
                )
                for each in seen.operators
            ],
            sources=[SourceNumbers(s.name, s.rows, s.waiting_rows) for s in seen.sources],
            jobs=seen.jobs,
            used_slots=seen.used_slots,
            most_slots=seen.most_slots,
        ),
        _known(batch.watermark_seconds),
        batch.query,
    )


def _known(number: float | None) -> float | None:
    return None if number is None or math.isnan(number) else number
