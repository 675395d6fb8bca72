"""Compares what Spark, the model and Penstock say of a case; differences are told row by row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from exactness.case import KEYS, Case, Event
from exactness.late_model import Model
from exactness.native import Emitted, NativeRun
from exactness.ours import Late

RELATIVE = 1e-9
SHOWN = 5
Group = tuple[str, int, int, tuple[Any, ...]]


def check_model(case: Case, spark: NativeRun, model: Model) -> None:
    """Hold the model to Spark: the rows that it counted, the groups that it dropped, watermarks."""
    kept: dict[Group, list[int]] = {}
    for pairs in model.kept:
        for row, w in pairs:
            kept.setdefault((w.name, w.start, w.end, keys_of(case, row)), []).append(row.id)
    closed = {group: sorted(ids) for group, ids in kept.items() if group[2] <= model.watermarks[-1]}
    counted = {group_of(row): list(row.ids) for row in spark.emitted}
    assert counted == closed, "the model counts other rows than Spark"
    dropped = [{(w, keys_of(case, row)) for row, w in pairs} for pairs in model.missed]
    assert [len(groups) for groups in dropped] == spark.groups_dropped
    assert model.watermarks[1:] == spark.watermarks


def check_results(spark: Iterable[Emitted], ours: Iterable[Emitted]) -> None:
    """Every window of every key comes out once, after the same cut, with the same values."""
    expected, got = _by_group(spark), _by_group(ours)
    problems = [f"missing: {row}" for group, row in expected.items() if group not in got]
    problems += [f"not Spark's: {row}" for group, row in got.items() if group not in expected]
    for group in expected.keys() & got.keys():
        if not same(expected[group].values, got[group].values):
            problems.append(f"Spark: {expected[group]}\n        ours:  {got[group].values}")
    _tell("results", problems)


def check_early(
    model: Model, closed: Iterable[Emitted], changed: Iterable[Emitted], ours: Iterable[Emitted]
) -> None:
    """Windows that close come out as final, those that a cut changed and left open as not."""
    listed = list(ours)
    check_results(closed, [row for row in listed if row.is_final])
    still_open = [row for row in changed if row.end > model.watermarks[row.cut + 1]]
    check_results(still_open, [row for row in listed if not row.is_final])


def check_late(model: Model, ours: Iterable[Late]) -> None:
    """The late output holds the rows that missed a window, each once, with those windows."""
    expected, got = Counter(expected_late(model)), Counter(ours)
    problems = [f"missing: {row}" for row in (expected - got).elements()]
    problems += [f"not late: {row}" for row in (got - expected).elements()]
    _tell("late rows", problems)


def expected_late(model: Model) -> Iterator[Late]:
    """Yield the late rows of the model."""
    for cut, pairs in enumerate(model.missed):
        missed: dict[int, set[tuple[str, int, int]]] = {}
        for row, w in pairs:
            missed.setdefault(row.id, set()).add((w.name, w.start, w.end))
        for number, windows in missed.items():
            yield Late(cut, number, model.watermarks[cut], frozenset(windows))


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, floating point within 1e-9 of its size.

    >>> same((1, [2.0, None]), (1, [2.0 + 1e-12, None])), same(math.nan, 0.0), same(0, None)
    (True, False, False)
    """
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=RELATIVE)
    return type(one) is type(other) and bool(one == other)


def group_of(row: Emitted) -> Group:
    """Return what a result row is of."""
    return row.window_name, row.start, row.end, _comparable(row.keys)


def keys_of(case: Case, row: Event) -> tuple[Any, ...]:
    """Return the keys of an input row, as Spark groups them."""
    values = dict(zip(KEYS, (row.area, row.shard, row.grade), strict=True))
    return _comparable(tuple(values[key] for key in case.keys))


def _comparable(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """All NaN are one key, and so are both zeros."""
    return tuple("NaN" if isinstance(k, float) and math.isnan(k) else k for k in keys)


def _by_group(rows: Iterable[Emitted]) -> dict[tuple[int, Group], Emitted]:
    listed = list(rows)
    found = {(row.cut, group_of(row)): row for row in listed}
    assert len(found) == len(listed), "a window came out twice"
    return found


def _tell(what: str, problems: list[str]) -> None:
    if problems:
        shown = "\n".join(f"    {problem}" for problem in problems[:SHOWN])
        raise AssertionError(f"{len(problems)} {what} differ from Spark's:\n{shown}")
