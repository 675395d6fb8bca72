"""Tweets are read, classified by what they say and by who wrote them, and stored.

These are the four operators of PSPS (Fig. 7): parse, classify_content, classify_author, store. The
first three wait as calls of other services do: tweets of the press take ten times as long to place
as most. So far more slots than cores are of use, and how many depends on how many tweets come.

penstock run examples/tweets.py --checkpoint ck --trigger "1 second" --master "local[16]"

As a script it runs for a minute in which the load swings, and then shows what the policy decided
and why: slots should rise and fall with the tweets, with nothing restarted and no tweet lost.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import penstock as ps

OUT = os.environ.get("TWEETS_OUT", "tweets-out")
SECONDS = int(os.environ.get("TWEETS_SECONDS", "60"))
# The load turns within seconds, and so must the policy: its defaults are for minutes.
POLICY = ps.AutoScalePlus(interval="2 seconds", horizon="5 seconds", window="15 seconds")

AUTHORS = ps.sources.ZipfKeys(1_000)
TOPICS = {
    "health": ("vaccine", "mask", "hospital"),
    "work": ("jobs", "wages", "office"),
    "sport": ("match", "goal", "league"),
}
# Some words tell nothing of the topic.
WORDS = (*(word for words in TOPICS.values() for word in words), "today", "really", "again")

PARSE_MS = 3.0
CONTENT_MS = 18.0
AUTHOR_MS = {"press": 50.0, "politics": 15.0, "other": 5.0}


def tweets(spark: SparkSession) -> DataFrame:
    """Stand in for a real source: some authors write often, and one tweet in eight is a link."""
    return ps.sources.generate(
        ps.sources.Sine(mean=100, amplitude=90, period_seconds=30),
        duration_seconds=SECONDS,
        keys=AUTHORS,
        max_rows_per_batch=1_000,
        spark=spark,
    ).selectExpr(*tweet_columns())


def tweet_columns() -> list[str]:
    """Make a tweet of a row of the generator, in SQL."""
    listed = ", ".join(f"'{word}'" for word in WORDS)
    words = [f"element_at(array({listed}), 1 + pmod(hash(id, {n}), {len(WORDS)}))" for n in (1, 2)]
    link = "concat('https://t.co/', hex(id))"
    said = f"concat_ws(' ', concat('@', pmod(hash(id), 1000)), {', '.join(words)}, {link})"
    return [
        "id",
        "ts",
        "key AS author",
        f"CASE WHEN pmod(hash(id, 3), 8) = 0 THEN {link} ELSE {said} END AS text",
    ]


def parse(tweet: dict[str, Any]) -> dict[str, Any] | None:
    """Take the words out of the text. A tweet without any has nothing to classify."""
    time.sleep(PARSE_MS / 1_000)
    words = [word for word in tweet["text"].split() if not word.startswith(("@", "https://"))]
    return {**tweet, "words": words} if words else None


def classify_content(tweet: dict[str, Any]) -> dict[str, Any]:
    """Name the topic that most words are of; the first such of TOPICS."""
    time.sleep(CONTENT_MS / 1_000)
    found = {topic: sum(word in own for word in tweet["words"]) for topic, own in TOPICS.items()}
    topic = max(found, key=lambda each: found[each])
    return {**tweet, "topic": topic if found[topic] else "none"}


def kind_of_author(author: int) -> str:
    if author % 10 == 3:
        return "press"
    return "politics" if author % 10 in (1, 2) else "other"


def classify_author(tweet: dict[str, Any]) -> dict[str, Any]:
    """Look up who wrote the tweet. How long that takes depends on who it is."""
    kind = kind_of_author(tweet["author"])
    time.sleep(AUTHOR_MS[kind] / 1_000)
    return {**tweet, "kind": kind}


def topology(stream: ps.Stream, out: str) -> list[ps.Outlet]:
    """Put the four operators in a row."""
    parsed = stream.map(parse, "id bigint, ts timestamp, author bigint, words array<string>")
    about = parsed.map(
        classify_content,
        "id bigint, ts timestamp, author bigint, topic string",
    )
    known = about.map(
        classify_author,
        "id bigint, ts timestamp, author bigint, topic string, kind string",
        cost_key="author",
    )
    return [known.to(ps.sinks.parquet(f"{out}/tweets"), name="store")]


def build(spark: SparkSession) -> list[ps.Outlet]:
    return topology(ps.Stream.read(tweets(spark), name="tweets"), OUT)


if __name__ == "__main__":
    # Spark would start its workers with the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[16]").appName("tweets").getOrCreate()
    query = ps.run(
        *build(session), checkpoint=f"{OUT}/checkpoint", policy=POLICY, trigger="1 second"
    )
    query.await_termination(SECONDS + 10)
    query.stop()
    for decision in query.decisions():
        print(f"{decision.slots:3} slots: {decision.reason}")
    session.read.parquet(f"{OUT}/tweets").groupBy("topic", "kind").count().show()
