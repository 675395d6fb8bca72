"""From the error that Spark reports to the one that a person needs."""

from __future__ import annotations

import json
import re

from penstock.engine.python_step import ERROR_MARK, LETTER_FIELDS
from penstock.errors import CheckpointError, OperatorError, PenstockError, QueryError

# What a Python worker says of a checkpoint comes to the driver in the text of a traceback.
_DAMAGED = re.compile(r"penstock\.errors\.CheckpointError: (.+)")


def as_query_error(error: BaseException) -> PenstockError:
    """Find the user's own failure in Spark's report; else keep what Spark says."""
    if isinstance(error, PenstockError):
        return error
    text = str(error)
    failure = _row_failure(text)
    if failure is not None:
        return OperatorError(
            operator=failure["operator"],
            row=failure["row"],
            error=failure["error"],
            reason=failure["message"],
            user_traceback=failure["traceback"],
            method=failure.get("method"),
            remedy=failure.get("remedy"),
        )
    damaged = _DAMAGED.search(text)
    if damaged is not None:
        return CheckpointError(damaged.group(1))
    return QueryError(text or type(error).__name__)


def _row_failure(text: str) -> dict[str, str] | None:
    start = text.find(ERROR_MARK)
    if start < 0:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start + len(ERROR_MARK))
    except ValueError:
        return None
    if not isinstance(found, dict) or any(name not in found for name in LETTER_FIELDS):
        return None
    return found
