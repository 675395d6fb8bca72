"""What can be wrong with windows as the user wrote them, told before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.arguments import is_one_of, shown
from penstock.engine.columns import IS_FINAL
from penstock.errors import TopologyError
from penstock.topology.operators import Consolidate, Filter, Operator, Source
from penstock.topology.schema import Schema
from penstock.windows.aggregates.base import WindowAggregate
from penstock.windows.specs import WindowSpec

SPANS = ("start", "end", "each", "split")


def time_columns(operator: str, time: Any) -> tuple[Any, str | None]:
    """Return the column of a row's time, and of its end where rows span time."""
    if not isinstance(time, tuple | list):
        return time, None
    if len(time) != 2 or not all(isinstance(name, str) for name in time):
        raise TopologyError(
            operator, f"time is {time!r}", "Write time='ts', or time=('start', 'end')."
        )
    return time[0], time[1]


def check_spans(operator: str, spans: Any, until: str | None) -> None:
    """Refuse an unknown way to count rows that span time, and one where none do."""
    if not is_one_of(spans, SPANS):
        raise TopologyError(
            operator, f"spans is {shown(spans)}", f"Write one of {', '.join(SPANS)}."
        )
    if spans != "start" and until is None:
        raise TopologyError(
            operator,
            f"spans={spans!r} needs rows with a start and an end",
            "Write Stream.read(df, time=('start', 'end'), ...).",
        )


def group_keys(operator: str, schema: Schema, columns: Sequence[Any]) -> tuple[str, ...]:
    """Return the columns to group by, which must be there."""
    if not columns:
        raise TopologyError(
            operator,
            "there are no columns to group by",
            "Write group_by('user'), or window(...) without it for one result over all rows.",
        )
    for column in columns:
        if not isinstance(column, str) or column not in schema:
            raise TopologyError(
                operator,
                f"{column!r} is no column of this stream",
                f"Columns here: {', '.join(schema.names)}; make others with select(...).",
            )
    return tuple(dict.fromkeys(columns))


def check_window(
    operator: str,
    of: Operator,
    upstream: Sequence[Operator],
    specs: Sequence[Any],
    emit: Any,
    spans: Any,
) -> None:
    """Refuse windows over a stream without time or watermark, and specs that are none."""
    check_specs(operator, specs)
    if of.time is None:
        raise TopologyError(
            operator,
            f"'{of.name}' has no event-time column",
            "Write Stream.read(df, time='ts', watermark='10 seconds') and keep that column "
            "in every select and map on the way.",
        )
    if any(op.watermark is None for op in upstream if isinstance(op, Source)):
        raise TopologyError(
            operator,
            "a source before it has no watermark, so no window would ever close",
            "Write Stream.read(df, time='ts', watermark='10 seconds').",
        )
    if not is_one_of(emit, ("on_close", "every_batch")):
        raise TopologyError(
            operator, f"emit is {shown(emit)}", "Write emit='on_close' or emit='every_batch'."
        )
    check_spans(operator, spans, of.until)
    _check_only_final(operator, upstream)


def check_specs(operator: str, specs: Sequence[Any]) -> None:
    """Refuse windows that are none."""
    for spec in specs:
        if not isinstance(spec, WindowSpec):
            raise TopologyError(
                operator,
                f"a {type(spec).__name__} is no window",
                "Write ps.tumbling('10 minutes') or ps.sliding('1 hour', '1 minute').",
            )


def _check_only_final(operator: str, upstream: Sequence[Operator]) -> None:
    """Refuse windows over windows that come out again and again, which would count each time."""
    chosen = any(isinstance(op, Filter) and IS_FINAL in str(op.condition) for op in upstream)
    for below in upstream:
        if isinstance(below, Consolidate) and below.emit == "every_batch" and not chosen:
            raise TopologyError(
                operator,
                f"the windows of '{below.name}' come out every batch, so that a window over them "
                "would count each one several times",
                f"Write .filter('{IS_FINAL}') in between, or emit='on_close' below.",
            )


def check_keys(operator: str, keys: Schema, emit: str) -> None:
    """Refuse keys that can't be told apart from batch to batch."""
    for key in keys:
        if emit == "every_batch" and "map<" in key.type:
            raise TopologyError(
                operator,
                f"the key '{key.name}' holds a map, which Spark can't compare with another",
                "Write emit='on_close', or group by map_entries(...) of it.",
            )


def check_name(name: Any) -> None:
    """Refuse an aggregate that stands where the operator's name does."""
    if isinstance(name, WindowAggregate):
        raise TopologyError(
            "windows",
            f"name={name.describe()} is an aggregate, and 'name' is what the operator is called",
            "Give that column another name.",
        )


def check_whole_rows(operator: str, spans: str, by: str) -> None:
    """Refuse to share rows by overlap with what takes whole rows alone."""
    if spans == "split":
        raise TopologyError(
            operator,
            f"rows can't be shared by overlap with {by}",
            "Write window(..., spans='each'), or aggregate(...) with count, sum or avg.",
        )
