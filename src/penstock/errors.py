"""Errors for the person who made the mistake: what was wrong, where, and what to write instead."""

from __future__ import annotations

from penstock.secrets import redacted


class PenstockError(Exception):
    """Base of every error that Penstock raises on purpose; no message of one holds a secret.

    What a database or a user's function said often ends up in a message, and what they say may
    hold the password that they were given.
    """

    def __init__(self, *told: object) -> None:
        super().__init__(*(redacted(each) if isinstance(each, str) else each for each in told))


class TopologyError(PenstockError):
    """The topology cannot run as written.

    The message names the operator and says what to write instead.
    """

    def __init__(self, operator: str, problem: str, remedy: str) -> None:
        self.operator = operator
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"operator '{operator}': {problem}. {remedy}")


class CheckpointError(PenstockError):
    """A checkpoint cannot be read, or belongs to another topology."""


class ConfigurationError(PenstockError):
    """A setting, path or session that cannot work, with what to set instead."""


class ArgumentError(ConfigurationError, ValueError):
    """An argument that a function can't use; a ValueError too, as Python calls it."""


class SinkError(PenstockError):
    """A sink refused or failed to take a batch."""


class SinkUnavailable(SinkError):
    """Where a sink writes to is away for now, and may come back.

    The engine sends the batch again after a while. A sink of yours may raise it too, if taking the
    same batch again leaves things as if it had come once.
    """


class QueryError(PenstockError):
    """A running query stopped because of a failure that is not a user function's.

    ``report`` is all that Spark said of it, stacks and plans included, where there is more.
    """

    def __init__(self, message: str, report: str = "") -> None:
        self.report = redacted(report)
        super().__init__(message)


NOT_KNOWN = "(not known)"
"""The row, where nobody knows on which one a function failed."""


class OperatorError(QueryError):
    """A user function failed on a row, or an aggregate on a key, and the query stopped.

    Attributes
    ----------
    operator
        The operator's name.
    row
        The row, or the aggregate's key, as JSON, cut to 1 kB.
    error, reason
        The type of the user's exception and its text.
    user_traceback
        The traceback inside the user's function.
    method
        The aggregate's method; None for a row.
    where
        The row or the key in words; nothing where it is not known.
    remedy
        What to write instead; nothing where ``reason`` says so itself.

    """

    def __init__(
        self,
        operator: str,
        row: str,
        error: str,
        reason: str,
        user_traceback: str,
        method: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.operator = operator
        self.method = method
        row, reason, user_traceback = map(redacted, (row, reason, user_traceback))
        self.row = row
        self.error = error
        self.reason = reason
        self.user_traceback = user_traceback
        if method is None:
            self.where = "" if row == NOT_KNOWN else f"on the row {row}"
            usual = "To keep going past bad rows, write on_error='dead_letter' on that operator."
        else:
            self.where = f"in {method}, for the key {row}"
            usual = "To keep going, catch it there, or filter such rows out before the window."
        self.remedy = usual if remedy is None else remedy
        super().__init__(
            f"operator '{operator}' failed with {error}: {reason}\n"
            f"{self.where}\n{user_traceback}{self.remedy}"
        )


def first_line(error: object) -> str:
    r"""Take the first line of a message: Spark's and Java's go on with stacks and plans.

    >>> first_line("\n[NO_SUCH_TABLE] there is no table t\n== plan ==")
    '[NO_SUCH_TABLE] there is no table t'
    """
    lines = [line.strip() for line in text_of(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def text_of(value: object) -> str:
    r"""Return ``str(value)`` as text that can be written, even where ``str`` itself fails.

    >>> text_of(ValueError("half a pair: \ud83d"))
    'half a pair: ?'
    """
    try:
        return sound(str(value))
    except Exception:
        return f"(a {type(value).__name__} that cannot be written as text)"


def sound(text: str) -> str:
    """A lone surrogate is a fine character for Python, but no encoding has one."""
    return text.encode(errors="replace").decode()
