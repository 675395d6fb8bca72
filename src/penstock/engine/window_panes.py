"""All windows of a stretch of time at once, from panes, by arithmetic alone.

Each entry says by itself which windows take it: a range of starts, in closed form. Nothing is
listed on the driver, however many windows there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.aggregation import Aggregation
from penstock.engine.columns import PANE, WIDTH, WINDOW, WINDOW_NAME
from penstock.engine.schemas import RESERVED, quoted
from penstock.windows.blocks import Blocks, chosen_blocks
from penstock.windows.panes import Panes

_WINDOW_CODE = RESERVED + "window_code"
_WINDOW_CODES = RESERVED + "window_codes"
_AFTER = RESERVED + "after"
_THROUGH = RESERVED + "through"
_PARENT = RESERVED + "parent"
_PARENT_END = RESERVED + "parent_end"


def windows_of_panes(
    partials: DataFrame,
    panes: Panes,
    aggregation: Aggregation,
    keys: Sequence[str],
    after: Column | None = None,
    through: Column | None = None,
) -> DataFrame:
    """Merge partials to windows: ``window``, ``window_name`` with several specs, keys and state.

    ``partials`` has ``PANE``, ``WIDTH``, keys and state, any number of rows for each pane and key.
    Windows are those of all specs that hold any of it, with an end in (after, through], which are
    pane boundaries as bigint; None is no bound.
    """
    blocks = chosen_blocks(panes.specs)
    entries = _with_blocks(partials, blocks, aggregation, keys) if blocks.widths else partials
    bounds = {_AFTER: after, _THROUGH: through}
    entries = entries.withColumns({n: c for n, c in bounds.items() if c is not None})
    entries = entries.withColumns(_parents(blocks))
    ranges = [
        steps
        for number in range(len(panes.specs))
        for steps in _ranges(panes, number, after is not None, through is not None, blocks)
    ]
    # Apart from the explode, so that Spark computes what the ranges have in common once; outer, so
    # that it does not compute them a second time to find entries that no window takes.
    entries = entries.withColumn(_WINDOW_CODES, F.expr(f"concat({', '.join(ranges)})"))
    taken = entries.withColumn(_WINDOW_CODE, F.explode_outer(_WINDOW_CODES))
    taken = taken.filter(F.col(_WINDOW_CODE).isNotNull())
    merged = aggregation.merged(taken, [*keys, _WINDOW_CODE])
    return named_windows(merged, panes, aggregation, keys, _WINDOW_CODE)


def windows_of_single_panes(
    merged: DataFrame, panes: Panes, aggregation: Aggregation, keys: Sequence[str]
) -> DataFrame:
    """Return the windows where each is one pane: no merging is left to do."""
    return named_windows(merged, panes, aggregation, keys, PANE)


def named_windows(
    merged: DataFrame, panes: Panes, aggregation: Aggregation, keys: Sequence[str], code: str
) -> DataFrame:
    """Replace a window's code, start x specs + number of the spec, by what people read."""
    count = len(panes.specs)
    number = f"pmod({code}, {count})"
    start = code if count == 1 else f"(({code} - {number}) div {count})"
    lengths = _by_number(number, [f"{spec.length}L" for spec in panes.specs])
    window = (
        f"named_struct('start', timestamp_micros({start} * {panes.micros}L), "
        f"'end', timestamp_micros(({start} + {lengths}) * {panes.micros}L))"
    )
    columns = [F.expr(window).alias(WINDOW, metadata=_MARKED)]
    if count > 1:
        names = [_text(spec.spec.name) for spec in panes.specs]
        columns.append(F.expr(_by_number(number, names)).alias(WINDOW_NAME))
    kept = [F.col(quoted(name)) for name in (*keys, *aggregation.state.names)]
    return merged.select(*columns, *kept)


def _with_blocks(
    partials: DataFrame, blocks: Blocks, aggregation: Aggregation, keys: Sequence[str]
) -> DataFrame:
    """Merge panes, and panes to blocks of every width.

    The panes of a key are brought together first. Then both this merge and the one to windows find
    their rows in place, and nothing is exchanged that has been multiplied.
    """
    together = partials.repartition(*[F.col(quoted(key)) for key in keys]) if keys else partials
    widths = ", ".join(map(str, (1, *blocks.widths)))
    wide = together.withColumn(
        WIDTH, F.expr(f"explode(if({WIDTH} = 0, array(0), array({widths})))")
    )
    start = f"if({WIDTH} <= 1, {PANE}, {PANE} - pmod({PANE} - {blocks.phase}L, {WIDTH}))"
    return aggregation.merged(wide.withColumn(PANE, F.expr(start)), [*keys, PANE, WIDTH])


def _parents(blocks: Blocks) -> dict[str, Column]:
    """Return the start and the end of the block around each entry; null for the widest."""
    starts, ends = [], []
    for width, parent in zip((1, *blocks.widths), blocks.widths, strict=False):
        start = f"{PANE} - pmod({PANE} - {blocks.phase}L, {parent})"
        starts.append(f"WHEN {width} THEN {start}")
        ends.append(f"WHEN {width} THEN {start} + {parent}L")
    if not starts:
        return {}
    return {
        _PARENT: F.expr(f"CASE {WIDTH} {' '.join(starts)} END"),
        _PARENT_END: F.expr(f"CASE {WIDTH} {' '.join(ends)} END"),
    }


def _ranges(
    panes: Panes, number: int, has_after: bool, has_through: bool, blocks: Blocks
) -> list[str]:
    """Return the windows of a spec that take an entry, as arrays of codes.

    A window [i, i + length) takes an entry that it holds, unless it holds the block around it too.
    What is stored at a boundary (width 0) is taken by the windows that start there.
    """
    spec, count = panes.specs[number], len(panes.specs)
    low = f"if({WIDTH} = 0, {PANE}, {PANE} + {WIDTH} - {spec.length}L)"
    low = f"greatest({low}, {_AFTER} - {spec.length - 1}L)" if has_after else low
    high = f"least({PANE}, {_THROUGH} - {spec.length}L)" if has_through else PANE

    def steps(first: str, last: str) -> str:
        start = f"({first} + pmod({spec.offset}L - ({first}), {spec.slide}L))"
        codes = [f"({each}) * {count}L + {number}L" for each in (start, last)]
        step = spec.slide * count
        return f"if({start} <= {last}, sequence({codes[0]}, {codes[1]}, {step}L), {_NONE})"

    if not blocks.widths:
        return [steps(low, high)]
    ends_within = f"{_PARENT_END} - {spec.length}L"
    before = f"if({_PARENT} IS NULL, {low} - 1L, least({high}, {ends_within} - 1L))"
    return [steps(low, before), steps(f"greatest({low}, {_PARENT} + 1L, {ends_within})", high)]


# What tells Spark that a column is a window, so that window_time and window take it.
_MARKED = {"spark.timeWindow": True}
_NONE = "cast(array() AS array<bigint>)"


def _by_number(number: str, choices: list[str]) -> str:
    if len(choices) == 1:
        return choices[0]
    cases = " ".join(f"WHEN {i} THEN {choice}" for i, choice in enumerate(choices))
    return f"CASE {number} {cases} END"


def _text(value: str) -> str:
    """Write a name as SQL text."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
