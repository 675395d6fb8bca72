from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import ConfigurationError
from penstock.windows import aggregates as ps
from penstock.windows.aggregates import WindowAggregate
from penstock.windows.aggregates.base import Setting, UnsuitableColumn
from penstock.windows.aggregates.counts import registers_log2
from penstock.windows.aggregates.quantiles import sketch_size
from penstock.windows.aggregates.types import decimal_digits

ALL: dict[str, Callable[..., WindowAggregate]] = {
    "count": lambda **options: ps.count("x", **options),
    "rows": ps.count,
    "sum": lambda **options: ps.sum("x", **options),
    "min": lambda **options: ps.min("x", **options),
    "max": lambda **options: ps.max("x", **options),
    "avg": lambda **options: ps.avg("x", **options),
    "variance": lambda **options: ps.variance("x", **options),
    "stddev": lambda **options: ps.stddev("x", **options),
    "count_distinct": lambda **options: ps.count_distinct("x", **options),
    "exact": lambda **options: ps.count_distinct("x", exact=True, **options),
    "quantile": lambda **options: ps.quantile("x", 0.5, **options),
    "quantiles": lambda **options: ps.quantile("x", [0.1, 0.9], **options),
    "top_k": lambda **options: ps.top_k("x", 3, **options),
    "top_k_by": lambda **options: ps.top_k("x", 3, by="y", **options),
    "frequent": lambda **options: ps.frequent("x", 3, **options),
    "first": lambda **options: ps.first("x", **options),
    "last": lambda **options: ps.last("x", ignore_nulls=True, **options),
    "collect": lambda **options: ps.collect("x", **options),
}
WEIGHABLE = {"count", "rows", "sum", "min", "max", "avg", "count_distinct", "exact"} | {
    "first",
    "last",
}
TYPES = ("int", "bigint", "double", "decimal(10,2)")


def names_in(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("is_shared", [False, True])
def test_sql_names_only_what_there_is(name: str, kind: str, is_shared: bool) -> None:
    aggregate = ALL[name]()
    setting = Setting(dict.fromkeys(aggregate.inputs(), kind), is_shared)
    if is_shared and name not in WEIGHABLE:
        with pytest.raises(UnsuitableColumn, match="spans='split'"):
            aggregate.recipe(setting)
        return
    recipe = aggregate.recipe(setting)
    rows = {*aggregate.inputs(), "where"}
    rows |= {"time"} if aggregate.needs_time else set()
    rows |= {"share"} if is_shared else set()
    parts = {part.name for part in recipe.parts}
    assert len(parts) == len(recipe.parts)
    assert names_in(recipe.native) <= rows
    assert names_in(recipe.finish) <= parts
    for part in recipe.parts:
        assert names_in(part.partial) <= rows
        assert names_in(part.merge) <= parts
        assert part.subtract is None or names_in(part.subtract) <= parts | {"sign"}


@pytest.mark.parametrize("name", ALL)
def test_what_has_an_exact_inverse(name: str) -> None:
    aggregate = ALL[name]()
    exact = {
        kind
        for kind in TYPES
        if aggregate.recipe(Setting(dict.fromkeys(aggregate.inputs(), kind))).is_invertible
    }
    expected = {
        "count": set(TYPES),
        "rows": set(TYPES),
        "sum": {"int", "bigint", "decimal(10,2)"},
        "avg": {"int", "decimal(10,2)"},
    }
    assert exact == expected.get(name, set())


@pytest.mark.parametrize("name", ALL)
def test_description_says_it_as_it_is_written(name: str) -> None:
    aggregate = ALL[name](where="a > 1")
    rebuilt = eval(
        aggregate.describe().replace("(x", "('x'"), {each: getattr(ps, each) for each in ps.__all__}
    )
    assert rebuilt.describe() == aggregate.describe()
    assert "where='a > 1'" in aggregate.describe()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ps.sum(""), "the column of sum is empty"),
        (lambda: ps.sum("  "), r"Write for example sum\('rate'\)"),
        (lambda: ps.avg(None), "neither SQL text nor a Column"),
        (lambda: ps.max(3), "the column of max is 3"),
        (lambda: ps.count(5), "the column of count is 5"),
        (lambda: ps.count(where=""), "the filter of count is empty"),
        (lambda: ps.min("a", where=True), "the filter of min is True"),
        (lambda: ps.top_k("a", 0), "the k of top_k is 0"),
        (lambda: ps.top_k("a", 2.5), r"is 2\.5, not a whole number"),
        (lambda: ps.top_k("a", True), "is True"),
        (lambda: ps.top_k("a", 3, by=""), "the order of top_k is empty"),
        (lambda: ps.quantile("a", 1.5), r"quantile is asked for 1\.5"),
        (lambda: ps.quantile("a", [0.5, -1]), "quantile is asked for -1"),
        (lambda: ps.quantile("a", "0.5"), "asked for '0.5'"),
        (lambda: ps.quantile("a", []), "names no share"),
        (lambda: ps.quantile("a", 0.5, error=0), "the error of quantile is 0"),
        (lambda: ps.count_distinct("a", error=2), "or exact=True"),
        (lambda: ps.frequent("a", 20, tracked=10), "tracks 10"),
        (lambda: ps.frequent("a", 0), "the k of frequent is 0"),
        (lambda: ps.first([]), "the column of first is"),
    ],
)
def test_wrong_arguments_are_told(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


@pytest.mark.parametrize(
    ("aggregate", "kind", "message"),
    [
        (ps.sum("flag"), "boolean", r"write count\(where='flag'\)"),
        (ps.avg("day"), "date", "over a column of type date"),
        (ps.sum("tags"), "array<int>", "Write sum of a number"),
        (ps.stddev("name"), "map<string,int>", "Write stddev of a number"),
        (ps.quantile("b", 0.5), "binary", "a number, a timestamp or a date"),
    ],
)
def test_unsuitable_columns_are_told(aggregate: WindowAggregate, kind: str, message: str) -> None:
    with pytest.raises(UnsuitableColumn, match=message):
        aggregate.recipe(Setting({"x": kind}))


def test_sketches_grow_with_what_is_asked() -> None:
    assert [registers_log2(error) for error in (0.25, 0.02, 0.005, 0.001)] == [5, 12, 16, 21]
    sizes = [sketch_size(error) for error in (0.2, 0.01, 0.0005)]
    assert sizes == sorted(sizes)
    assert sizes[0] >= 8
    assert sizes[-1] <= 65_535


@pytest.mark.parametrize("aggregate", [ps.sum("x"), ps.avg("x")], ids=str)
def test_decimals_have_an_inverse_only_where_they_cannot_overflow(
    aggregate: ps.WindowAggregate,
) -> None:
    # Once a total overflowed it is null, and nothing brings it back when rows are taken away.
    assert aggregate.recipe(Setting({"x": "decimal(28,2)"})).is_invertible
    assert not aggregate.recipe(Setting({"x": "decimal(29,2)"})).is_invertible


def test_decimal_digits() -> None:
    assert decimal_digits("decimal(38,18)") == (38, 18)
    assert decimal_digits("decimal") is None
    assert decimal_digits("array<decimal(3,1)>") is None
