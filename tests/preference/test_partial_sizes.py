"""Sizes of partial results: those told are exact, those of other segments go by bytes."""

from penstock.preference.packing import Partial
from penstock.preference.partial_sizes import UNKNOWN, PartialSizes, PartSize
from penstock.windows.segments import Piece, Segment


def segment(name: str, first: int, end: int, size: int, *, width: int = 1) -> Segment:
    return Segment(name, first, end, width, 4, width == 1, rows=9, bytes=size)


def test_parts_of_a_piece_are_those_of_its_panes() -> None:
    sizes = PartialSizes()
    sizes.told("12", [PartSize(40, 0, 7), PartSize(40, 2, 5), PartSize(41, 0, 9)])
    run = segment("12", 40, 42, 2100)
    assert sizes.of(Piece("12", 40, 41, 1), run) == [
        Partial(12, 40, 1, 0, 7.0),
        Partial(12, 40, 1, 2, 5.0),
    ]
    assert sizes.of(Piece("12", 42, 43, 1), run) == []


def test_a_segment_nobody_told_of_goes_by_its_bytes() -> None:
    sizes = PartialSizes()
    sizes.told("12", [PartSize(40, 0, 10), PartSize(41, 0, 20)])
    sizes.keep({"12": segment("12", 40, 42, 1500)})  # 50 bytes a point
    kept = segment("13.1", 40, 48, 4000, width=4)
    assert sizes.of(Piece("13.1", 40, 48, 4), kept) == [
        Partial(13, 40, 4, UNKNOWN, 40.0),
        Partial(13, 44, 4, UNKNOWN, 40.0),
    ]


def test_what_is_gone_is_forgotten() -> None:
    sizes = PartialSizes()
    sizes.told("12", [PartSize(40, 0, 10)])
    sizes.keep({})
    [found] = sizes.of(Piece("12", 40, 41, 1), segment("12", 40, 41, 500))
    assert (found.part, found.points) == (UNKNOWN, 5.0)


def test_very_many_panes_are_taken_together() -> None:
    [found] = PartialSizes().of(Piece("12", 0, 1000, 1), segment("12", 0, 1000, 100_000))
    assert (found.first, found.points) == (0, 1000.0)
