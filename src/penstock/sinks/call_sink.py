"""A function of the user's as a sink."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from penstock.errors import ConfigurationError


class CallSink:
    """Calls ``function(df, batch_id)`` for every batch.

    The function may get the same ``batch_id`` again after a crash, and must then leave things as if
    it had come once.
    """

    def __init__(self, function: Callable[[DataFrame, int], object]) -> None:
        if not callable(function):
            raise ConfigurationError(
                f"the call sink got {function!r}, which can't be called. "
                f"Give it a function of (df, batch_id)"
            )
        self._function = function

    def open(self, query_id: str) -> None:
        """Nothing to prepare."""

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Hand the batch over; what the function raises is not caught."""
        self._function(df, batch_id)

    def describe(self) -> str:
        """The function's name."""
        name = getattr(self._function, "__qualname__", type(self._function).__qualname__)
        return f"call({name})"
