"""What a sink raised that nobody foresaw, told to whoever wrote it."""

from __future__ import annotations

import traceback
from pathlib import Path

import penstock
from penstock.errors import QueryError, text_of
from penstock.sinks.sink import Sink

_OURS = str(Path(penstock.__file__).parent)


def sink_failure(sink: Sink, error: Exception) -> QueryError:
    """Return the error for a sink that failed: which one, of what, and where in the user's code."""
    said = f"{sink.describe()} failed with {type(error).__name__}: {text_of(error).rstrip('.')}"
    return QueryError(
        f"{said}{_place(error)}. The micro-batch is not committed. Mend that, then start the query "
        "again with the same checkpoint; the micro-batch is run once more.",
        "".join(traceback.format_exception(error)),
    )


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = next((each for each in frames if not each.filename.startswith(_OURS)), None)
    return "" if theirs is None else f" ({theirs.filename} line {theirs.lineno})"
