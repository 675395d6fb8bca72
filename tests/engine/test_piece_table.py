from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.engine import piece_table
from penstock.engine.columns import PANE, SEGMENT, SIGN, TARGET, WIDTH
from penstock.engine.piece_table import PieceTable
from penstock.windows.segments import Piece, directory_of

ROWS = [
    (directory, pane, width)
    for directory in (3, 7, 12)
    for width in (0, 1, 4, 6)
    for pane in range(-13, 30)
]


def drawn(seed: int, results: int, least_sign: int = 1) -> PieceTable:
    dice = random.Random(seed)

    def piece() -> Piece:
        first, width = dice.randrange(-14, 25), dice.choice([0, 1, 4, 6])
        # Some widths and directories have no piece, and some no row.
        name = f"{dice.choice([3, 7, 9])}{dice.choice(['', '.0', '.1'])}"
        entries = dice.randrange(1, 4)
        sign = dice.choice([least_sign, 1])
        return Piece(name, first, first + entries * max(1, width), width, sign)

    return PieceTable(
        tuple(tuple(piece() for _ in range(dice.randrange(1, 4))) for _ in range(results))
    )


def by_hand(table: PieceTable) -> Counter[Any]:
    return Counter(
        (directory, pane, width, number, piece.sign)
        for number, pieces in enumerate(table.pieces)
        for piece in pieces
        for directory, pane, width in ROWS
        if directory_of(piece.segment) == directory
        and piece.width == width
        and piece.first <= pane < piece.end
        and (pane - piece.first) % max(1, width) == 0
    )


def by_spark(spark: SparkSession, table: PieceTable) -> tuple[DataFrame, Counter[Any]]:
    rows = spark.createDataFrame(ROWS, f"{SEGMENT} bigint, {PANE} bigint, {WIDTH} int")
    assigned = table.assigned(rows)
    signed = assigned if SIGN in assigned.columns else assigned.selectExpr("*", f"1 AS {SIGN}")
    found = signed.select(SEGMENT, PANE, WIDTH, TARGET, SIGN).collect()
    return assigned, Counter(tuple(row) for row in found)


def joins(df: DataFrame) -> bool:
    java: Any = df._jdf
    return "Join" in java.queryExecution().executedPlan().toString()


@pytest.mark.parametrize("results", [1, 2, 7])
def test_rows_go_to_the_results_whose_pieces_hold_them(spark: SparkSession, results: int) -> None:
    table = drawn(seed=results, results=results)
    df, found = by_spark(spark, table)
    assert found == by_hand(table)
    assert found
    assert not joins(df)


def test_rows_of_one_result_each_are_not_copied(spark: SparkSession) -> None:
    """Tumbling windows of a batch that holds several of them."""
    table = PieceTable(tuple((Piece("3", 2 * n, 2 * n + 2, 1, 1),) for n in range(-4, 8)))
    df, found = by_spark(spark, table)
    assert found == by_hand(table)
    assert len(found) == 24
    assert "Generate" not in df._jdf.queryExecution().executedPlan().toString()


@pytest.mark.parametrize("results", [1, 7])
def test_no_row_of_a_piece_lies_outside_the_bounds(spark: SparkSession, results: int) -> None:
    table = drawn(seed=results, results=results)
    rows = spark.createDataFrame(ROWS, f"{SEGMENT} bigint, {PANE} bigint, {WIDTH} int")
    within = {tuple(row) for row in rows.filter(table.bounds).collect()}
    assert {row[:3] for row in by_hand(table)} <= within < set(ROWS)


@pytest.mark.parametrize("limit", ["_MOST_ENTRIES", "_MOST_PLACES"])
def test_many_pieces_are_joined_with_the_same_result(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    table = drawn(seed=5, results=5)
    monkeypatch.setattr(piece_table, limit, 1)
    df, found = by_spark(spark, table)
    assert found == by_hand(table)
    assert joins(df)


def test_what_is_subtracted_has_its_sign(spark: SparkSession) -> None:
    table = drawn(seed=8, results=3, least_sign=-1)
    assert table.subtracts
    assert by_spark(spark, table)[1] == by_hand(table)
