"""Numbers of all operators of a query over time, taken in a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

from penstock.history.growing_table import (
    COUNT,
    MOST_ROWS,
    Buckets,
    GrowingTable,
    Merge,
    put_together,
)
from penstock.history.quick_lines import OperatorNumbers

_PER_BATCH = {"at": Merge.LAST, "span": Merge.SUM}
# In the order in which ``append`` tells them. The balance of several batches can't be told from the
# slowest and the mean task of them all, so that each batch has its own.
_PER_OPERATOR = {
    "rows_in": Merge.SUM,
    "rows_out": Merge.SUM,
    "tasks": Merge.MEAN,
    "busy": Merge.SUM,
    "slowest": Merge.MAX,
    "mean": Merge.MEAN,
    "failed": Merge.SUM,
    "balance": Merge.MEAN,
}
_COLUMNS = (*_PER_BATCH, COUNT, *_PER_OPERATOR)
MOST_OPERATORS = 500
MOST_BLOCKS = 20
# A day of seconds of a dozen operators; of more operators, as much less.
_MOST_CELLS = 12_000_000


class OperatorTables:
    """One wide table for as long as the operators are the same: a batch is one row of it.

    Columns of an operator are ``at``, ``span`` (the time since the batch before ended), rows in and
    out, tasks, ``busy`` seconds summed over them, the ``slowest`` and the ``mean`` task in seconds,
    ``failed`` rows, and ``balance``: the slowest task over the mean one of the same batch, NaN
    where no task ran. ``count`` is how many batches a row stands for.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[tuple[str, ...], GrowingTable]] = []
        self._names: list[str] = []

    @property
    def names(self) -> list[str]:
        """The operators of the newest batch."""
        return list(self._names)

    def append(self, ended: float, span: float, operators: Sequence[OperatorNumbers]) -> None:
        """Take in what the operators did in one batch; some logs tell of none."""
        if not operators:
            return
        if len(operators) > MOST_OPERATORS:
            operators = operators[:MOST_OPERATORS]
        if [each.name for each in operators] != self._names:
            self._begin([each.name for each in operators])
        row = [ended, span]
        for each in operators:
            slowest, mean = each.slowest_task_seconds, each.mean_task_seconds
            row += (
                each.rows_in,
                each.rows_out,
                each.tasks,
                each.busy_seconds,
                slowest,
                mean,
                each.failed_rows,
                slowest / mean if mean > 0 else nan,
            )
        self._blocks[-1][1].append(row)

    def buckets(self, name: str, since_seconds: float, until_seconds: float, most: int) -> Buckets:
        """Put together what one operator did, in ``most`` stretches of time at most."""
        found = []
        for names, table in self._blocks:
            if name in names:
                number = names.index(name)
                columns = {column: column for column in (*_PER_BATCH, COUNT)} | {
                    column: f"{number}.{column}" for column in _PER_OPERATOR
                }
                found.append(table.buckets(since_seconds, until_seconds, most, columns))
        if not found:
            return Buckets(dict.fromkeys(_COLUMNS, np.empty(0)))
        joined = {
            column: np.concatenate([each[column] for each in found]) for column in found[0].columns
        }
        order = np.argsort(joined["at"], kind="stable")
        return Buckets({column: values[order] for column, values in joined.items()})

    def balance(self, name: str, since_seconds: float, until_seconds: float, most: int) -> Buckets:
        """Return the slowest task over the mean one of the same batch: ``at``, ``balance``.

        Stretches with several batches have the mean of theirs. Where no task ran it is NaN.
        """
        rows = self.buckets(name, since_seconds, until_seconds, MOST_BLOCKS * MOST_ROWS)
        cells = np.column_stack((rows["at"], rows["balance"]))
        made = put_together(cells, rows["at"], rows[COUNT], (Merge.LAST, Merge.MEAN), most)
        return Buckets({"at": made[:, 0], "balance": made[:, 1]})

    def last(self, name: str) -> dict[str, float]:
        """Return the newest row of an operator by column; NaN where there is none."""
        for names, table in reversed(self._blocks):
            if name in names:
                number, row = names.index(name), table.last()
                return {column: row[column] for column in (*_PER_BATCH, COUNT)} | {
                    column: row[f"{number}.{column}"] for column in _PER_OPERATOR
                }
        return dict.fromkeys(_COLUMNS, nan)

    def _begin(self, names: list[str]) -> None:
        self._names = names
        for number, (known, _) in enumerate(self._blocks):
            if list(known) == names:  # they come and go: what there was is taken up
                self._blocks.append(self._blocks.pop(number))
                return
        columns = dict(_PER_BATCH)
        for number in range(len(names)):
            columns |= {f"{number}.{column}": merge for column, merge in _PER_OPERATOR.items()}
        table = GrowingTable(columns, min(MOST_ROWS, _MOST_CELLS // len(columns)))
        self._blocks = [*self._blocks[1 - MOST_BLOCKS :], (tuple(names), table)]
