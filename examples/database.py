"""Sales get their shop's city from a PostgreSQL table; another holds the last sale of each shop.

The look-ups are made by Spark's Python workers, many keys by one question, and are kept for ten
minutes. The table has a row for each shop, which every micro-batch brings up to date; a batch that
comes again after a crash changes nothing. Make the tables first:

    CREATE TABLE shops (shop bigint PRIMARY KEY, city text);
    CREATE TABLE last_sales (shop bigint PRIMARY KEY, city text, amount float8, at timestamptz);

    PGHOST=127.0.0.1 PGPORT=5432 PGUSER=postgres PGPASSWORD=... python examples/database.py
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import penstock as ps

OUT = os.environ.get("DATABASE_OUT", "database-out")
ENRICHED = "shop bigint, amount double, at timestamp, city string"


def build(spark: SparkSession) -> list[ps.Outlet]:
    host, port = os.environ.get("PGHOST", "127.0.0.1"), os.environ.get("PGPORT", "5432")
    user, password = os.environ.get("PGUSER", "postgres"), os.environ.get("PGPASSWORD")
    shops = ps.Lookup(
        ps.PostgresTable(
            f"host={host} port={port} user={user} dbname=postgres",
            table="shops",
            key="shop",
            columns=["city"],
            password=password,
        ),
        expire_after="10 minutes",
    )
    last_sales = ps.sinks.jdbc(
        f"jdbc:postgresql://{host}:{port}/postgres",
        "last_sales",
        keys=["shop"],
        order_by="at",
        user=user,
        password=password,
    )
    df = ps.sources.generate(ps.sources.Steady(100), duration_seconds=20, spark=spark)
    sales = ps.Stream.read(df).select("key % 50 AS shop", "value * 100 AS amount", "ts AS at")
    known = sales.map_batches(shops.onto("shop", ["city"]), ENRICHED, name="city_of_shop")
    return [
        known.filter("city IS NOT NULL", name="known").to(last_sales),
        known.filter("city IS NULL", name="unknown").to(ps.sinks.parquet(f"{OUT}/unknown")),
    ]


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("database")
        .config("spark.jars.packages", "org.postgresql:postgresql:42.7.7")
        .getOrCreate()
    )
    query = ps.run(*build(session), checkpoint=f"{OUT}/checkpoint", available_now=True)
    query.await_termination()
    session.read.parquet(f"{OUT}/unknown").groupBy("shop").count().show(5)
