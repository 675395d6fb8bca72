from __future__ import annotations

import random
from datetime import UTC
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.engine.aggregation import SqlAggregation
from penstock.engine.columns import PANE, WIDTH
from penstock.engine.window_panes import windows_of_panes
from penstock.windows.aggregates import collect, count
from penstock.windows.blocks import chosen_blocks
from penstock.windows.panes import Panes, paned
from penstock.windows.specs import sliding, tumbling

SPECS = {
    "blocks": [sliding(60, 1)],
    "few": [sliding(6, 2, offset=1)],
    "several": [sliding(70, 2, offset=1), tumbling(13, offset=5), sliding(9, 3), sliding(40, 1)],
}
Entry = tuple[int, int, int, int]


def entries(seed: int, panes: Panes) -> list[Entry]:
    """(number, key, pane, width): some panes full, most empty, and some rows at boundaries."""
    dice = random.Random(seed)
    made = []
    for number in range(60):
        pane = dice.choice([dice.randrange(-150, 150), dice.randrange(0, 20)])
        crosses = number % 5 == 0
        if crosses:
            spec = dice.choice(panes.specs)
            pane = spec.offset + spec.slide * (pane // spec.slide)
        made.append((number, number % 2, pane, 0 if crosses else 1))
    return made


def brute_force(panes: Panes, made: list[Entry], after: Any, through: Any) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    for number, key, pane, width in made:
        for spec in panes.specs:
            for start in range(pane - spec.length + 1, pane + 1):
                end = start + spec.length
                if (start - spec.offset) % spec.slide or (width == 0 and start != pane):
                    continue
                if (after is None or end > after) and (through is None or end <= through):
                    found.setdefault((spec.spec.name, start, key), []).append(number)
    return found


@pytest.mark.parametrize("bounds", [(None, None), (-20, 37), (15, None), (None, 16)], ids=str)
@pytest.mark.parametrize("name", SPECS)
def test_windows_hold_their_panes_and_nothing_twice(
    spark: SparkSession, name: str, bounds: tuple[int | None, int | None]
) -> None:
    panes = paned(SPECS[name])
    assert bool(chosen_blocks(panes.specs).widths) == (name != "few")
    made = entries(3, panes)
    df = spark.createDataFrame(made, f"number int, key int, {PANE} bigint, {WIDTH} int")
    df = df.withColumn("ts", F.timestamp_seconds("number"))
    aggregates = {"n": count(), "numbers": collect("number")}
    aggregation = SqlAggregation.resolve("here", aggregates, df.limit(0), "ts")
    partials = aggregation.partials(df, ["key", PANE, WIDTH])
    twice = partials.filter(f"{PANE} >= 10").unionByName(partials.filter(f"{PANE} < 10"))
    columns = [None if each is None else F.lit(each).cast("bigint") for each in bounds]
    windows = windows_of_panes(twice, panes, aggregation, ["key"], *columns)
    several = ["window_name"] if len(panes.specs) > 1 else []
    assert windows.columns == ["window", *several, "key", *aggregation.state.names]
    got = {}
    for row in aggregation.finished(windows, ["window", *several, "key"]).collect():
        start, end = (round(at.replace(tzinfo=UTC).timestamp()) for at in row.window)
        spec = row.window_name if several else panes.specs[0].spec.name
        length = next(each.length for each in panes.specs if each.spec.name == spec)
        assert end - start == length
        assert row.n == len(row.numbers)
        got[(spec, start, row.key)] = row.numbers
    assert got == brute_force(panes, made, *bounds)
