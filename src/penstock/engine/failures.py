"""From the error that Spark reports to the one that a person needs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from penstock.arguments import shown_path
from penstock.engine.damaged_files import damaged_file
from penstock.engine.full_disk import full_disk
from penstock.engine.python_step import ERROR_MARK, LETTER_FIELDS
from penstock.errors import (
    CheckpointError,
    ConfigurationError,
    OperatorError,
    PenstockError,
    QueryError,
    first_line,
)

# What a Python worker says of a checkpoint comes to the driver in the text of a traceback.
_DAMAGED = re.compile(r"penstock\.errors\.CheckpointError: (.+)")
_WORKER_DIED = re.compile(r"Python worker exited unexpectedly|Connection reset.*PythonRunner")
_UNSENT = re.compile(r"Could not serialize object: (.+)")
# Not of a row: a function could not even be loaded, or what it is in.
_WORKER_FAILED = re.compile(
    r"An exception was thrown from the Python worker:\s+"
    r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)"
)
_STACK = re.compile(r"^\s*(at [\w.$/<>]+\(|\.\.\. \d+ more)", re.MULTILINE)
_CAUSE = re.compile(r"^Caused by: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
_CLASSES = re.compile(r"\A(?:(?:[\w$]+\.)+[\w$]+: )+")
_PLAN = "=== Streaming Query ==="
_AGAIN = "Start the query again with the same checkpoint; the micro-batch is run once more."


def as_query_error(error: BaseException, places: Sequence[str] = ()) -> PenstockError:
    """Find the user's own failure in Spark's report; else keep what Spark says, without stacks.

    ``places`` are where the query writes, the checkpoint first.
    """
    if isinstance(error, PenstockError):
        return error
    return known_failure(error, places) or _in_short(str(error) or type(error).__name__)


def known_failure(error: BaseException, places: Sequence[str]) -> PenstockError | None:
    """Return the error that a person needs, None where it is of no known kind."""
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
    if _WORKER_DIED.search(text):
        return QueryError(
            "a Python worker died in the middle of a task: it was killed, ran out of memory, or a "
            f"native library crashed. {_AGAIN} If it comes back, lower "
            "spark.sql.execution.arrow.maxRecordsPerBatch, and let Spark try a task more than "
            "once: spark.task.maxFailures on a cluster, local[4,3] on this machine.",
            text,
        )
    return full_disk(text, places) or damaged_file(text, places) or _of_a_function(text)


def _of_a_function(text: str) -> QueryError | None:
    if unsent := _UNSENT.match(text):
        return QueryError(
            f"a function can't be sent to Python workers: {unsent.group(1).rstrip('.')}. Make "
            "connections, locks and sessions inside of the function, where it needs them.",
            text,
        )
    if failed := _WORKER_FAILED.search(text):
        is_missing = "No module named" in failed.group(1)
        send = "Install it where Python workers run, or send it: spark.sparkContext.addPyFile(...)."
        return QueryError(
            f"a Python worker failed with {failed.group(1).rstrip('.')}. "
            f"{send if is_missing else _AGAIN}",
            text,
        )
    return None


def refused_start(error: BaseException) -> PenstockError | None:
    """Return the error for a start that a disk or Spark refuses, None for an error of the user's.

    >>> str(refused_start(FileNotFoundError(2, "No such file or directory", "/proc/none")))
    "'/proc/none' can't be used: No such file or directory. Name another place, or mend that."
    """
    if not isinstance(error, OSError):
        return ConfigurationError(f"Spark does not start the query: {spark_says(error)}")
    if error.filename is None:
        return None
    return ConfigurationError(
        f"{shown_path(error.filename)} can't be used: {error.strerror}. Name another place, or "
        "mend that."
    )


def spark_says(error: BaseException) -> str:
    """Return what Spark or Hadoop says went wrong, on a line, without the classes that say it."""
    return _CLASSES.sub("", first_line(_without_stacks(str(error))))


def _in_short(text: str) -> QueryError:
    if _STACK.search(text) is None and _PLAN not in text:
        return QueryError(text)
    return QueryError(f"{_without_stacks(text)} {_AGAIN}", text)


def _without_stacks(text: str) -> str:
    """Keep the first thing that Spark says, and the cause of it all; stacks are for its log."""
    stack = _STACK.search(text)
    before = text[: stack.start() if stack else len(text)].split(_PLAN, maxsplit=1)[0]
    lines = [line.strip().removeprefix(": ") for line in before.splitlines()]
    first = next((ln for ln in lines if ln and not ln.startswith("An error occurred while")), "")
    cause = _CAUSE.findall(text)[-1:]
    told = [first, *(each for each in cause if each not in first)]
    return " Its cause: ".join(told)


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
