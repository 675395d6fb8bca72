"""The states that one task has, put together by key where they are, with no exchange in the JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.aggregate_steps import STATE, keys_of
from penstock.engine.arrow_groups import grouped
from penstock.engine.preference_steps import WindowStep


@dataclass(frozen=True, slots=True)
class TaskStates:
    """Hands a window step the list of states that a task has of each key.

    Key columns come first, and the state after them. All states of the task are in memory, as all
    of one key are anyway; the rows in them are unpacked for a few keys at a time, as many as have
    about ``bytes_at_once``.
    """

    step: WindowStep
    bytes_at_once: int = 64 << 20

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merge all states of each key that the task has."""
        return self.step(self._lists(batches))

    def _lists(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        keys = pa.concat_batches([keys_of(batch, self.step.key_columns) for batch in held])
        # Together they may be longer than the offsets of Arrow's short binary type can say.
        wide = [batch.column(self.step.key_columns).cast(pa.large_binary()) for batch in held]
        states = pa.concat_arrays(wide)
        groups = grouped(keys.columns, keys.num_rows)
        ends = pa.array(groups.starts.astype(np.int32))
        lists = pa.ListArray.from_arrays(ends, states.take(pa.array(groups.order)))
        firsts = keys.take(pa.array(groups.order[groups.starts[:-1]]))
        names = [*firsts.schema.names, STATE]
        batch = pa.RecordBatch.from_arrays([*firsts.columns, lists], names=names)
        sizes = np.asarray(pc.binary_length(states))[groups.order]
        before = np.concatenate([[0], np.cumsum(sizes)])[groups.starts[:-1]]
        cuts = np.flatnonzero(np.diff(before // self.bytes_at_once)) + 1
        for start, end in pairwise([0, *cuts.tolist(), batch.num_rows]):
            yield batch.slice(start, end - start)
