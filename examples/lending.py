"""Loans between people: interest and approval, in each area and of all, over five windows.

This is the motivating job of Enorm (DEBS 2016, section 2), with its five operators. op1 computes
the interest of every loan, op2 what interest has to do with income in each area, op3 how many loans
of each area are approved, op4 the average interest of all loans, op5 how many of all are approved.

penstock run examples/lending.py --checkpoint lending-ck --trigger "2 seconds"

op1 keeps the area of a loan. So op1, op2 and op3 can all be partitioned on the area: they become
one component, and a loan is moved once for the three of them, as in Enorm's figure 2. As a script
it also splits that component while it runs, as in figure 4, and shows what the journal says of it.
"""

from __future__ import annotations

import math
import os
import random
import sys
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.journal import PlanChanged, read

OUT = os.environ.get("LENDING_OUT", "lending-out")
HOURS = int(os.environ.get("LENDING_HOURS", "25"))
SEED = 7
AREAS = ps.sources.ZipfKeys(50)
DELAYS = ps.sources.UniformDelay(300, fraction=0.1)
ORIGIN = "2026-01-01T00:00:00Z"
LENGTHS = ("10 minutes", "30 minutes", "1 hour", "6 hours", "24 hours")
WINDOWS = tuple(ps.tumbling(length) for length in LENGTHS)

LOAN = (
    "user bigint, area bigint, date timestamp, approval boolean, amount bigint, return bigint, "
    "lendingTime int, income bigint"
)


def applications(hours: int = HOURS, seed: int = SEED) -> list[tuple[int, int]]:
    """Draw how many loans are asked for in every ten minutes: few at night, and bursts."""
    draw = random.Random(seed)
    steps = []
    for number in range(6 * hours):
        hour = number / 6 % 24
        usual = 60 + 50 * math.sin(math.pi * (hour - 8) / 12)
        burst = draw.uniform(3, 8) if draw.random() < 0.05 else 1.0
        steps.append((600 * number, round(usual * burst * draw.uniform(0.8, 1.2))))
    return steps


def loans(spark: SparkSession) -> DataFrame:
    """Stand in for a real source: large and small areas, one loan in ten up to 5 minutes late."""
    rows = ps.sources.replay(
        applications(),
        speedup=600,
        keys=AREAS,
        delays=DELAYS,
        max_rows_per_batch=2_500,
        seed=SEED,
        origin=ORIGIN,
        spark=spark,
    )
    return rows.selectExpr(*draw_columns()).selectExpr(*loan_columns())


def draw_columns() -> list[str]:
    """Draw what a loan depends on from a row of the generator, in SQL."""
    return [
        "id",
        "ts",
        "key AS area",
        "CAST(exp(3 + 2.2 * value) AS bigint) AS thousands",
        "500L * (1 + pmod(hash(id, 1), 50)) AS amount",
        "element_at(array(6, 12, 24, 36, 60), 1 + pmod(hash(id, 2), 5)) AS months",
        "pmod(hash(id, 3), 600) AS luck",
    ]


def loan_columns() -> list[str]:
    """Make a loan of it: who earns more pays less, who asks for much of that is often refused."""
    yearly = "(400 + 10 * area + 30000 / thousands + luck)"  # hundredths of a percent
    return [
        "CAST(pmod(hash(id, 4), 20000) AS bigint) AS user",
        "area",
        "ts AS date",
        "amount < thousands * (200 + luck) AS approval",
        "amount",
        f"CAST(round(amount * (1 + {yearly} * months / 120000)) AS bigint) AS return",
        "months AS lendingTime",
        "1000 * thousands AS income",
    ]


