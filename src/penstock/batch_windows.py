"""Windows over batch DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from penstock.arguments import is_one_of, listed, shown
from penstock.classic_session import require_classic
from penstock.engine.aggregation import SqlAggregation
from penstock.engine.columns import PANE, WIDTH, WINDOW, WINDOW_NAME
from penstock.engine.pane_rows import SHARE, RowPanes, Time
from penstock.engine.schemas import check_columns
from penstock.engine.window_checks import SPANS, check_specs
from penstock.engine.window_panes import windows_of_panes, windows_of_single_panes
from penstock.errors import TopologyError
from penstock.topology.operators import Spans
from penstock.windows.aggregates import WindowAggregate
from penstock.windows.panes import Panes, paned
from penstock.windows.specs import WindowSpec

_LABEL = "windowed"


def windowed(
    df: DataFrame,
    *,
    by: str | Sequence[str] = (),
    time: Time,
    windows: WindowSpec | Sequence[WindowSpec],
    aggs: Mapping[str, WindowAggregate],
    spans: Spans = "start",
) -> DataFrame:
    """Aggregate a batch DataFrame in windows: ``groupBy(window(...), *by).agg(...)``, but shared.

    Every row is aggregated once, into its pane; windows are formed of panes, so that it costs
    little how much they overlap. ``windows`` may be several, of any lengths and slides.

    The columns are ``window`` (start and end), ``window_name`` where there are several specs,
    ``by``, and ``aggs`` by their names. ``time`` is a timestamp column, or a ``window`` column of
    an earlier aggregation. ``time=("start", "end")`` is for rows that last; ``spans`` then says
    where they count: at their "start", at their "end", in "each" window they touch, or "split", by
    the share of their time in a window. Nothing runs until Spark needs the result.

        ps.windowed(df, by=["user"], time="ts", windows=ps.sliding("1 hour", "1 minute"),
                    aggs={"n": ps.count(), "mean": ps.avg("rate")})
    """
    _check_batch(df)
    specs = listed(windows)
    check_specs(_LABEL, specs)
    panes = paned(specs)
    keys = list(listed(by))
    check_columns(_LABEL, df.schema, "Rename one with df.toDF(...)")
    _check_keys(df, keys)
    check_times(_LABEL, df.schema, time, spans)
    order = time if isinstance(time, str) else time[1 if spans == "end" else 0]
    aggregation = SqlAggregation.resolve(
        _LABEL,
        aggs,
        df,  # nothing of it is read, and columns such as df["rate"] are known only here
        order,
        SHARE if _is_split(time, spans) else None,
        keeps_inverse=False,
    )
    _check_result(df, panes, keys, aggregation)
    rows = RowPanes.of(df.schema, panes, time, spans)
    states = _states(rows, df, panes, aggregation, keys)
    names = [WINDOW, *([WINDOW_NAME] if len(panes.specs) > 1 else []), *keys]
    return aggregation.finished(states, names)


def _states(
    rows: RowPanes, df: DataFrame, panes: Panes, aggregation: SqlAggregation, keys: list[str]
) -> DataFrame:
    in_panes = rows.paned(df, None)
    if rows.spans == "each" and not rows.is_point:
        partials = aggregation.partials(in_panes, [*keys, PANE, WIDTH])
        return windows_of_panes(partials, panes, aggregation, keys)
    partials = aggregation.partials(in_panes, [*keys, PANE])
    if len(panes.specs) == 1 and panes.specs[0].length == 1:
        return windows_of_single_panes(partials, panes, aggregation, keys)
    return windows_of_panes(partials.withColumn(WIDTH, F.lit(1)), panes, aggregation, keys)


def check_times(label: str, schema: StructType, time: Any, spans: Any) -> None:
    """Refuse a time that is no timestamp, and rows that span time without both ends."""
    if not is_one_of(spans, SPANS):
        raise TopologyError(
            label, f"spans is {shown(spans)}", "Write spans='start', 'end', 'each' or 'split'."
        )
    if isinstance(time, str):
        if spans != "start":
            raise TopologyError(
                label,
                f"spans={spans!r} is for rows that last, and there is one time",
                "Write time=('start', 'end') with the two columns.",
            )
        _check_time(label, schema, time, allows_window=True)
        return
    pair = isinstance(time, tuple | list) and len(time) == 2
    if not pair or not all(isinstance(each, str) for each in time):
        raise TopologyError(
            label, f"time is {time!r}", "Write time='ts', or time=('start', 'end')."
        )
    for each in time:
        _check_time(label, schema, each, allows_window=False)


def _check_time(label: str, schema: StructType, name: str, *, allows_window: bool) -> None:
    found = schema[name].dataType if name in schema.names else None
    if isinstance(found, TimestampType) or (allows_window and _is_window(found)):
        return
    times = [field.name for field in schema if isinstance(field.dataType, TimestampType)]
    raise TopologyError(
        label,
        f"the time column '{name}' is {found.simpleString() if found else 'missing'}",
        f"Timestamp columns here: {', '.join(times) or 'none; cast one to timestamp'}.",
    )


def _is_window(kind: Any) -> bool:
    return (
        isinstance(kind, StructType)
        and kind.names == ["start", "end"]
        and all(isinstance(field.dataType, TimestampType) for field in kind)
    )


def _is_split(time: Time, spans: Spans) -> bool:
    return spans == "split" and not isinstance(time, str)


def _check_batch(df: Any) -> None:
    if require_classic(df).isStreaming:
        raise TopologyError(
            _LABEL,
            "this DataFrame is a stream, and a batch of it never holds whole windows",
            "Write Stream.read(df, time=...).group_by(...).window(...).aggregate(...).",
        )


def _check_keys(df: DataFrame, keys: list[Any]) -> None:
    for key in keys:
        if not isinstance(key, str) or key not in df.columns:
            raise TopologyError(
                _LABEL,
                f"there is no column {shown(key)} to group by",
                f"Columns here: {', '.join(df.columns)}. To group by an expression, add it "
                "with df.withColumn(...).",
            )


def _check_result(
    df: DataFrame, panes: Panes, keys: list[str], aggregation: SqlAggregation
) -> None:
    text = StringType()
    own = [WINDOW, WINDOW_NAME] if len(panes.specs) > 1 else [WINDOW]
    fields = [StructField(name, text) for name in own]
    fields += [df.schema[key] for key in keys]
    remedy = "Name keys and aggregates apart, and none of them 'window' or 'window_name'"
    check_columns(_LABEL, StructType([*fields, *aggregation.schema.fields]), remedy)
