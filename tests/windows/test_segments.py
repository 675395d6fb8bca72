"""What the store holds, as a commit record keeps it, and pieces of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.segments import CROSSING, Piece, Segment, joined
from penstock.windows.shelf import Shelf, union

RUN = Segment("7", 40, 43, 1, through=7, is_delta=True, rows=9, bytes=400)
ENTRIES = Segment("8.0", 12, 36, 12, through=5, is_delta=False, rows=20, bytes=90)


@pytest.mark.parametrize("segment", [RUN, ENTRIES, replace(RUN, since=3)])
def test_survives_a_commit_record(segment: Segment) -> None:
    assert Segment.from_json(segment.to_json()) == segment


@pytest.mark.parametrize("name", ["0", "14", "4.0", "123.12"])
def test_the_names_that_the_store_gives(name: str) -> None:
    segment = replace(RUN, name=name)
    assert Segment.from_json(segment.to_json()) == segment


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "1..2", ".a", "a b", "1" * 65, "é"])
def test_no_name_leads_out_of_the_store(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a segment"):
        Segment.from_json(replace(RUN, name=name).to_json())


@pytest.mark.parametrize("name", ["b7", "7b", "7.", "7.a", "-7", "７", str(2**63)])
def test_a_name_has_the_number_of_a_directory(name: str) -> None:
    with pytest.raises(ValueError, match=r"no name of a segment|64 bits"):
        Segment.from_json(replace(RUN, name=name).to_json())


@pytest.mark.parametrize("field", sorted(set(RUN.to_json()) - {"since"}))
def test_a_record_without_a_field_is_refused(field: str) -> None:
    record = RUN.to_json()
    del record[field]
    with pytest.raises(KeyError):
        Segment.from_json(record)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("name", 7),
        ("first", 1.0),
        ("end", "43"),
        ("width", True),
        ("through", None),
        ("is_delta", 1),
        ("rows", [9]),
        ("bytes", {}),
        ("since", "3"),
    ],
)
def test_a_record_of_another_type_is_refused(field: str, wrong: object) -> None:
    with pytest.raises(TypeError):
        Segment.from_json({**RUN.to_json(), field: wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"end": 40},  # nothing in it
        {"width": 0},
        {"width": 3},  # a run is made of panes
        {"since": 8},  # starts after it ends
        {"rows": -1},
        {"bytes": -1},
        {"is_delta": False, "since": 2},  # entries go back to the first batch
        {"is_delta": False, "width": 2},  # three panes are no whole entries of two
    ],
)
def test_an_impossible_record_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"segment .7"):
        Segment.from_json({**RUN.to_json(), **wrong})


def test_a_run_of_one_batch_starts_with_it() -> None:
    assert (RUN.oldest_batch, RUN.batches) == (7, 1)
    assert (replace(RUN, since=3).oldest_batch, replace(RUN, since=3).batches) == (3, 5)


def test_overlaps_where_a_pane_is_shared() -> None:
    found = [RUN.overlaps(*panes) for panes in ((38, 40), (38, 41), (42, 50), (43, 50))]
    assert found == [False, True, True, False]


def test_pieces_that_touch_are_read_at_once() -> None:
    pieces = [
        Piece("b", 4, 6, 1),
        Piece("a", 2, 4, 1),
        Piece("a", 4, 6, 1),
        Piece("a", 0, 2, 1, sign=-1),  # taken away, not added
        Piece("a", 6, 8, 2),  # another width
        Piece("a", 9, 10, 1),  # a pane apart
    ]
    assert joined(pieces) == (
        Piece("a", 0, 2, 1, sign=-1),
        Piece("a", 2, 6, 1),
        Piece("a", 9, 10, 1),
        Piece("a", 6, 8, 2),
        Piece("b", 4, 6, 1),
    )


def test_what_crosses_boundaries_is_never_joined() -> None:
    crossings = (Piece("a", 2, 3, CROSSING), Piece("a", 3, 4, CROSSING))
    assert joined(crossings) == crossings


ranges = st.tuples(st.integers(-30, 30), st.integers(1, 9)).map(lambda r: (r[0], r[0] + r[1]))


@given(st.lists(ranges, max_size=8), ranges)
def test_panes_not_known_to_be_empty(hulls: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    runs = [Segment(f"b{i}", *hull, 1, i, True, 1, 1) for i, hull in enumerate(hulls)]
    held = {pane for first, end in hulls for pane in range(first, end)}
    assert Shelf(runs).panes_between(*asked) == len(held & set(range(*asked)))
    assert {pane for first, end in union(hulls) for pane in range(first, end)} == held


@given(st.lists(ranges, max_size=8), ranges, st.integers(-1, 8))
def test_expected_rows_are_spread_over_the_panes_of_a_run(
    hulls: list[tuple[int, int]], asked: tuple[int, int], after: int
) -> None:
    runs = [Segment(f"b{i}", *hull, 1, i, True, 10 + i, 1) for i, hull in enumerate(hulls)]
    expected = sum(
        run.rows * len(set(range(run.first, run.end)) & set(range(*asked))) / run.entries
        for run in runs
        if run.oldest_batch > after
    )
    assert Shelf(runs).rows_between(*asked, after) == pytest.approx(expected, abs=1e-9)
