"""Columns as text, and when two streams can be united."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.schema import Column, Schema, union_problem

XY = Schema((Column("x", "int"), Column("y", "string", nullable=False)))

schemas = st.lists(
    st.builds(Column, st.sampled_from("abcd"), st.sampled_from(["int", "string"]), st.booleans()),
    unique_by=lambda column: column.name,
).map(lambda columns: Schema(tuple(columns)))


def test_reads_as_spark_writes_it() -> None:
    assert str(XY) == "x int, y string"
    assert XY.names == ("x", "y")
    assert [column.type for column in XY] == ["int", "string"]


def test_finds_columns_by_name() -> None:
    assert "x" in XY
    assert "int" not in XY
    assert XY.type_of("y") == "string"
    assert XY.type_of("z") is None


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (Schema((Column("y", "string"), Column("x", "int"))), None),
        (Schema((Column("x", "int"),)), "column 'y' is on one side only"),
        (Schema((*XY.columns, Column("z", "int"))), "column 'z' is on one side only"),
        (
            Schema((Column("x", "bigint"), Column("y", "string"))),
            "column 'x' is int on one side and bigint on the other",
        ),
    ],
)
def test_what_hinders_a_union(other: Schema, problem: str | None) -> None:
    assert union_problem(XY, other) == problem


@given(schemas, schemas)
def test_streams_unite_exactly_when_names_and_types_agree(left: Schema, right: Schema) -> None:
    agree = {c.name: c.type for c in left} == {c.name: c.type for c in right}
    assert (union_problem(left, right) is None) == agree
    assert (union_problem(right, left) is None) == agree
