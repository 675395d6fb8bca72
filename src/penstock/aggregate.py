"""Aggregate: the base class of aggregates that users write themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:  # Spark's Python workers import this module and have no need of more
    from pyspark.sql.types import StructType


class Aggregate:
    """An aggregate of your own: ``compute`` a state, ``consolidate`` states, ``finish`` a result.

    ``state`` declares the columns of the state and ``result`` those of the result. ``columns``
    names the columns that ``compute`` reads; without it, it gets all of them.

    The rows of a key come in pieces of any size and any order, and states are consolidated in any
    order and grouping. The result must not depend on that; it then is the same whatever the
    number of tasks, and after a restart.

    >>> class Spread(Aggregate):
    ...     state = pa.schema([("low", pa.float64()), ("high", pa.float64())])
    ...     result = "spread double"
    ...     columns = ("rate",)
    ...
    ...     def compute(self, state, batch):
    ...         rates = [batch["rate"]] if state is None else [batch["rate"], *state.columns]
    ...         return self._bounds(rates)
    ...
    ...     def consolidate(self, states):
    ...         return self._bounds([column for state in states for column in state.columns])
    ...
    ...     def finish(self, state):
    ...         row = state.to_pylist()[0]
    ...         return {"spread": row["high"] - row["low"]}
    ...
    ...     def _bounds(self, columns):
    ...         bounds = pa.compute.min_max(pa.chunked_array(columns)).as_py()
    ...         return pa.RecordBatch.from_pydict({"low": [bounds["min"]], "high": [bounds["max"]]})
    >>> spread = Spread()
    >>> one = spread.compute(None, pa.RecordBatch.from_pydict({"rate": [2.0, 5.0]}))
    >>> other = spread.compute(None, pa.RecordBatch.from_pydict({"rate": [9.0]}))
    >>> spread.finish(spread.consolidate([one, other]))
    {'spread': 7.0}
    """

    state: pa.Schema | str
    result: str | StructType
    columns: Sequence[str] | None = None

    def compute(self, state: pa.RecordBatch | None, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the state with some more rows in it, all of one key in one pane.

        ``state`` is None at first. The returned batch has the declared columns, and any number of
        rows.
        """
        raise NotImplementedError

    def consolidate(self, states: list[pa.RecordBatch]) -> pa.RecordBatch:
        """Return one state for two or more of one key, which hold different rows."""
        raise NotImplementedError

    def finish(
        self, state: pa.RecordBatch
    ) -> dict[str, Any] | list[dict[str, Any]] | pa.RecordBatch | None:
        """Return the result for a key in a window: a dict, a list of dicts, or a record batch.

        Without any rows in it (None, or an empty list) the window has no result for this key.
        """
        raise NotImplementedError
