from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.blocks import SAMPLES, WIDTH_COST, Blocks, chosen_blocks, merging_cost
from penstock.windows.panes import PanedSpec, paned
from penstock.windows.specs import sliding, tumbling


def brute_force(spec: PanedSpec, blocks: Blocks) -> float:
    """Pieces for each pane, counted window by window over one whole period."""
    widths = (1, *blocks.widths)
    period = 1
    for width in widths:
        period *= width
    taken, windows = 0, 0
    for number in range(period):
        start = spec.offset + number * spec.slide
        end, at = start + spec.length, start
        windows += 1
        while at < end:
            fitting = [w for w in widths if (at - blocks.phase) % w == 0 and at + w <= end]
            at += max(fitting or [1])
            taken += 1
    return taken / windows / spec.slide


@st.composite
def specs(draw: st.DrawFn) -> PanedSpec:
    slide = draw(st.integers(1, 6))
    length = slide + draw(st.integers(0, 40))
    offset = draw(st.integers(0, slide - 1))
    return PanedSpec(sliding(length, slide, offset=offset), length, slide, offset)


@given(
    spec=specs(),
    widths=st.sampled_from([(), (2,), (3,), (2, 4), (2, 6), (3, 6), (4, 8), (5, 10)]),
    phase=st.integers(0, 4),
)
def test_the_cost_is_the_number_of_pieces(
    spec: PanedSpec, widths: tuple[int, ...], phase: int
) -> None:
    assert max(widths or (1,)) <= SAMPLES
    blocks = Blocks(widths, phase)
    built = 1 + WIDTH_COST * len(widths) if widths else 0
    assert merging_cost([spec], blocks) == pytest.approx(built + brute_force(spec, blocks))


@given(st.lists(specs(), min_size=1, max_size=4))
def test_the_choice_is_nested_and_never_dearer_than_panes_alone(listed: list[PanedSpec]) -> None:
    blocks = chosen_blocks(listed)
    for width, parent in zip((1, *blocks.widths), blocks.widths, strict=False):
        assert parent % width == 0
        assert parent > width
    assert merging_cost(listed, blocks) <= merging_cost(listed, Blocks())


def test_long_windows_that_slide_often() -> None:
    hour = paned([sliding("1 hour", "1 minute")]).specs
    assert merging_cost(hour, Blocks()) == 60
    assert merging_cost(hour, chosen_blocks(hour)) < 15
    day = paned([sliding("1 day", "10 seconds")]).specs
    assert merging_cost(day, Blocks()) == 8640
    assert merging_cost(day, chosen_blocks(day)) < 50


def test_windows_that_hardly_overlap_need_no_blocks() -> None:
    assert chosen_blocks(paned([tumbling("1 hour")]).specs) == Blocks()
    assert chosen_blocks(paned([sliding("1 hour", "20 minutes")]).specs) == Blocks()
    assert chosen_blocks(paned([tumbling("1 hour", offset=1)]).specs) == Blocks()


def test_blocks_meet_the_starts_of_windows() -> None:
    """Windows that start every 10 panes and are 60 long are six blocks, with none loose."""
    listed = paned([sliding(60, 10, offset=3), tumbling(60, offset=4)]).specs
    assert merging_cost(listed[:1], Blocks((10,), phase=3)) == pytest.approx(1 + WIDTH_COST + 0.6)
