"""What it costs to hand rows to a Python function and to take its rows back.

No Spark: Arrow record batches of 10,000 rows, as Spark hands them over. Ways to make dicts, ways to
make columns again, and what measuring and error handling add to a bare loop. Every way makes the
same rows; they take turns, and the time is the median.

    python benchmarks/rows.py
    python benchmarks/rows.py --json
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from measuring import show

from penstock.engine.python_step import PythonStep, RowsCall
from penstock.engine.rows import to_columns, to_rows

Rows = list[dict[str, Any]]


def sample(rows: int, *, timestamps: bool) -> pa.RecordBatch:
    dice = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "id": np.arange(rows),
        "user": [f"user{i % 97}" for i in range(rows)],
        "rate": dice.random(rows),
        "hits": pa.array([None if i % 10 == 0 else i for i in range(rows)], pa.int32()),
    }
    if timestamps:
        moments = pa.array(np.arange(rows) * 1_000_000, pa.int64())
        columns["ts"] = moments.cast(pa.timestamp("us", "UTC"))
    return pa.RecordBatch.from_pydict(columns)


def by_zip(batch: pa.RecordBatch) -> Rows:
    names = batch.schema.names
    values = zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def by_pandas(batch: pa.RecordBatch) -> Rows:
    return batch.to_pandas().to_dict("records")


INTO_ROWS: dict[str, Callable[[pa.RecordBatch], Rows]] = {
    "RecordBatch.to_pylist": lambda batch: batch.to_pylist(),
    "dict(zip(names, values))": by_zip,
    "pandas to_dict('records')": by_pandas,
    "penstock: compiled literal": to_rows,
}


def columns_by_getter(rows: Rows, schema: pa.Schema) -> pa.RecordBatch:
    values = zip(*map(itemgetter(*schema.names), rows), strict=True)
    arrays = [pa.array(v, t) for v, t in zip(values, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


INTO_COLUMNS: dict[str, Callable[[Rows, pa.Schema], pa.RecordBatch]] = {
    "RecordBatch.from_pylist": lambda rows, schema: pa.RecordBatch.from_pylist(rows, schema=schema),
    "itemgetter and zip": columns_by_getter,
    "pandas DataFrame": lambda rows, schema: pa.RecordBatch.from_pandas(
        pd.DataFrame(rows), schema=schema
    ),
    "penstock: types checked": to_columns,
}


def in_turns(ways: dict[str, Callable[[], object]], rounds: int, rows: int) -> dict[str, float]:
    """Return the median nanoseconds a row of every way."""
    times: dict[str, list[int]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, function in ways.items():
            start = time.perf_counter_ns()
            function()
            times[way].append(time.perf_counter_ns() - start)
    return {way: statistics.median(took) / rows for way, took in times.items()}


def same(row: dict[str, Any]) -> dict[str, Any]:
    return row


def overhead(batch: pa.RecordBatch) -> dict[str, Callable[[], object]]:
    """A bare loop with the same conversions, beside the step that measures and catches errors."""
    schema = batch.schema
    step = PythonStep("s", (RowsCall("s", same, schema, "fail"),), False, lambda *_: None)

    def bare() -> pa.RecordBatch:
        out: Rows = []
        for row in to_rows(batch):
            out.append(same(row))
        return to_columns(out, schema)

    return {"bare loop": bare, "penstock: timed, counted, errors caught": lambda: [*step([batch])]}


def table(what: str, measured: dict[str, float]) -> list[dict[str, Any]]:
    best = min(ns for way, ns in measured.items() if not way.startswith("penstock"))
    return [
        {"what": what, "way": way, "ns_a_row": ns, "to_the_best_other": ns / best}
        for way, ns in measured.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=51)
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    for timestamps in (False, True):
        batch = sample(options.rows, timestamps=timestamps)
        kind = f"{batch.num_columns} columns{', one a timestamp' if timestamps else ''}"
        into = {way: (lambda f=f, b=batch: f(b)) for way, f in INTO_ROWS.items()}
        measured = in_turns(into, options.rounds, options.rows)
        results += table(f"to dicts, {kind}", measured)
        rows = to_rows(batch)
        back = {
            way: (lambda f=f, r=rows, s=batch.schema: f(r, s)) for way, f in INTO_COLUMNS.items()
        }
        results += table(f"to columns, {kind}", in_turns(back, options.rounds, options.rows))
    small = sample(options.rows, timestamps=False)
    results += table("the whole way", in_turns(overhead(small), options.rounds, options.rows))
    show(results, "rows", options.json)


if __name__ == "__main__":
    main()
