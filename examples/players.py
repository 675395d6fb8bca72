"""Players on a field: who of each team is fast, fresh and near the ball, in the last five seconds.

No one number says who is best. A reading is kept unless another of its team, in the same window, is
at least as good in all three and better in one: that is the skyline.

penstock run examples/players.py --checkpoint players-ck --trigger "1 second"

Sensors send out of order, so the watermark waits as long as the largest delay seen (K-slack); what
comes later still goes to a file. The query by two columns can be drawn while it runs:

penstock skyline players-ck/journal
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import DataFrame, SparkSession

import penstock as ps

OUT = os.environ.get("PLAYERS_OUT", "players-out")
SECONDS = int(os.environ.get("PLAYERS_SECONDS", "30"))
WINDOW = ps.sliding("5 seconds", "1 second")


def readings(spark: SparkSession) -> DataFrame:
    """Stand in for a real source: 22 players, 300 readings a second, some up to 2 seconds late."""
    rows = ps.sources.generate(
        ps.sources.Steady(300),
        duration_seconds=SECONDS,
        keys=ps.sources.UniformKeys(22),
        delays=ps.sources.UniformDelay(2, fraction=0.1),
        max_rows_per_batch=1_500,
        origin="2026-01-01T15:00:00Z",
        spark=spark,
    )
    return rows.selectExpr(*field_columns()).selectExpr(*ball_columns())


def field_columns() -> list[str]:
    """Make a player's reading of a row of the generator, in SQL; the field is 105 m by 68 m."""
    return [
        "id",
        "ts",
        "key AS player",
        "if(key < 11, 'red', 'blue') AS team",
        "52 + 50 * sin(key + id / 2000) AS x",
        "34 + 32 * cos(3 * key + id / 3000) AS y",
        "round(9 * sqrt(value), 2) AS speed",
        "round(100 - 40 * value - pmod(hash(id), 20), 1) AS stamina",
    ]


def ball_columns() -> list[str]:
    """Add how far the ball is, in metres; it moves, too."""
    x, y = "52 + 45 * sin(id / 2500)", "34 + 30 * cos(id / 1700)"
    return ["*", f"round(hypot(x - ({x}), y - ({y})), 2) AS to_ball"]


def tell(windows: DataFrame, batch_id: int) -> None:
    """Print how many readings of each team are in the windows that have just closed."""
    counts = windows.groupBy("window", "team").count().orderBy("window", "team")
    for row in counts.collect():
        print(f"{row.window.end:%H:%M:%S}  {row.team:4}  {row['count']:3} readings none beats")


def build(spark: SparkSession) -> list[ps.Outlet]:
    watermark = ps.KSlack(at_most="1 minute")
    players = ps.Stream.read(readings(spark), time="ts", watermark=watermark)
    teams = players.group_by("team").window(WINDOW)
    best = teams.skyline(minimize="to_ball", maximize=["speed", "stamina"], name="best")
    chasers = teams.skyline(minimize="to_ball", maximize="speed", name="chasers")
    return [
        best.to(ps.sinks.parquet(f"{OUT}/best"), name="best_out"),
        best.to(tell, name="told"),
        chasers.to(ps.sinks.parquet(f"{OUT}/chasers"), name="chasers_out"),
        players.late_rows().to(ps.sinks.json(f"{OUT}/late"), name="late_out"),
    ]


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").appName("players").getOrCreate()
    query = ps.run(*build(session), checkpoint=f"{OUT}/checkpoint", available_now=True)
    query.await_termination()
    print(f"Draw the newest window: penstock skyline {OUT}/checkpoint/journal")
