"""What calls took, gathered by key in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

import penstock as ps
from penstock.engine.call_costs import CallCosts, CostKey
from penstock.engine.key_loads import HEAVIEST, LoadsByKey
from penstock.errors import TopologyError
from penstock.placement.attribution import SLICED_ROWS, SlicedCosts, attributed
from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_model import TaskCosts
from penstock.placement.hashing import key_hashes

MS = 1_000_000


def gathering(placement: CostAware | None = None) -> CallCosts:
    return CostKey(("k",), (placement or CostAware()).sketch()).begin()


def batch(keys: list[str | None]) -> pa.RecordBatch:
    return pa.record_batch({"id": list(range(len(keys))), "k": pa.array(keys, pa.string())})


def test_what_calls_share_is_shared_equally() -> None:
    """Calls of 4 and 1 ms in 9 ms: the rest is 2 ms each."""
    costs = gathering()
    costs.add_calls(batch(["a", None]), [4 * MS, 1 * MS], busy_nanos=9 * MS)
    found = costs.result()
    assert isinstance(found, TaskCosts)
    assert found.sketch.estimate(key_hashes(["a", None])).tolist() == pytest.approx([0.006, 0.003])
    assert found.squares == pytest.approx(0.006**2 + 0.003**2)
    assert found.sketch.total_rows == 2


def test_a_batch_of_which_some_rows_could_not_be_read_tells_nothing() -> None:
    costs = gathering()
    costs.add_calls(batch(["a", "b"]), [MS], 2 * MS)
    costs.add_calls(batch([]), [], MS)
    found = costs.result()
    assert isinstance(found, TaskCosts)
    assert found.sketch.total_rows == 0


def test_tasks_of_one_process_name_the_same_executor() -> None:
    assert gathering().result().executor == gathering().result().executor != ""


def test_no_more_calls_are_sent_along_than_tell_enough() -> None:
    costs = gathering()
    for _ in range(5):
        costs.add_slices(batch(["a"] * (SLICED_ROWS // 2)), [SLICED_ROWS // 2], [MS])
    found = costs.result()
    assert isinstance(found, SlicedCosts)
    assert found.cells.shape[1] == found.lengths.sum() == SLICED_ROWS
    assert found.seconds.tolist() == [0.001] * 2


@pytest.mark.parametrize("epsilon", [0.005, 0.00002])
def test_keys_of_calls_are_found_again_however_many_columns_a_sketch_has(epsilon: float) -> None:
    """A finer sketch has more columns than 16 bits can name."""
    placement = CostAware(epsilon=epsilon)
    names = [f"key {number}" for number in range(64)]
    costs = gathering(placement)
    costs.add_slices(batch(names), [1] * 64, [MS * number for number in range(1, 65)])
    sliced = costs.result()
    assert isinstance(sliced, SlicedCosts)
    (found,) = attributed([sliced], placement.sketch(), None)
    estimates = found.sketch.estimate(key_hashes(names))
    assert np.median(np.abs(estimates - np.arange(1, 65) / 1_000)) < 1e-9


def test_loads_are_by_group_and_the_heaviest_keys_stay_few() -> None:
    loads = LoadsByKey(groups=8)
    for key in range(-50, 50):
        loads.add(key, abs(key) * MS)
        loads.add(key, abs(key) * MS)
    found = loads.result()
    assert found.groups[3] == pytest.approx(
        sum(2 * abs(key) for key in range(-50, 50) if key % 8 == 3) / 1_000
    )
    assert len(found.heaviest) == HEAVIEST
    assert found.heaviest[-50] == pytest.approx(0.1)
    assert min(found.heaviest.values()) >= 0.068


@pytest.mark.parametrize("key", ["user", ["k", "user"], [], ["k", 3], 3])
def test_a_cost_key_that_is_no_column_is_refused(feed: Callable[..., DataFrame], key: Any) -> None:
    s = ps.Stream.read(feed([pa.table({"id": [1], "k": [2]})]))
    with pytest.raises(TopologyError, match="cost_key"):
        s.map(lambda row: row, "id bigint", cost_key=key, name="slow")
    with pytest.raises(TopologyError, match="cost_key"):
        s.map_batches(lambda batch: batch, "id bigint", cost_key=key, name="slow")