def interest(loan: dict[str, Any]) -> dict[str, Any]:
    """Compute the interest of a loan, in hundredths of a percent a year; its time is in months."""
    gain = loan["return"] - loan["amount"]
    return {**loan, "interest": 120_000 * gain // (loan["amount"] * loan["lendingTime"])}


def topology(asked: ps.Stream) -> dict[str, ps.Stream]:
    """Put the five operators together; what op2 to op5 find is returned by name."""
    # op1: the area that comes out is the one that went in, so loans may be shared out by it before.
    rated = asked.map(interest, f"{LOAN}, interest bigint", keeps=["area"])

    areas = rated.group_by("area").window(*WINDOWS)
    area_interest = areas.aggregate(  # op2
        loans=ps.count(),
        interest=ps.sum("interest"),
        income=ps.sum("income"),
        squares=ps.sum("income * income"),
        products=ps.sum("interest * income"),
        name="area_interest",
    )
    area_approval = areas.aggregate(  # op3
        loans=ps.count(), approved=ps.count(where="approval"), name="area_approval"
    )

    # An average of averages would be wrong, but sums and counts of the areas add up exactly.
    shortest = f"window_name = '{WINDOWS[0].name}'"
    interests = area_interest.filter(shortest, name="area_interest_parts").window(*WINDOWS)
    approvals = area_approval.filter(shortest, name="area_approval_parts").window(*WINDOWS)
    return {
        "area_interest": area_interest,
        "area_approval": area_approval,
        "all_interest": interests.aggregate(  # op4
            loans=ps.sum("loans"), interest=ps.sum("interest"), name="all_interest"
        ),
        "all_approval": approvals.aggregate(  # op5
            loans=ps.sum("loans"), approved=ps.sum("approved"), name="all_approval"
        ),
    }


def shown_columns() -> dict[str, list[str]]:
    """Say what is shown of each result: averages, rates and a line through interest and income."""
    window, average = ["window", "window_name"], "interest / loans / 100 AS percent"
    rate = "approved / loans AS rate"
    covariance = "(1D * loans * products - 1D * interest * income)"
    variance = "(1D * loans * squares - 1D * income * income)"
    line = f"10 * {covariance} / nullif({variance}, 0) AS percent_per_thousand"
    return {
        "area_interest": [*window, "area", "loans", average, "income / loans AS income", line],
        "area_approval": [*window, "area", "loans", rate],
        "all_interest": [*window, "loans", average],
        "all_approval": [*window, "loans", rate],
    }


def build(spark: SparkSession) -> list[ps.Outlet]:
    asked = ps.Stream.read(
        loans(spark),
        time="date",
        watermark="10 minutes",
        cardinality={"area": AREAS.n},
        name="loans",
    )
    found, columns = topology(asked), shown_columns()
    return [
        found[name]
        .select(*columns[name], name=f"{name}_shown")
        .to(ps.sinks.parquet(f"{OUT}/{name}"), name=f"{name}_out")
        for name in found
    ]


def tell(query: ps.Query) -> None:
    """Print how the plan changed, as the journal has it."""
    for event in read(query.journal_dir):
        if isinstance(event.body, PlanChanged):
            change = event.body
            print(f"From micro-batch {change.batch_id} on, {change.reason}, {change.strategy}:")
            print("\n".join(f"  {operation}" for operation in change.operations))
            print("Since then there are these components:")
            for component, operators in change.components.items():
                print(f"  {component}: {', '.join(operators)}")


def show(spark: SparkSession) -> None:
    """Print what was found for the day, of all and of the largest areas."""
    for name in ("all_interest", "all_approval", "area_interest", "area_approval"):
        found = spark.read.parquet(f"{OUT}/{name}").filter(f"window_name = '{WINDOWS[-1].name}'")
        print(f"\n{name}:")
        print(found.drop("window", "batch_id").orderBy(F.desc("loans")).limit(3).toPandas())


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").appName("lending").getOrCreate()
    query = ps.run(*build(session), checkpoint=f"{OUT}/checkpoint", available_now=True)
    print(query.explain())
    while query.is_active and not query.status().batch_id:
        time.sleep(0.1)
    if query.is_active:
        # Let partial results be made wherever loans are, and be merged by another component.
        query.adapt(ps.Split("area_interest"), ps.Split("area_approval"))
    query.await_termination()
    tell(query)
    show(session)
