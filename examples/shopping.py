"""Offers in a shop: cheap, soon there and well rated, of the last minute, every ten seconds.

penstock run examples/shopping.py --checkpoint shopping-ck --trigger "2 seconds"

Three ways to ask. The skyline has every offer that no other beats in price, delivery and rating. By
many columns nearly every offer is good at something, so that the skyline is long: the top dominant
ones are those that are seldom beaten, about as many as one asks for. And a preference of one's own
says which differences are worth one's while.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import penstock as ps

OUT = os.environ.get("SHOPPING_OUT", "shopping-out")
SECONDS = int(os.environ.get("SHOPPING_SECONDS", "120"))
WINDOW = ps.sliding("1 minute", "10 seconds")


def offers(spark: SparkSession) -> DataFrame:
    """Stand in for a real source: 50 offers a second."""
    rows = ps.sources.generate(
        ps.sources.Steady(50),
        duration_seconds=SECONDS,
        keys=ps.sources.ZipfKeys(200),
        max_rows_per_batch=2_000,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    )
    return rows.selectExpr(*offer_columns())


def offer_columns() -> list[str]:
    """Make an offer of a row of the generator, in SQL: what is well rated tends to cost more."""
    return [
        "ts",
        "id AS offer",
        "key AS shop",
        "CAST(round(20 + 60 * value + pmod(hash(id), 2000) / 100, 2) AS decimal(8,2)) AS price",
        "1 + pmod(hash(id, 1), 8) AS days",
        "round(1 + 2 * value + pmod(hash(id, 2), 21) / 10, 1) AS rating",
        "pmod(hash(id, 3), 20) / 2 AS postage",
        "14 + pmod(hash(id, 4), 20) AS return_days",
        "1 + pmod(hash(id, 5), 5) AS years_of_warranty",
        "pmod(hash(id, 6), 500) AS reviews",
        "pmod(hash(id, 7), 60) AS pieces_left",
    ]


def worth_it(one: Any, other: Any) -> bool:
    """Prefer an offer that is worse in nothing, and 5 % cheaper or rated half a star better.

    Both are arrays of price, days and rating, in the order of minimize and maximize below.
    """
    is_no_worse = one[0] <= other[0] and one[1] <= other[1] and one[2] >= other[2]
    return is_no_worse and (one[0] <= 0.95 * other[0] or one[2] >= other[2] + 0.5)


def build(spark: SparkSession) -> list[ps.Outlet]:
    stream = ps.Stream.read(offers(spark), time="ts", watermark="5 seconds", name="offers")
    windows = stream.window(WINDOW)
    best = windows.skyline(minimize=["price", "days"], maximize="rating", name="best")
    few = windows.top_dominant(
        10,
        minimize=["price", "days", "postage"],
        maximize=["rating", "return_days", "years_of_warranty", "reviews", "pieces_left"],
        k_column="k",
        name="few",
    )
    worth = windows.skyline(
        minimize=["price", "days"], maximize="rating", dominates=worth_it, name="worth"
    )
    return [
        best.to(ps.sinks.parquet(f"{OUT}/best"), name="best_out"),
        few.to(ps.sinks.parquet(f"{OUT}/few"), name="few_out"),
        worth.to(ps.sinks.parquet(f"{OUT}/worth"), name="worth_out"),
    ]


def best_of_table(table: DataFrame) -> DataFrame:
    """Ask the same of a table, for each number of days: there nothing streams."""
    return ps.skyline(table, minimize="price", maximize="rating", by="days", counts="beaten")


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").appName("shopping").getOrCreate()
    query = ps.run(*build(session), checkpoint=f"{OUT}/checkpoint", available_now=True)
    query.await_termination()
    for name in ("best", "few", "worth"):
        print(f"{name}, rows in each window:")
        print(session.read.parquet(f"{OUT}/{name}").groupBy("window.end").count().toPandas())
    found = session.read.parquet(f"{OUT}/best").drop("window", "batch_id").distinct()
    print(best_of_table(found).orderBy("days", "price").toPandas())
