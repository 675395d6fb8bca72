"""How a failed row is written down: as JSON, with the error's text and traceback, cut to size.

Nothing here may raise, whatever the row or the error is: what is lost here stops a query.
"""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from penstock.errors import sound, text_of
from penstock.secrets import redacted

MESSAGE_LIMIT_BYTES = 2_048
TRACEBACK_LIMIT_BYTES = 8_192


def failure(operator: str, row: str, error: BaseException) -> dict[str, str]:
    """Return what went wrong with a row, as the fields of a dead letter."""
    return {
        "operator": operator,
        "error": sound(type(error).__name__),
        "message": _head(redacted(text_of(error)), MESSAGE_LIMIT_BYTES),
        "row": row,
        "traceback": _traceback(error),
    }


def _traceback(error: BaseException) -> str:
    # The first frame is ours; a person wants to see theirs.
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    try:
        lines = traceback.format_exception(type(error), error, frames)
    except Exception:
        lines = [f"{type(error).__name__}: {text_of(error)}"]
    # A long message is the last line: cut whole, it would leave nothing of the frames above.
    text = "".join(_head(redacted(sound(line)), MESSAGE_LIMIT_BYTES, end="...\n") for line in lines)
    return _tail(text, TRACEBACK_LIMIT_BYTES)


def _head(text: str, limit: int, end: str = "...") -> str:
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[: limit - len(end)].decode(errors="ignore") + end


def _tail(text: str, limit: int) -> str:
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return "..." + encoded[len(encoded) - limit + 3 :].decode(errors="ignore")


def as_json(row: Any, limit: int | None = None) -> str:
    """Write a row for people and for dead letters, cut to ``limit`` bytes where asked.

    >>> from datetime import date
    >>> as_json({"x": 1, "at": date(2026, 1, 2)})
    '{"x": 1, "at": "2026-01-02"}'
    """
    try:
        text = json.dumps(row, default=_plain, ensure_ascii=False, allow_nan=False)
    except Exception:  # JSON has no NaN, no infinity, and no keys but text
        try:
            text = json.dumps(_in_json(row), default=_plain, ensure_ascii=False)
        except Exception:
            text = json.dumps(text_of(row), ensure_ascii=False)
    text = sound(text)
    return text if limit is None else _head(text, limit)


def _in_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {_key(key): _in_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_in_json(item) for item in value]
    return value


def _key(key: Any) -> Any:
    if key is None or isinstance(key, str | bool | int):
        return key
    return str(key) if isinstance(key, float) else _plain(key)


def _plain(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.isoformat()
    return text_of(value)
