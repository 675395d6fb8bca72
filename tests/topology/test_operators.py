"""What operators say of themselves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from penstock.topology.operators import Operator
from topology.builders import (
    ROWS,
    dead_letters,
    filter_,
    join,
    late_rows,
    map_,
    map_batches,
    select,
    sink,
    source,
    union,
    work,
)


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (source("a"), "time ts, watermark 10 s behind the newest row"),
        (source("a", time=None), "no event time"),
        (map_("m", "a"), "work, bad rows stop the query"),
        (map_batches("m", "a", "dead_letter"), "work, bad rows set aside"),
        (select("s", "a", "x", "x + 1 AS y"), "x, x + 1 AS y"),
        (filter_("f", "a", "x > 3"), "x > 3"),
        (join("j", "a"), "left on x"),
        (join("j", "a", refresh_seconds=0.5), "left on x, read again every 0.5 s"),
        (join("j", "a", refresh_seconds=0), "left on x, read again every 0 s"),
        (join("j", "a", refresh_seconds=30 * 86_400), "left on x, read again every 2592000 s"),
        (union("u", "a", "b"), ""),
        (late_rows("l", "a"), ""),
        (dead_letters("d", "m"), ""),
        (sink("out", "a", "parquet(out)"), "parquet(out)"),
        (Operator(name="o", schema=ROWS), ""),
    ],
)
def test_describes_itself(operator: Operator, text: str) -> None:
    assert operator.describe() == text


def test_a_source_with_time_and_no_watermark_says_so() -> None:
    assert replace(source("a"), watermark=None).describe() == "time ts, watermark none"


def test_a_callable_without_a_name_is_described_by_its_type() -> None:
    assert replace(map_("m", "a"), function=partial(work)).describe().startswith("partial, ")


def test_one_row_out_for_every_row_in() -> None:
    keeping = {
        each.name
        for each in (
            source("source"),
            map_("map", "a"),
            map_batches("map_batches", "a"),
            select("select", "a"),
            select("explode", "a", row_by_row=False),
            filter_("filter", "a"),
            union("union", "a", "b"),
            join("join", "a"),
            late_rows("late", "a"),
            dead_letters("letters", "m"),
            sink("sink", "a"),
        )
        if each.keeps_rows
    }
    assert keeping == {"select", "sink"}


def test_no_operator_here_keeps_state() -> None:
    assert all(
        each.state_signature() is None
        for each in (source("a"), map_("m", "a"), select("s", "a"), sink("out", "a"))
    )
