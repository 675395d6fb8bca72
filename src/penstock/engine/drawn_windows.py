"""Which points of a preference query over two columns a task tells for drawing.

They go with what it tells anyway of its work: looking at a skyline costs no Spark job.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.engine.columns import WINDOW_NAME
from penstock.preference.drawn_points import MOST_GROUPS, DrawnPoints, drawn
from penstock.preference.preference import Preference


def drawn_of(
    keys: pa.RecordBatch,
    rows: pa.RecordBatch,
    starts: NDArray[np.int64],
    preference: Preference,
) -> tuple[DrawnPoints, ...]:
    """Return the points of the newest window; none where other than two columns are compared.

    Key ``i`` has the rows ``starts[i]`` to ``starts[i + 1]``. The first column of a key says which
    window it is: by its number among the results of a closing, or by its start and end. In a
    closing with windows of several lengths it is the newest of the longest.
    """
    if len(preference.columns) != 2 or not keys.num_rows:
        return ()
    windows = _windows(keys.column(0))
    last = tuple(windows[np.lexsort(windows.T[::-1])[-1]].tolist())
    numbers = np.flatnonzero((windows == last).all(axis=1))
    texts = _texts(keys.take(pa.array(numbers)))
    points = []
    for text, number in sorted(zip(texts, numbers.tolist(), strict=True))[:MOST_GROUPS]:
        part = rows.slice(starts[number], starts[number + 1] - starts[number])
        x, y = (_doubles(part.column(name)) for name in preference.columns)
        points.append(drawn(last, text or None, x, y))
    x_is_time, y_is_time = (_is_time(rows.column(name).type) for name in preference.columns)
    return tuple(replace(each, x_is_time=x_is_time, y_is_time=y_is_time) for each in points)


def _windows(column: pa.Array) -> NDArray[np.int64]:
    """Return of each key which window it is in: numbers that are larger for a newer one."""
    if not pa.types.is_struct(column.type):
        return np.asarray(column).astype(np.int64).reshape(-1, 1)
    start, end = (
        np.asarray(column.field(n).cast(pa.timestamp("us"))).astype(np.int64) for n in (0, 1)
    )
    return np.stack([end - start, end], axis=1)


def _texts(keys: pa.RecordBatch) -> list[str]:
    """Return each key's group as text: nothing where rows are not grouped."""
    names = [name for name in keys.schema.names[1:] if name != WINDOW_NAME]
    if not names:
        return [""] * keys.num_rows
    texts = [_text(keys.column(name)) for name in names]
    joined = pc.binary_join_element_wise(
        *texts, ", ", null_handling="replace", null_replacement="null"
    )
    return [str(each) for each in joined.to_pylist()]


def _text(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.string())
    except pa.ArrowException:  # no text, such as bytes or a list
        return pa.array([str(each) for each in column.to_pylist()], pa.string())


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _doubles(column: pa.Array) -> NDArray[np.float64]:
    """Return numbers to be drawn, NaN where there is none; a moment is in seconds."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        column = pc.divide(micros.cast(pa.float64(), safe=False), 1e6)
    elif pa.types.is_duration(kind) or pa.types.is_time(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    doubles = column.cast(pa.float64(), safe=False)
    return np.asarray(doubles.to_numpy(zero_copy_only=False), np.float64)
