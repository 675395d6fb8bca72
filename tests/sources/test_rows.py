from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.sources import ExponentialDelay, KeyCost, NoDelay, Trace, UniformDelay, ZipfKeys
from penstock.sources.rows import ARROW_SCHEMA, RowMaker
from penstock.sources.schedule import Schedule

TRACE = Trace(step_micros=(1_000_000, 30_000_000, 1_000_000), counts=(10_000, 50, 30_000))


def maker(**changes: Any) -> RowMaker:
    options: dict[str, Any] = {
        "schedule": Schedule(TRACE, loop=True),
        "keys": ZipfKeys(100, 1.0),
        "delays": NoDelay(),
        "cost": KeyCost(1, 64),
        "seed": 5,
        "origin_micros": 1_767_225_600_000_000,
    }
    return RowMaker(**(options | changes))


def rows_of(row_maker: RowMaker, first: int, end: int) -> pa.Table:
    return pa.Table.from_batches(row_maker.batches(first, end), ARROW_SCHEMA)


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(0, 60_000), max_size=6))
def test_rows_do_not_depend_on_how_they_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), 60_000]
    row_maker = maker(delays=UniformDelay(9, fraction=0.3))
    pieces = [rows_of(row_maker, *edge) for edge in pairwise(edges)]
    assert pa.concat_tables(pieces).equals(rows_of(row_maker, 0, 60_000))


def test_ids_are_the_row_numbers() -> None:
    ids = rows_of(maker(), 123, 50_000)["id"].to_pylist()
    assert ids == list(range(123, 50_000))


def test_event_times_per_step_give_the_trace_back() -> None:
    table = rows_of(maker(), 0, TRACE.rows)
    micros = table["ts"].cast(pa.int64()).to_numpy() - 1_767_225_600_000_000
    edges = np.cumsum((0, *TRACE.step_micros))
    assert np.histogram(micros, bins=edges)[0].tolist() == list(TRACE.counts)
    assert micros.max() < edges[-1]


def test_the_event_time_is_the_due_time_minus_the_delay() -> None:
    due = rows_of(maker(), 0, 5_000)["ts"].cast(pa.int64()).to_numpy()
    late = rows_of(maker(delays=ExponentialDelay(60)), 0, 5_000)["ts"].cast(pa.int64()).to_numpy()
    delays = due - late
    assert delays.min() >= 0
    # The mean of 5,000 exponential delays has a standard deviation of 60 / sqrt(5,000) seconds.
    assert abs(delays.mean() / 1e6 - 60) < 4 * 60 / np.sqrt(5_000)


def test_another_seed_gives_other_rows_of_the_same_schedule() -> None:
    ours, others = rows_of(maker(), 0, 1_000), rows_of(maker(seed=6), 0, 1_000)
    assert ours["ts"] == others["ts"]
    assert ours["key"] != others["key"]
    assert ours["value"] != others["value"]


def test_the_cost_is_that_of_the_key() -> None:
    table = rows_of(maker(), 0, 1_000)
    assert table["cost_ms"].to_pylist() == KeyCost(1, 64).cost_ms(table["key"].to_numpy()).tolist()


def test_one_row_as_written_down() -> None:
    """Checkpoints rely on rows staying as they are: a change here breaks restarts."""
    row = rows_of(maker(delays=UniformDelay(10)), 40_049, 40_050).to_pylist()[0]
    row["ts"] = row["ts"].isoformat()
    assert row == {
        "id": 40_049,
        "ts": "2026-01-01T00:00:29.251205+00:00",
        "key": 0,
        "value": 0.03152145389746841,
        "cost_ms": 58.0,
    }
