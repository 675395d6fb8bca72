"""Two sources, a table that changes, late rows, and rows that fail: nothing gets lost.

penstock run examples/two_sources.py --checkpoint two-ck --trigger "2 seconds"
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import penstock as ps

OUT = os.environ.get("TWO_SOURCES_OUT", "two-sources-out")
PRICES = os.environ.get("TWO_SOURCES_PRICES", f"{OUT}/prices.csv")


def orders(spark: SparkSession, seed: int) -> DataFrame:
    """Stand in for a real source; one row in ten comes up to a minute late."""
    return ps.sources.generate(
        ps.sources.Sine(mean=60, amplitude=40, period_seconds=20),
        duration_seconds=30,
        keys=ps.sources.ZipfKeys(50),
        delays=ps.sources.UniformDelay(60, fraction=0.1),
        max_rows_per_batch=600,
        seed=seed,
        spark=spark,
    )


def prices(spark: SparkSession) -> DataFrame:
    """Read the price list as it is now; some products have no price yet."""
    if not os.path.exists(PRICES):
        spark.range(40).selectExpr("id AS product", "round(1 + id / 4, 2) AS price").write.csv(
            PRICES, header=True
        )
    return spark.read.schema("product bigint, price double").csv(PRICES, header=True)


def bill(order: dict[str, Any]) -> dict[str, Any]:
    """Compute what an order costs; without a price that fails, and the order is set aside."""
    pieces = 1 + int(order["value"] * 5)
    return {**order, "pieces": pieces, "total": round(pieces * order["price"], 2)}


def build(spark: SparkSession) -> list[ps.Outlet]:
    # One query reads both sources, so both move on together or not at all.
    web = ps.Stream.read(orders(spark, 1), time="ts", watermark="10 seconds", name="web")
    shop = ps.Stream.read(orders(spark, 2), time="ts", watermark="10 seconds", name="shop")
    web = web.select("ts", "key AS product", "value", "'web' AS channel", name="web_orders")
    shop = shop.select("ts", "key AS product", "value", "'shop' AS channel", name="shop_orders")
    both = web.union(shop)

    # A function instead of a DataFrame is called again each time the table is refreshed.
    priced = both.join(lambda: prices(spark), on="product", how="left", refresh="1 minute")
    billed = priced.map(
        bill,
        "ts timestamp, product bigint, channel string, pieces int, total double",
        on_error="dead_letter",
    )
    return [
        billed.to(ps.sinks.parquet(f"{OUT}/bills", partition_by=["channel"]), name="bills"),
        # Late rows are copies: they are billed too, and kept here for whoever corrects reports.
        billed.late_rows().to(ps.sinks.parquet(f"{OUT}/late"), name="late"),
        billed.dead_letters().to(ps.sinks.json(f"{OUT}/unpriced"), name="unpriced"),
    ]


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").appName("two_sources").getOrCreate()
    query = ps.run(*build(session), checkpoint=f"{OUT}/checkpoint", available_now=True)
    query.await_termination()
    print(session.read.parquet(f"{OUT}/bills").groupBy("channel").sum("total").toPandas())
