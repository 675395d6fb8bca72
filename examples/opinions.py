"""Opinions are sorted, their authors' cities looked up, and subgroups of like opinion written down.

This is the complex topology of DABS-Storm (Fig. 10). The category dispatcher drops opinions on
topics that matter to nobody and hands each branch the columns it needs. One branch looks up the
city of a code, which takes long for some codes and no time for others (the sensitive bolt), and
forms subgroups by opinion and city; the other forms them by opinion and age. Both end in one
persister.

penstock run examples/opinions.py --checkpoint ck --trigger "1 second" --placement cost-aware

As a script it runs for a minute in which the load grows fivefold and falls again, and then shows
what the policy decided and why. Two things are to be seen: slots follow the load that reaches the
look-up, not what the source emits; and the dear codes are spread over the tasks.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import penstock as ps

OUT = os.environ.get("OPINIONS_OUT", "opinions-out")
SECONDS = int(os.environ.get("OPINIONS_SECONDS", "60"))
# The load turns within seconds, and so must the policy: its defaults are for minutes.
POLICY = ps.AutoScalePlus(interval="2 seconds", horizon="5 seconds", window="15 seconds")

TOPICS = ("schools", "traffic", "taxes", "weather", "celebrities")
IRRELEVANT = ("weather", "celebrities")
OPINIONS = ("for", "against", "undecided")
CITIES = 40
LEAST_OPINIONS = 3
WINDOW = "2 seconds"


def opinions(spark: SparkSession) -> DataFrame:
    """Stand in for a real source: who says what about which topic, with an age and a code."""
    fifth = SECONDS / 5
    rows = ps.sources.generate(
        ps.sources.Steps([(fifth, 80), (2 * fifth, 400), (fifth, 200), (fifth, 80)]),
        duration_seconds=SECONDS,
        keys=ps.sources.ZipfKeys(500),
        max_rows_per_batch=600,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    )
    return rows.selectExpr(*opinion_columns())


def opinion_columns() -> list[str]:
    """Make an opinion of a row of the generator, in SQL."""
    user = "key * 10 + pmod(hash(id), 10)"
    return [
        "ts",
        f"{user} AS user",
        f"15 + pmod(hash({user}), 70) AS age",
        "key AS code",
        f"{one_of(TOPICS, 'hash(id, 1)')} AS topic",
        f"{one_of(OPINIONS, 'hash(id, 2)')} AS opinion",
    ]


def one_of(choices: tuple[str, ...], number: str) -> str:
    listed = ", ".join(f"'{choice}'" for choice in choices)
    return f"element_at(array({listed}), 1 + pmod({number}, {len(choices)}))"


def look_up_ms(code: int) -> float:
    """Say how long a look-up takes: codes of abroad are asked for elsewhere."""
    return 40.0 if code % 10 == 0 else 12.0 if code % 10 < 4 else 2.0


def city_lookup(opinion: dict[str, Any]) -> dict[str, Any]:
    """Find the city of a code. A real service, too, answers sooner for some than for others."""
    time.sleep(look_up_ms(opinion["code"]) / 1_000)
    return {**opinion, "city": f"city {opinion['code'] % CITIES}"}


def topology(stream: ps.Stream, out: str) -> list[ps.Outlet]:
    """Dispatch, look up, form subgroups in both branches, and persist them together."""
    listed = ", ".join(f"'{topic}'" for topic in IRRELEVANT)
    relevant = stream.filter(f"topic NOT IN ({listed})", name="category_dispatcher")

    located = relevant.select("ts", "code", "opinion", name="of_places").map(
        city_lookup, "ts timestamp, opinion string, city string", cost_key="code"
    )
    by_city = (
        located.group_by("opinion", "city")
        .window(ps.tumbling(WINDOW))
        .aggregate(opinions=ps.count(), name="city_analyzer")
        .select("window", "opinion", "city AS subgroup", "opinions", name="city_subgroups")
    )
    by_age = (
        relevant.select("ts", "opinion", "age DIV 10 * 10 AS decade", name="of_ages")
        .group_by("opinion", "decade")
        .window(ps.tumbling(WINDOW))
        .aggregate(opinions=ps.count(), name="age_analyzer")
        .select(
            "window",
            "opinion",
            "concat('age ', decade, ' to ', decade + 9) AS subgroup",
            "opinions",
            name="age_subgroups",
        )
    )
    subgroups = by_city.union(by_age, name="subgroups")
    large = subgroups.filter(f"opinions >= {LEAST_OPINIONS}", name="relevant_subgroups")
    return [large.to(ps.sinks.parquet(f"{out}/subgroups"), name="persister")]


def build(spark: SparkSession) -> list[ps.Outlet]:
    stream = ps.Stream.read(opinions(spark), time="ts", watermark="1 second", name="opinions")
    return topology(stream, OUT)


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[16]").appName("opinions").getOrCreate()
    query = ps.run(
        *build(session),
        checkpoint=f"{OUT}/checkpoint",
        policy=POLICY,
        placement=ps.CostAware(),
        trigger="1 second",
    )
    query.await_termination(SECONDS + 10)
    query.stop()
    for decision in query.decisions():
        print(f"{decision.slots:3} slots: {decision.reason}")
    session.read.parquet(f"{OUT}/subgroups").orderBy("opinions", ascending=False).show()
