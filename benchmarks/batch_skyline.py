"""The best rows of a DataFrame: ps.skyline, Spark SQL's anti-join, and collect with moocore.

Rows of an id, a text and numbers to be minimised, in eight Parquet files. All ways must give the
same rows; they take turns, and the time is the median. The anti-join (NOT EXISTS) compares rows
with rows in the JVM, so it is left out where there are too many: --native-rows.

    python benchmarks/batch_skyline.py
    python benchmarks/batch_skyline.py --json --rows 10000 --columns 4 --data uniform
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import session, show
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from skyline_data import KINDS

from penstock import skyline

FILES = 8


def write_rows(where: Path, numbers: NDArray[np.float64]) -> None:
    where.mkdir(parents=True)
    for part, chosen in enumerate(np.array_split(np.arange(len(numbers)), FILES)):
        columns: dict[str, Any] = {"id": chosen, "text": [f"row {each}" for each in chosen]}
        columns |= {f"a{each}": numbers[chosen, each] for each in range(numbers.shape[1])}
        pq.write_table(pa.table(columns), where / f"{part}.parquet")


def compared(df: DataFrame) -> list[str]:
    return [name for name in df.columns if name not in ("id", "text")]


def summed(df: DataFrame) -> tuple[int, int]:
    row = df.agg(F.count("*"), F.sum("id"), F.max("text")).first()
    assert row is not None
    return int(row[0]), int(row[1])


def ours(df: DataFrame) -> tuple[int, int]:
    return summed(skyline(df, minimize=compared(df)))


def native(df: DataFrame) -> tuple[int, int]:
    names = compared(df)
    df.createOrReplaceTempView("rows")
    as_good = " AND ".join(f"a.{name} <= b.{name}" for name in names)
    better = " OR ".join(f"a.{name} < b.{name}" for name in names)
    found = df.sparkSession.sql(
        "SELECT * FROM rows b WHERE NOT EXISTS "
        f"(SELECT 1 FROM rows a WHERE {as_good} AND ({better}))"
    )
    return summed(found)


def collected(df: DataFrame) -> tuple[int, int]:
    table = df.toArrow()
    numbers = np.column_stack([table[name].to_numpy() for name in compared(df)])
    best = table.filter(pa.array(moocore.is_nondominated(numbers, keep_weakly=True)))
    return best.num_rows, int(best["id"].to_numpy().sum())


WAYS: dict[str, Callable[[DataFrame], tuple[int, int]]] = {
    "penstock": ours,
    "collect and moocore": collected,
    "anti-join": native,
}


def measured(df: DataFrame, ways: Sequence[str], rounds: int) -> dict[str, Any]:
    answers, took = {}, dict[str, list[float]]({way: [] for way in ways})
    ours(df)  # starts Python's workers, and compiles
    for _ in range(rounds):
        for way in ways:
            start = time.perf_counter()
            answers[way] = WAYS[way](df)
            took[way].append(time.perf_counter() - start)
    if len(set(answers.values())) != 1:
        raise AssertionError(f"the results differ: {answers}")
    seconds = {way: statistics.median(took[way]) if way in took else None for way in WAYS}
    base = seconds["penstock"]
    found: dict[str, Any] = {"best_rows": answers["penstock"][0], "penstock_seconds": base}
    for way in ("collect and moocore", "anti-join"):
        name = f"times_faster_than_{way.replace(' ', '_').replace('-', '_')}"
        other = seconds[way]
        found[name] = "not run" if other is None or base is None else other / base
    return found


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--data", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--native-rows", type=int, default=10_000, help="the most for anti-joins")
    return parser.parse_args(arguments)


def results(
    spark: SparkSession, options: argparse.Namespace, scratch: Path
) -> list[dict[str, Any]]:
    found = []
    for data in options.data:
        for columns in options.columns:
            for rows in options.rows:
                where = scratch / f"{data}-{columns}-{rows}"
                write_rows(where, KINDS[data](rows, columns))
                ways = [way for way in WAYS if way != "anti-join" or rows <= options.native_rows]
                df = spark.read.parquet(str(where))
                case = {"data": data, "columns": columns, "rows": rows}
                found.append({**case, **measured(df, ways, options.rounds)})
    return found


def main() -> None:
    options = parsed()
    with tempfile.TemporaryDirectory() as scratch:
        spark = session(options.master)
        spark.conf.set("spark.sql.adaptive.enabled", "true")
        spark.conf.set("spark.sql.files.openCostInBytes", "0")
        found = results(spark, options, Path(scratch))
        spark.stop()
    show(found, "skyline of a DataFrame", options.json)


if __name__ == "__main__":
    main()
